"""`plot_history`: how the objective rose."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..learning import Fit
from ..numerics.arrays import Array
from .style import GREY, PALETTE, integer_ticks, legend, plain_axes, tidy, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Longer histories are a line without marks.
MOST_MARKS = 150
MARKS = "osD^vPX*"
# A half-step this many times as far below the end as the next one is left out.
START_RATIO = 4.0


def plot_history(fit: Any, ax: "Axes | None" = None) -> "Axes":
    """Draws the objective after every half-step of a fit (a `Fit` or a fitted estimator), by what the step changed.

    >>> from kmle import KMLE
    >>> model = KMLE(2, family="poisson", random_state=0).fit([[1], [2], [30], [28]])
    >>> plot_history(model).get_ylabel()
    "objective, with the prior's penalty"
    """
    outcome = fit_of(fit)
    axes = plain_axes("plot_history", ax, (6.8, 3.8))
    steps = np.arange(len(outcome.history))
    axes.plot(steps, outcome.objectives, color=GREY, lw=1.0, zorder=2)
    kinds = list(dict.fromkeys(half.kind for half in outcome.history))
    handles: list[Any] = []
    few = len(steps) <= MOST_MARKS
    for place, kind in enumerate(kinds):
        own = np.array([half.kind == kind for half in outcome.history])
        handles += axes.plot(
            steps[own],
            outcome.objectives[own],
            ls="",
            marker=MARKS[place % len(MARKS)] if few else ".",
            markersize=5 if few else 3,
            color=PALETTE[place % len(PALETTE)],
            zorder=3,
        )
    what = "objective, with the prior's penalty" if outcome.includes_penalty else "objective"
    margin = 0.5 + 0.01 * len(steps)
    axes.set(xlabel="half-step", ylabel=what, xlim=(-margin, len(steps) - 1 + margin))
    if len(steps) > 1:
        integer_ticks(axes, "x")
    else:
        axes.set_xticks(steps)
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    tidy(axes)
    reason = outcome.stop_reason[:1].upper() + outcome.stop_reason[1:]
    ends = f"from {outcome.objectives[0]:.6g} to {outcome.objective:.6g}"
    title(axes, reason, f"{outcome.algorithm}, {outcome.n_iter} iteration{'s' * (outcome.n_iter != 1)}, {ends}")
    _hide_start(axes, outcome.objectives)
    if len(kinds) > 1:
        legend(axes, handles, kinds, "after a change of")
    return axes


def fit_of(fit: Any) -> Fit:
    """The Fit of a fitted estimator, or the Fit itself."""
    if isinstance(fit, Fit):
        return fit
    if not hasattr(fit, "fit"):
        raise ValueError(f"plot_history draws a Fit or a fitted estimator, not a {type(fit).__name__}")
    check_is_fitted(fit, "fit_")
    return fit.fit_


def _hide_start(ax: "Axes", objectives: Array) -> None:
    """Leaves out the first half-steps where they would press all later ones into a line; the line comes from there."""
    last = objectives[-1]
    start = 0
    while start + 1 < len(objectives) // 4 and last - objectives[start] > START_RATIO * (last - objectives[start + 1]):
        start += 1
    shown = objectives[start:]
    if start > 0 and np.ptp(shown) > 0:
        margin = 0.06 * np.ptp(shown)
        ax.set_ylim(shown.min() - margin, shown.max() + margin)
