"""`plot_history`: how the objective rose."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..algorithms import Fit
from ..numerics.arrays import Array
from ..palette import PALETTE
from ..titles import title
from .style import GREY, INK, integer_ticks, legend, plain_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Longer histories are a line without marks.
MOST_MARKS = 150
MARKS = "osD^vPX*"


def plot_history(fit: Any, ax: "Axes | None" = None) -> "Axes":
    """Plots the objective of a fit: during the search for a start, then after every half-step.

    Parameters
    ----------
    fit : Fit or fitted estimator
        The fit.
    ax : Axes, default=None
        Where to draw; None creates a figure.

    Returns
    -------
    Axes
        The Axes.

    Examples
    --------
    >>> from kmle import KMLE
    >>> model = KMLE(2, family="poisson", random_state=0).fit([[1], [2], [30], [28]])
    >>> plot_history(model).get_ylabel()
    "objective, with the prior's penalty"
    """
    outcome = fit_of(fit)
    axes = plain_axes("plot_history", ax, (6.8, 3.8))
    search = search_ascent(outcome)
    steps = len(search) + np.arange(len(outcome.history))
    axes.plot(steps, outcome.objectives, color=GREY, lw=1.0, zorder=2)
    handles, names = _half_steps(axes, outcome, steps)
    if len(search):
        handles += axes.plot(np.arange(len(search)), search, color=INK, lw=1.3, ls="--", zorder=2)
        names.append("search")
    what = "objective, with the prior's penalty" if outcome.includes_penalty else "objective"
    margin = 0.5 + 0.01 * (steps[-1] + 1)
    along = "passes of the search, then half-steps" if len(search) else "half-step"
    axes.set(xlabel=along, ylabel=what, xlim=(-margin, steps[-1] + margin))
    if len(steps) + len(search) > 1:
        integer_ticks(axes, "x")
    else:
        axes.set_xticks(steps)
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    tidy(axes)
    rose = f"from {min([*search[:1], outcome.objectives[0]]):.6g} to {outcome.objective:.6g}"
    message = (
        f"{outcome.algorithm}, {outcome.n_iter} iteration{'s' * (outcome.n_iter != 1)}, {rose}: {outcome.stop_reason}"
    )
    title(axes, "Objective of the fit", message)
    if len(names) > 1:
        legend(axes, handles, names, "after a change of")
    return axes


def search_ascent(fit: Fit) -> Array:
    """The best objective of any start after every pass of the search, on the scale of all rows; empty without one."""
    return fit.n * np.array(fit.starts.ascent)


def _half_steps(axes: "Axes", outcome: Fit, steps: NDArray[np.intp]) -> tuple[list[Any], list[str]]:
    """A mark for every half-step, by what it changed."""
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
    return handles, kinds


def fit_of(fit: Any) -> Fit:
    """The Fit of a fitted estimator, or the Fit itself."""
    if isinstance(fit, Fit):
        return fit
    if not hasattr(fit, "fit"):
        raise ValueError(f"plot_history draws a Fit or a fitted estimator, not a {type(fit).__name__}")
    check_is_fitted(fit, "result_")
    return fit.result_
