"""The picture of a selection: a criterion against the number of components, a line for each family."""

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from .candidates import Candidate, Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, told apart by colour-blind readers; markers tell the lines apart in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = "osD^vP*X"


def plot_selection(selection: Selection, ax: "Axes | None" = None) -> "Axes":
    """Draws the selection; the best candidate is ringed and named."""
    try:
        from matplotlib import pyplot
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise ImportError("Selection.plot needs matplotlib: pip install 'kmle[plot]'") from None
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    lines = lines_of(selection)
    styles = zip(lines.items(), cycle(COLOURS), cycle(MARKERS), strict=False)
    for (name, line), colour, marker in styles:
        sizes, values = zip(*((c.n_components, c.value(selection.criterion)) for c in line), strict=True)
        ax.plot(sizes, values, color=colour, marker=marker, markersize=5, linewidth=1.5, label=name)
    best = selection.best
    lowest = best.value(selection.criterion)
    title = f"best: {best.name}, k = {best.n_components}"
    ax.plot([best.n_components], [lowest], "o", markersize=14, fillstyle="none", color="black", label=title)
    ax.set_ylim(*shown_range(selection, lines))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("number of components")
    ax.set_ylabel(f"{selection.criterion.upper().replace('AICC', 'AICc')} (lower is better)")
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def lines_of(selection: Selection) -> dict[str, list[Candidate]]:
    """The fitted candidates of each family whose criterion is finite, those of the best family first."""
    lines: dict[str, list[Candidate]] = {}
    for candidate in selection.ranking:
        if np.isfinite(candidate.value(selection.criterion)):
            lines.setdefault(candidate.name, []).append(candidate)
    return {name: sorted(line, key=lambda c: c.n_components or 0) for name, line in lines.items()}


def shown_range(selection: Selection, lines: dict[str, list[Candidate]]) -> tuple[float, float]:
    """Limits in which every family's best and the best family's whole line are seen."""
    values = {name: [c.value(selection.criterion) for c in line] for name, line in lines.items()}
    low = selection.best.value(selection.criterion)
    top = max(max(values[selection.best.name]), *(min(line) for line in values.values()))
    margin = 0.06 * (top - low) or 1.0
    return low - margin, top + margin
