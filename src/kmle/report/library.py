"""The files of the page, and its drawing library: plotly.js, the basic bundle of npm (plotly.js-basic-dist-min).

The basic bundle draws points, lines and bars. Contours, roses, triangles and maps are computed here and drawn as lines,
so a page needs no larger bundle (the whole library is 4.6 MB).
"""

from importlib.resources import files

PLOTLY_VERSION = "3.7.0"


def own_text(name: str) -> str:
    """A file of this package: a style sheet or a script."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def plotly() -> str:
    """The text of the library, fit to stand in a page."""
    text = own_text("vendor/plotly-basic.min.js")
    # The two characters could only stand in a string; they must not end the element.
    # Parsers of HTML read every end of line as "\n", and the page's policy goes by what they read.
    return text.replace("</script", "<\\/script").replace("\r\n", "\n").replace("\r", "\n")
