"""The drawing library of the page: plotly.js, its basic bundle, as it comes from npm (plotly.js-basic-dist-min).

The basic bundle draws points, lines and bars. Contours, roses, triangles and maps are computed here and drawn as lines,
so a page needs no larger bundle (the whole library is 4.6 MB).
"""

from importlib.resources import files

PLOTLY_VERSION = "3.7.0"


def plotly() -> str:
    """The text of the library, fit to stand in a page."""
    text = (files(__package__) / "vendor" / "plotly-basic.min.js").read_text(encoding="utf-8")
    # The two characters could only stand in a string; they must not end the element.
    # Parsers of HTML read every end of line as "\n", and the page's policy goes by what they read.
    return text.replace("</script", "<\\/script").replace("\r\n", "\n").replace("\r", "\n")
