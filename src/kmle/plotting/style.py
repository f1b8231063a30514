"""What all plots share: colours, axes, titles, legends. matplotlib is imported when a plot is asked for."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..mixture import Mixture
from ..palette import colours
from ..titles import GREY as GREY
from ..titles import INK as INK
from ..titles import SMALL as SMALL
from ..titles import pyplot

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PALE, FAINT, BARS = "#a8a8a8", "#e4e4e4", "#d3d3d3"
NORMAL = 9.0
NAMED_AFTER = {"bernoulli", "dirichlet", "fisher", "gaussian", "laplace", "maxwell", "mises", "pareto", "poisson"}
NAMED_AFTER |= {"rayleigh", "weibull", "wishart"}
# A legend this long goes into two columns.
LEGEND_ROWS = 14


def component_names(mixture: Mixture) -> list[str]:
    """Components by their label and weight, such as "0 (34 %)"."""
    return [f"{label} ({_percent(weight)})" for label, weight in enumerate(mixture.weights)]


def _percent(weight: float) -> str:
    return "< 1 %" if 0 < weight < 0.005 else f"{100 * weight:.0f} %"


def plain_axes(caller: str, ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> "Axes":
    """The axes given, or those of a new figure."""
    if ax is None:
        plt = pyplot(caller)
        return plt.subplots(figsize=size, layout="constrained")[1]
    name = getattr(ax, "name", None)
    if name != "rectilinear":
        given = type(ax).__name__ if name is None else f"{name} axes"
        raise ValueError(f"ax is {given}: {caller} draws on plain Axes (plt.subplots()); or omit ax")
    return ax


def tidy(ax: "Axes", grid: Literal["x", "y", "both"] | None = "both") -> None:
    """Light lines, small ticks, no box. `grid` is "x", "y", "both" or None."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(labelsize=SMALL, colors=GREY, labelcolor=INK)
    ax.xaxis.label.set(size=NORMAL, color=INK)
    ax.yaxis.label.set(size=NORMAL, color=INK)
    ax.set_axisbelow(True)
    ax.grid(visible=False)
    if grid is not None:
        ax.grid(visible=True, axis=grid, color=FAINT, linewidth=0.6)


def heading(mixture: Mixture) -> str:
    """What the mixture is, as a title."""
    kinds = Counter(_in_words(member.family.name) for member in mixture.members)
    if mixture.n_components == 1:
        return f"One {next(iter(kinds))} component"
    return f"Mixture of {' and '.join(f'{number} {kind}' for kind, number in kinds.items())} components"


def _in_words(name: str) -> str:
    """The name of a family as it is written in a sentence."""
    if name == "product":
        return "mixed"
    words = [word.capitalize() if word in NAMED_AFTER else word for word in name.split("-")]
    sentence = " ".join(words).replace("Mises Fisher", "Mises-Fisher").replace("log normal", "log-normal")
    return sentence.replace("student t", "Student t")


def row_note(shown: int, total: int, *others: str) -> str:
    """How many rows there are, how many of them are drawn, and what else there is to say."""
    rows = f"{_thousands(total)} row{'s' if total > 1 else ''}"
    drawn = f"{rows}, {_thousands(shown)} of them shown" if shown < total else rows
    return "; ".join([drawn, *filter(None, others)])


def _thousands(count: int) -> str:
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}")


def legend(ax: "Axes", handles: "Sequence[Artist]", labels: Sequence[str], heading: str = "component (weight)") -> None:
    """A legend beside the axes, never over the data."""
    first = ax.get_legend() is None
    drawn = ax.legend(
        handles,
        labels,
        title=heading,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        ncols=1 + (len(labels) - 1) // LEGEND_ROWS,
        fontsize=SMALL,
        title_fontsize=SMALL,
        labelcolor=INK,
        frameon=False,
    )
    if first and ax.figure.get_layout_engine() is None:
        # Nobody else makes room for it: the axes give up some of theirs.
        place = ax.get_position()
        share = min(drawn.get_window_extent().width / ax.figure.bbox.width + 0.01, 0.45 * place.width)
        ax.set_position((place.x0, place.y0, place.width - share, place.height))


def component_legend(ax: "Axes", mixture: Mixture, *others: tuple["Artist", str]) -> None:
    """The legend of the components' colours, and of whatever else is drawn."""
    from matplotlib.lines import Line2D

    if mixture.n_components == 1 and not others:
        return
    handles: list[Any] = [Line2D([], [], color=colour, lw=3) for colour in colours(mixture.n_components)]
    names = component_names(mixture)
    legend(ax, [*handles, *(artist for artist, _ in others)], [*names, *(name for _, name in others)])


def integer_ticks(ax: "Axes", which: Literal["x", "y"], most: int = 9) -> None:
    """Ticks at whole numbers only."""
    ax.locator_params(axis=which, integer=True, nbins=most)


def number(ax: "Axes", label: int, x: float, y: float, colour: str) -> None:
    """The number of a component at a point, readable on anything."""
    from matplotlib.patheffects import withStroke

    ax.text(
        x,
        y,
        str(label),
        color=colour,
        fontsize=NORMAL + 1,
        fontweight="bold",
        ha="center",
        va="center",
        clip_on=True,
        path_effects=[withStroke(linewidth=3, foreground="white")],
        zorder=6,
    )
