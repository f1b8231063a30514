"""`plot_survival`: the survival curve of a mixture beside the product-limit curve of its data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..data.intervals import Intervals, as_intervals
from ..inspection.rows import mixture_of
from ..inspection.survival import survival
from ..palette import colours
from ..titles import title
from .style import GREY, INK, heading, legend, plain_axes, row_note, tidy

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ..inspection.survival import ProductLimit
    from .reading import Model


def plot_survival(
    model: Model,
    X: Intervals | ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    column: int = 0,
) -> Axes:
    """Plots the share that survives each time: of the mixture, its components, and the data with its band.

    Parameters
    ----------
    model : fitted estimator, Fit or Mixture
        The mixture.
    X : Intervals, CensoredData or array, default=None
        The data; right-censored values have marks. None leaves its curve out.
    ax : Axes, default=None
        Where to draw; None creates a figure.
    sample_weight : array (n,), default=None
        The weights of the rows.
    column : int, default=0
        The column that holds the times.

    Returns
    -------
    Axes
        The Axes.

    Examples
    --------
    >>> from kmle import Intervals, Mixture
    >>> mixture = Mixture.from_source("exponential", [1.0], rate=[0.5])
    >>> plot_survival(mixture, Intervals.from_events([1.0, 2.0, 3.0], [1, 0, 1])).get_ylabel()
    'share that survives'
    """
    mixture = mixture_of(model)
    found = survival(mixture, X, sample_weight, column=column)
    axes = plain_axes("plot_survival", ax)
    drawn: dict[str, Artist] = {}
    if mixture.n_components > 1:
        for label, colour in enumerate(colours(mixture.n_components)):
            (line,) = axes.plot(found.times, found.components[:, label], color=colour, lw=1.0, ls="--")
            drawn[f"component {label}"] = line
    (drawn["mixture"],) = axes.plot(found.times, found.survival, color=INK, lw=1.8, zorder=3)
    note = ""
    if found.observed is not None:
        drawn |= _draw_observed(axes, found.observed)
        n_rows = len(as_intervals(X) or np.asarray(X))
        censored = len(found.observed.censored)
        note = row_note(n_rows, n_rows, f"{censored} censored on the right" if censored else "")
    names = mixture.columns
    axes.set(xlabel="time" if names is None else names[column], ylabel="share that survives", ylim=(0, 1.02))
    axes.set_xlim(found.times[0], found.times[-1])
    tidy(axes)
    title(axes, heading(mixture), note)
    legend(axes, list(drawn.values()), list(drawn), "")
    return axes


def _draw_observed(axes: Axes, observed: ProductLimit) -> dict[str, Artist]:
    """The curve of the data, its band, and marks at right-censored values."""
    times, curve = np.append(0.0, observed.times), np.append(1.0, observed.survival)
    (line,) = axes.step(times, curve, where="post", color=GREY, lw=1.3)
    known = np.isfinite(observed.lower) & np.isfinite(observed.upper)
    band = axes.fill_between(
        observed.times[known], observed.lower[known], observed.upper[known], step="post", color=GREY, alpha=0.2, lw=0
    )
    drawn: dict[str, Artist] = {"data": line, "its band": band}
    if len(observed.censored):
        heights = observed.at(observed.censored)
        (drawn["censored"],) = axes.plot(observed.censored, heights, ls="", marker="|", ms=8, color=GREY)
    return drawn
