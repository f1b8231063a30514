"""`plot_qq`: whether one column has the mixture's quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..families.support import Integers, Interval
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import PALETTE
from ..titles import title
from .marginals import column_supports, marginal, weighted_nodes
from .reading import Columns, Model, dense, read
from .scales import is_logarithmic
from .style import GREY, heading, plain_axes, row_note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_QUANTILES = 1000


def plot_qq(model: Model, X: ArrayLike, ax: Axes | None = None, *, columns: Columns = None) -> Axes:
    """Plots the quantiles of one column against those of the mixture; points on the diagonal fit.

    Parameters
    ----------
    model : fitted estimator, Fit or Mixture
        The mixture.
    X : array or data frame (n, d)
        The rows.
    ax : Axes, default=None
        Where to draw; None creates a figure.
    columns : sequence of one name or number, default=None
        The column to plot.

    Returns
    -------
    Axes
        The Axes.

    Examples
    --------
    >>> from kmle import Mixture
    >>> mixture = Mixture.from_source("exponential", [0.5, 0.5], rate=[1.0, 9.0])
    >>> plot_qq(mixture, mixture.sample(300, 0)).get_xlabel()
    'quantile of the mixture'
    """
    subject = read(model, X, columns)
    if len(subject.columns) != 1:
        raise ValueError(f"plot_qq draws one column; there are {len(subject.columns)}: select one with columns=[...]")
    subject = subject.with_entries()
    alone = marginal(subject.mixture, subject.columns)
    if alone is None or not isinstance(column_supports(alone)[0], Integers | Interval):
        raise ValueError(f"the columns of {subject.mixture.family.name} have no quantiles: use plot_fit")
    axes = plain_axes("plot_qq", ax, (5.0, 4.8))
    values = dense(subject.rows, subject.columns)[:, 0]
    count = min(len(values), MOST_QUANTILES)
    shares = (np.arange(count) + 0.5) / count
    seen = np.sort(values)[np.floor(shares * len(values)).astype(np.intp)]
    expected = mixture_quantiles(alone, shares)
    ends = [min(seen[0], expected[0]), max(seen[-1], expected[-1])]
    axes.plot(ends, ends, color=GREY, lw=1.0, zorder=1)
    axes.scatter(expected, seen, s=12, color=PALETTE[0], alpha=0.7, linewidths=0, zorder=2)
    axes.set(xlabel="quantile of the mixture", ylabel=f"quantile of {subject.chosen_names[0]}")
    if is_logarithmic(values, column_supports(alone)[0]):
        axes.set(xscale="log", yscale="log")
    tidy(axes)
    title(axes, heading(subject.mixture), row_note(len(values), subject.total))
    return axes


def mixture_quantiles(mixture: Mixture, shares: Array) -> Array:
    """The values below which the mixture of one column has these shares of its mass."""
    distributions = [weighted_nodes(mixture.family, distribution) for distribution in mixture.natural]
    x = np.unique(np.concatenate([nodes for nodes, _ in distributions]))
    below = np.zeros(len(x))
    whole = isinstance(column_supports(mixture)[0], Integers)
    for weight, (nodes, mass) in zip(mixture.weights, distributions, strict=True):
        if whole:
            below += weight * np.append(0.0, np.cumsum(mass))[np.searchsorted(nodes, x, side="right")]
        else:
            # Half of a node's mass lies on either side of it.
            below += weight * np.interp(x, nodes, np.cumsum(mass) - 0.5 * mass, 0.0, 1.0)
    return x[np.searchsorted(below, shares).clip(max=len(x) - 1)] if whole else np.interp(shares, below, x)
