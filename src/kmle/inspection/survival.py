"""Survival: what a mixture says of lifetimes, beside what the data says without a model.

The data's own curve is the product-limit estimate of Kaplan and Meier (1958) with Greenwood's bands on the scale of
log(-log S), or, where values are censored on the left or in intervals, the self-consistent one of Turnbull (1976).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..data.intervals import Intervals, as_intervals
from ..families.support import Integers
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.options import inner_share
from ..queries.distribution import log_probabilities
from .rows import mixture_of

# Steps of Turnbull's algorithm, the change at which it ends, and the most points of its curve.
TURNBULL_STEPS, TURNBULL_CHANGE, TURNBULL_POINTS = 2000, 1e-7, 1000
# Points of a curve, and the share of the distribution that it shows beyond the data.
GRID, SHOWN = 200, 0.995


@dataclass(frozen=True)
class ProductLimit:
    """The survival curve of the data alone: a step function.

    Attributes
    ----------
    times : array (m,)
        Where the curve falls.
    survival : array (m,)
        P(X > times).
    lower : array (m,)
        The lower end of the band; NaN where there is none.
    upper : array (m,)
        The upper end of the band.
    censored : array (c,)
        The times of right-censored values, in order.
    """

    times: Array
    survival: Array
    lower: Array
    upper: Array
    censored: Array

    def at(self, times: ArrayLike) -> Array:
        """The curve at any times.

        Parameters
        ----------
        times : array
            The times, in any order and shape.

        Returns
        -------
        array
            P(X > time), of the same shape.
        """
        places = np.searchsorted(self.times, np.asarray(times, dtype=float), side="right")
        return np.append(1.0, self.survival)[places]


@dataclass(frozen=True)
class Survival:
    """A mixture's survival curve on a grid of times, its hazard, and the curve of the data.

    Attributes
    ----------
    times : array (m,)
        The grid of times.
    survival : array (m,)
        P(X > times).
    hazard : array (m,)
        The density divided by P(X > times); for counts P(X = x) / P(X >= x).
    components : array (m, k)
        The survival curve of each component.
    quantiles : dict of float
        The times at which these shares have failed: that of 0.1 is the B10 life.
    observed : ProductLimit or None
        The curve of the data; None without data.
    """

    times: Array
    survival: Array
    hazard: Array
    components: Array
    quantiles: dict[float, float]
    observed: ProductLimit | None

    def __repr__(self) -> str:
        lives = ", ".join(f"{100 * share:.0f} % by {time:.5g}" for share, time in self.quantiles.items())
        gap = "" if self.observed is None else f"; {self.largest_gap:.3f} from the curve of the data at most"
        return f"<Survival at {len(self.times)} times: failed {lives}{gap}>"

    @property
    def largest_gap(self) -> float:
        """The largest distance between the two curves where the data has events."""
        if self.observed is None:
            return float("nan")
        fitted = np.interp(self.observed.times, self.times, self.survival)
        return float(np.max(np.abs(fitted - self.observed.survival), initial=0.0))


def survival(
    model: Any,
    X: Any = None,
    sample_weight: ArrayLike | None = None,
    *,
    times: ArrayLike | None = None,
    column: int = 0,
    shares: ArrayLike = (0.1, 0.5, 0.9),
    level: float = 0.95,
) -> Survival:
    """Returns the survival curve and hazard of a mixture, beside the curve of the data.

    Parameters
    ----------
    model : fitted estimator, Fit or Mixture
        The mixture.
    X : Intervals, CensoredData or array, default=None
        The data; None leaves its curve out.
    sample_weight : array (n,), default=None
        The weights of the rows.
    times : array (m,), default=None
        Where to evaluate the curve; by default 200 points over the data and the distribution.
    column : int, default=0
        The column that holds the times.
    shares : array, default=(0.1, 0.5, 0.9)
        The shares whose times are in `quantiles`; 0.1 is the B10 life.
    level : float, default=0.95
        The confidence level of the band of the data's curve.

    Returns
    -------
    Survival
        Times, survival, hazard, components, quantiles and the observed curve.

    Examples
    --------
    >>> mixture = Mixture.from_source("exponential", [1.0], rate=[0.5])
    >>> found = survival(mixture, Intervals.from_events([1.0, 2.0, 3.0], [1, 0, 1]), times=[0.0, 2.0])
    >>> found.survival.round(4), found.hazard, round(found.quantiles[0.5], 4)
    (array([1.    , 0.3679]), array([0.5, 0.5]), 1.3863)
    """
    inner_share("level", level)
    mixture = mixture_of(model)
    one = mixture if mixture.family.n_features == 1 else mixture.marginal(column)
    data = None if X is None else _column_of(X, column)
    observed = None if data is None else product_limit(data, sample_weight, level)
    grid = _grid(one, data) if times is None else np.asarray(times, dtype=float).reshape(-1)
    components = component_survival(one, grid)
    total = components @ one.weights
    found = {float(share): float(one.quantile(share)) for share in np.atleast_1d(shares)}
    return Survival(grid, total, _hazard(one, grid), components, found, observed)


def component_survival(mixture: Mixture, times: Array) -> Array:
    """P_j(X > t) (m, k) of the components of a mixture of one column."""
    family = mixture.family
    support: Any = family.support
    low, high = float(getattr(support, "lower", -np.inf)), float(getattr(support, "upper", np.inf))
    start = np.floor(times) + 1 if isinstance(support, Integers) else times
    inside = (start > low) & (start < high)
    found = np.where(start <= low, 1.0, 0.0)[:, None] * np.ones(mixture.n_components)
    if inside.any():
        log_p = log_probabilities(family, start[inside], np.full(inside.sum(), high), mixture.natural)
        found[inside] = np.exp(np.minimum(log_p, 0.0))
    return found


def _hazard(mixture: Mixture, times: Array) -> Array:
    """Densities divided by survival, through logarithms: both may be tiny."""
    support = mixture.family.support
    legal = ~support.outside(times[:, None]).reshape(len(times), -1).any(axis=1)
    hazard = np.zeros(len(times))
    if not legal.any():
        return hazard
    log_density = mixture.log_density(times[legal, None])
    before = times[legal] - 1 if isinstance(support, Integers) else times[legal]
    with np.errstate(divide="ignore"):
        log_survival = np.log(component_survival(mixture, before) @ mixture.weights)
    hazard[legal] = np.exp(log_density - log_survival)
    return hazard


def _grid(mixture: Mixture, data: Intervals | None) -> Array:
    ends = [float(mixture.quantile(1 - SHOWN)), float(mixture.quantile(SHOWN))]
    lower = getattr(mixture.family.support, "lower", -np.inf)
    if data is not None:
        bounds = np.concatenate([data.lower.ravel(), data.upper.ravel()])
        finite = bounds[np.isfinite(bounds)]
        ends = (
            [min(ends[0], finite.min()), min(max(ends[1], finite.max()), 1.5 * finite.max())] if len(finite) else ends
        )
    start = lower if np.isfinite(lower) and lower >= ends[0] - (ends[1] - ends[0]) else ends[0]
    if isinstance(mixture.family.support, Integers):
        return np.unique(np.round(np.linspace(start, ends[1], GRID)))
    return np.linspace(start, ends[1], GRID)


def _column_of(X: Any, column: int) -> Intervals:
    found = as_intervals(X)
    if found is None:
        table = np.asarray(X, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        found = Intervals(table, table)
    if not 0 <= column < found.shape[1]:
        raise ValueError(f"column is {column}: X has {found.shape[1]} columns")
    return Intervals(found.lower[:, column], found.upper[:, column])


# The data alone -------------------------------------------------------------------------------------------------------


def product_limit(X: Any, sample_weight: ArrayLike | None = None, level: float = 0.95) -> ProductLimit:
    """Returns the survival curve of right-censored values (Kaplan-Meier), or of intervals (Turnbull, without a band).

    Parameters
    ----------
    X : Intervals, CensoredData or array (n,)
        The values.
    sample_weight : array (n,), default=None
        The weights of the rows.
    level : float, default=0.95
        The confidence level of the band.

    Returns
    -------
    ProductLimit
        Times, survival and band.

    Examples
    --------
    >>> found = product_limit(Intervals.from_events([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]))
    >>> found.times, found.survival
    (array([1., 3., 4.]), array([0.75 , 0.375, 0.   ]))
    """
    data = _column_of(X, 0)
    weights = np.ones(len(data)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    lower, upper = data.lower[:, 0], data.upper[:, 0]
    exact, right = lower == upper, np.isinf(upper) & np.isfinite(lower)
    censored = np.sort(lower[right])
    if not (exact | right).all():
        return _turnbull(lower, upper, weights, censored)
    times, place = np.unique(lower[exact], return_inverse=True)
    deaths = np.bincount(place.ravel(), weights[exact], len(times)).astype(float)
    order = np.argsort(lower, kind="stable")
    # Those that are censored at the time of an event are still at risk then.
    left = np.cumsum(weights[order][::-1])[::-1]
    at_risk = np.append(left, 0.0)[np.searchsorted(lower[order], times, side="left")]
    curve = np.cumprod(np.maximum(1 - deaths / at_risk, 0.0))
    return ProductLimit(times, curve, *_band(curve, deaths, at_risk, level), censored)


def _band(curve: Array, deaths: Array, at_risk: Array, level: float) -> tuple[Array, Array]:
    """Greenwood's variance, on the scale of log(-log S), where bands stay between zero and one."""
    with np.errstate(all="ignore"):
        variance = np.cumsum(deaths / (at_risk * (at_risk - deaths)))
        width = scipy.special.ndtri(0.5 + 0.5 * level) * np.sqrt(variance) / np.abs(np.log(curve))
        lower, upper = curve ** np.exp(width), curve ** np.exp(-width)
    known = (curve > 0) & (curve < 1)
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)


def _turnbull(lower: Array, upper: Array, weights: Array, censored: Array) -> ProductLimit:
    """Masses between the distinct bounds that explain the intervals best, by EM."""
    bounds = np.unique(np.concatenate([lower, upper]))
    bounds = bounds[np.isfinite(bounds)]
    if len(bounds) > TURNBULL_POINTS:
        bounds = np.unique(np.quantile(bounds, np.linspace(0, 1, TURNBULL_POINTS), method="inverted_cdf"))
    ends = np.append(bounds, np.inf)
    first = np.searchsorted(ends, lower, side="left") + (upper > lower)
    last = np.searchsorted(ends, upper, side="left")
    first = np.minimum(np.where(np.isinf(lower), 0, first), last)
    mass = np.full(len(ends), 1 / len(ends))
    for _ in range(TURNBULL_STEPS):
        sums = np.append(0.0, np.cumsum(mass))
        share = weights / np.maximum(sums[last + 1] - sums[first], 1e-300)
        steps = np.zeros(len(ends) + 1)
        np.add.at(steps, first, share)
        np.add.at(steps, last + 1, -share)
        new = mass * np.cumsum(steps)[:-1] / weights.sum()
        change = float(np.abs(new - mass).max())
        mass = np.maximum(new, 0.0)
        if change < TURNBULL_CHANGE:
            break
    curve = np.clip(1 - np.cumsum(mass)[:-1], 0.0, 1.0)
    none = np.full(len(bounds), np.nan)
    return ProductLimit(bounds, curve, none, none, censored)
