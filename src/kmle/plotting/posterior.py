"""`plot_posterior`: how certain the labels are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..families.support import Integers, Interval
from ..numerics.arrays import Array
from ..numerics.options import whole_number
from ..palette import colours
from ..titles import title
from .bins import SAMPLED_ROWS, view
from .marginals import column_supports
from .reading import Model, Subject, dense, read
from .scales import is_logarithmic, log_view
from .style import INK, SMALL, component_legend, plain_axes, row_note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 800
# Ticks for components with at least this share of the rows; narrower ones would overlap.
NAMED_FROM = 0.04


def plot_posterior(model: Model, X: ArrayLike, ax: Axes | None = None, *, max_points: int = 4000) -> Axes:
    """Plots the posterior probabilities of the components, stacked.

    One column is plotted along its values. Otherwise rows are sorted by label and certainty, so ragged edges show
    uncertain rows.

    Parameters
    ----------
    model : fitted estimator, Fit or Mixture
        The mixture.
    X : array or data frame (n, d)
        The rows.
    ax : Axes, default=None
        Where to draw; None creates a figure.
    max_points : int, default=4000
        The maximum number of rows to draw.

    Returns
    -------
    Axes
        The Axes.

    Examples
    --------
    >>> from kmle import Mixture
    >>> mixture = Mixture.from_source("poisson", [0.5, 0.5], rate=[2.0, 9.0])
    >>> plot_posterior(mixture, mixture.sample(300, 0)).get_ylabel()
    'posterior probability'
    """
    whole_number("max_points", max_points, 1)
    subject = read(model, X)
    axes = plain_axes("plot_posterior", ax, (6.8, 3.6))
    mixture = subject.mixture
    subject = subject.with_entries() if mixture.family.n_features == 1 else subject
    along = mixture.family.n_features == 1 and isinstance(column_supports(mixture)[0], Integers | Interval)
    posterior = mixture.posterior(subject.sampled(SAMPLED_ROWS if along else max_points))
    if along:
        _draw_along(axes, subject)
    else:
        _draw_rows(axes, posterior)
    axes.set(ylim=(0, 1), ylabel="posterior probability")
    tidy(axes, None)
    axes.tick_params(axis="x", length=3 if along else 0)
    expected = f"{100 * (1 - posterior.max(axis=1).mean()):.1f} % of the labels expected wrong"
    total = subject.total
    title(axes, "Certainty of the labels", row_note(total if along else len(posterior), total, expected))
    component_legend(axes, mixture)
    return axes


def _draw_along(ax: Axes, subject: Subject) -> None:
    """Responsibilities over the values of the one column, and the data as a rug."""
    mixture = subject.mixture
    (support,) = column_supports(mixture)
    values = dense(subject.sampled(SAMPLED_ROWS), [0])[:, 0]
    low, high = view(values)
    if isinstance(support, Integers):
        x = np.arange(np.floor(low), np.ceil(high) + 1)
        edges, middles = np.repeat(np.append(x, x[-1] + 1) - 0.5, 2)[1:-1], np.repeat(x, 2)
    elif is_logarithmic(values, support):
        edges = middles = 10 ** np.linspace(*log_view(values), GRID)
        ax.set_xscale("log")
    else:
        low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
        edges = middles = np.linspace(low, high, GRID)
    posterior = mixture.posterior(middles[:, None])
    _stack(ax, edges, posterior)
    ax.plot(edges, np.cumsum(posterior, axis=1)[:, :-1], color="white", lw=0.8)
    few = values[:: -(-len(values) // 1000)]
    ax.plot(few, np.full(len(few), 0.012), "|", color=INK, markersize=5, alpha=0.35, markeredgewidth=0.6)
    ax.set(xlim=(edges[0], edges[-1]), xlabel=subject.names[0])


def _draw_rows(ax: Axes, posterior: Array) -> None:
    labels = posterior.argmax(axis=1)
    order = np.lexsort((-posterior.max(axis=1), labels))
    counts = np.bincount(labels, minlength=posterior.shape[1])
    stops = np.cumsum(counts)
    n = len(labels)
    # Two corners a row, so that the stack is of bars without gaps.
    _stack(ax, np.repeat(np.arange(n + 1.0), 2)[1:-1], np.repeat(posterior[order], 2, axis=0))
    for stop in stops[:-1]:
        ax.axvline(stop, color="white", lw=1.2)
    named = np.flatnonzero(counts >= NAMED_FROM * n)
    ax.set_xticks((stops - counts / 2)[named], [str(label) for label in named])
    ax.set(xlim=(0, n), xlabel="rows, by label and then by certainty")
    ax.xaxis.set_tick_params(labelsize=SMALL)


def _stack(ax: Axes, x: Array, posterior: Array) -> None:
    ax.stackplot(x, posterior.T, colors=colours(posterior.shape[1]), alpha=0.85, linewidth=0)
