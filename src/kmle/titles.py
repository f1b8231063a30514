"""What all plots share: matplotlib itself, and a title that makes room for the user's own `ax.set_title("...")`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, GREY = "#2b2b2b", "#707070"
SMALL, LARGE = 8.0, 11.0
# Points above the axes: of a title alone, and of one with a note below it.
ALONE, WITH_NOTE = 6, 18


def pyplot(caller: str) -> Any:
    """matplotlib.pyplot, or one sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ModuleNotFoundError(f"{caller} needs matplotlib: pip install 'kmle[plot]'", name="matplotlib") from None
    return plt


def title(ax: "Axes", text: str, note: str = "") -> None:
    """A title at the left and, below it, a note in small print; a title that is set later takes the place of both."""
    heading: Any = ax.set_title(text, loc="left", fontsize=LARGE, color=INK, pad=WITH_NOTE if note else ALONE)
    ours: list[Callable[[], object]] = [lambda: heading.set_text("")]
    if note:
        small = ax.annotate(
            note, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", fontsize=SMALL, color=GREY
        )
        # The title has made the room above; a long note must not make the axes narrow.
        small.set_in_layout(False)
        ours.append(lambda: small.set_visible(False))

    def give_way(_changed: object) -> None:
        while ours:
            ours.pop()()

    # Whichever of the three titles is set, matplotlib moves the one in the middle first, and tells it.
    ax.title.add_callback(give_way)
