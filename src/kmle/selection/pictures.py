"""The picture of a selection: a criterion against the number of components, a line for each family."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .candidates import Candidate, Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, told apart by colour-blind readers; markers and dashes tell the lines apart in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = "osD^vPX"
DASHES = ("-", "--", ":")
TITLES = {"aic": "AIC", "aicc": "AICc", "bic": "BIC", "icl": "ICL"}


def plot_selection(selection: Selection, ax: "Axes | None" = None) -> "Axes":
    """Draws the selection with the best candidate ringed; families far above it are named, not shown."""
    try:
        from matplotlib import pyplot
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise ImportError("Selection.plot needs matplotlib: pip install 'kmle[plot]'") from None
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    lines = lines_of(selection)
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
            label=name if min(values) <= high else f"{name} (above)",
        )
    best = selection.best
    ring: dict[str, Any] = {"marker": "o", "markersize": 14, "fillstyle": "none", "color": "black", "linestyle": "none"}
    title = f"best: {best.name}, {best.n_components}"
    ax.plot(np.array([best.n_components], dtype=float), [best.value(selection.criterion)], label=title, **ring)
    ax.set_ylim(low, high)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("number of components")
    ax.set_ylabel(f"{TITLES[selection.criterion]} (lower is better)")
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def lines_of(selection: Selection) -> dict[str, list[Candidate]]:
    """The candidates of each family with a finite criterion, families in order of their best."""
    lines: dict[str, list[Candidate]] = {}
    for candidate in selection.candidates:
        if np.isfinite(candidate.value(selection.criterion)):
            lines.setdefault(candidate.name, []).append(candidate)
    return dict(sorted(lines.items(), key=lambda item: min(c.value(selection.criterion) for c in item[1])))


def shown_range(selection: Selection, lines: dict[str, list[Candidate]]) -> tuple[float, float]:
    """The best family's whole line with some air; everything when that line is flat."""
    values = {name: [c.value(selection.criterion) for c in line] for name, line in lines.items()}
    low, top = min(values[selection.best.name]), max(values[selection.best.name])
    if top == low:
        top = max(max(line) for line in values.values())
    air = 0.06 * (top - low) or 1.0
    return low - air, top + air
