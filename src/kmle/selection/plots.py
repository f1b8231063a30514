"""The plot of a selection: a criterion against the number of components, a line for each family."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..titles import GREY, INK, SMALL, pyplot, title
from .candidates import Candidate, Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, told apart by colour-blind readers; markers and dashes tell the lines apart in print.
# They and the sizes are those of `kmle.plotting`.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b")
MARKERS = "osD^vPX"
FAINT, NORMAL = "#e4e4e4", 9.0
DASHES = ("-", "--", ":")
TITLES = {"aic": "AIC", "aicc": "AICc", "bic": "BIC", "icl": "ICL"}


def plot_selection(selection: Selection, ax: "Axes | None" = None) -> "Axes":
    """Draws the selection with the best candidate ringed; families that are worse throughout are named, not shown."""
    plt = pyplot("Selection.plot")
    from matplotlib.ticker import MaxNLocator  # an extra

    if ax is None:
        _, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
    lines = lines_of(selection)
    shorter = {name: structure for structure, name in selection.models.items()}
    low, high = shown_range(selection, lines)
    for place, (name, line) in enumerate(lines.items()):
        values = [candidate.value(selection.criterion) for candidate in line]
        turn, style = divmod(place, len(COLOURS))
        ax.plot(
            np.array([candidate.n_components for candidate in line], dtype=float),
            values,
            color=COLOURS[style],
            marker=MARKERS[style],
            linestyle=DASHES[turn % len(DASHES)],
            markersize=5,
            linewidth=1.5,
            label=shorter.get(name, name) + ("" if min(values) <= high else " (above)"),
        )
    best = selection.best
    name = shorter.get(best.name, best.name)
    ring: dict[str, Any] = {"marker": "o", "markersize": 14, "fillstyle": "none", "color": INK, "linestyle": "none"}
    at = np.array([best.n_components], dtype=float)
    ax.plot(
        at,
        [best.value(selection.criterion)],
        label=f"best: {name}, {best.n_components}",
        **ring,
    )
    ax.set_ylim(low, high)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="number of components", ylabel=f"{TITLES[selection.criterion]} (lower is better)")
    _styled(ax, selection)
    return ax


def _styled(ax: "Axes", selection: Selection) -> None:
    """Title, light lines, and a legend that has room inside the figure."""
    best = selection.best
    plural = "component" if best.n_components == 1 else "components"
    what = f"Best by {TITLES[selection.criterion]}: {best.name}, {best.n_components} {plural}"
    title(ax, what)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(labelsize=SMALL, colors=GREY, labelcolor=INK)
    ax.xaxis.label.set(size=NORMAL, color=INK)
    ax.yaxis.label.set(size=NORMAL, color=INK)
    ax.set_axisbelow(True)
    ax.grid(visible=True, color=FAINT, linewidth=0.6)
    options: dict[str, Any] = {"frameon": False, "fontsize": SMALL, "labelcolor": INK}
    drawn = ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, **options)
    if ax.figure.get_layout_engine() is None:
        # Nobody else makes room for it: the axes give up some of theirs.
        place = ax.get_position()
        share = min(drawn.get_window_extent().width / ax.figure.bbox.width + 0.01, 0.45 * place.width)
        ax.set_position((place.x0, place.y0, place.width - share, place.height))


def lines_of(selection: Selection) -> dict[str, list[Candidate]]:
    """The candidates of each family with a finite criterion, families in order of their best."""
    lines: dict[str, list[Candidate]] = {}
    for candidate in selection.candidates:
        if np.isfinite(candidate.value(selection.criterion)):
            lines.setdefault(candidate.name, []).append(candidate)
    return dict(sorted(lines.items(), key=lambda item: min(c.value(selection.criterion) for c in item[1])))


def shown_range(selection: Selection, lines: dict[str, list[Candidate]]) -> tuple[float, float]:
    """All of the lines that somewhere come as low as the best family's highest point, with some air."""
    values = {name: [c.value(selection.criterion) for c in line] for name, line in lines.items()}
    low, top = min(values[selection.best.name]), max(values[selection.best.name])
    shown = [line for line in values.values() if min(line) <= top or top == low]
    high = max(max(line) for line in shown)
    air = 0.06 * (high - low) or 1.0
    return low - air, high + air
