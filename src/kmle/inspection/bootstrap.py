"""Errors and intervals of a fit by learning it again on resampled rows; no row is ever copied, only counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..families import Uniform
from ..families.validation import check_sample_weight
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.options import inner_share, whole_number
from .rows import legal_rows, mixture_of
from .sources import SourceLayout


@dataclass(frozen=True)
class Bootstrap:
    """Standard errors, and the lower and upper ends of percentile intervals, of weights and usual parameters.

    Attributes
    ----------
    weights : array (k,)
        Standard errors of the weights.
    source : dict of arrays
        Standard errors of the usual parameters, by the names and shapes of `mixture.source`.
    weights_interval : array (2, k)
        Lower and upper ends, (2, k).
    source_interval : dict of arrays
        Lower and upper ends, along the first axis.
    level : float
        The level of the intervals.
    n_resamples : int
        How many resamples were fitted.
    n_incomplete : int
        Resamples in which a component was lost; they count for the components that stayed.
    """

    weights: Array
    source: dict[str, Array]
    weights_interval: Array
    source_interval: dict[str, Array]
    level: float
    n_resamples: int
    n_incomplete: int


def bootstrap(
    estimator: Any,
    X: ArrayLike,
    n_resamples: int = 100,
    random_state: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> Bootstrap:
    """Fits resamples of the rows, each time from the fitted mixture.

    A resample is the rows with multinomial weights. Components are matched to those of the fit by the assignment with
    the least total divergence.

    Parameters
    ----------
    estimator : fitted estimator
        The fit.
    X : array (n, d)
        The rows of the fit.
    n_resamples : int, default=100
        The number of resamples.
    random_state : int, Generator or None, default=None
        The seed of the resamples.
    sample_weight : array (n,), default=None
        The weights given to `fit`.
    level : float, default=0.95
        The level of the percentile intervals.

    Returns
    -------
    Bootstrap
        Standard errors and intervals of weights and usual parameters.

    Examples
    --------
    >>> from kmle import KMLE
    >>> X = np.repeat([[1], [2], [30], [28]], 20, axis=0)
    >>> errors = bootstrap(KMLE(2, family="poisson", random_state=0).fit(X), X, n_resamples=20, random_state=0)
    >>> errors.source["rate"].shape, errors.source_interval["rate"].shape
    ((2, 1), (2, 2, 1))
    """
    whole_number("n_resamples", n_resamples, 2)
    inner_share("level", level)
    mixture = mixture_of(estimator)
    n = legal_rows(mixture, X).shape[0]
    counted = check_sample_weight(sample_weight, n)
    share = np.full(n, 1 / n) if counted is None else counted / counted.sum()
    draws = n if counted is None else max(1, round(float(counted.sum())))
    rng = np.random.default_rng(random_state)
    layout = SourceLayout.of(mixture.family, mixture.natural)
    base = layout.flat(mixture.natural)
    weights = np.full((n_resamples, *mixture.weights.shape), np.nan)
    sources = np.full((n_resamples, *base.shape), np.nan)
    refit = _restarted(estimator, mixture)
    for resample in range(n_resamples):
        refit.set_params(random_state=int(rng.integers(2**31 - 1)))
        found = refit.fit(X, sample_weight=rng.multinomial(draws, share).astype(float)).mixture_
        own, theirs = matched(mixture, found)
        weights[resample] = 0.0
        weights[resample, own] = found.weights[theirs]
        sources[resample, own] = layout.near(layout.flat(found.natural)[theirs], base[own])
    incomplete = np.isnan(sources).any(axis=(1, 2))
    ends = [0.5 - level / 2, 0.5 + level / 2]
    return Bootstrap(
        weights.std(axis=0, ddof=1),
        layout.split(_spread(sources)),
        np.quantile(weights, ends, axis=0),
        layout.split(_quantiles(sources, ends)),
        level,
        n_resamples,
        int(incomplete.sum()),
    )


def matched(mixture: Mixture, other: Mixture) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Components of the two that belong together: the pairs with the least total divergence from the first.

    >>> a = Mixture.from_source("poisson", [0.5, 0.5], rate=[1.0, 9.0])
    >>> matched(a, Mixture.from_source("poisson", [0.5, 0.5], rate=[8.0, 2.0]))[1].tolist()
    [1, 0]
    """
    with np.errstate(all="ignore"):
        divergence = mixture.family.kl(mixture.natural[:, None, :], other.natural[None, :, :])
    own, theirs = scipy.optimize.linear_sum_assignment(np.nan_to_num(divergence, nan=1e300, posinf=1e300))
    return own, theirs


def _restarted(estimator: Any, mixture: Mixture) -> Any:
    """A fresh estimator that starts where this one ended."""
    settings: dict[str, Any] = {"init": mixture, "n_components": mixture.n_components, "n_init": 1}
    settings |= {"warm_start": False, "verbose": 0}
    if estimator.noise:
        # It is beside the components that are counted, unless no row was left for it.
        settings["noise"] = any(isinstance(member.family, Uniform) for member in mixture.members)
        settings["n_components"] -= int(settings["noise"])
    # Prescribed weights of components that left are shared out among those that stayed.
    if estimator.weights is not None and not isinstance(estimator.weights, str):
        settings["weights"] = mixture.weights
    from sklearn.base import clone  # slow to import, and only this needs it

    return clone(estimator).set_params(**settings)


def _spread(values: Array) -> Array:
    """Standard deviations along the first axis of what is there; NaN where fewer than two are."""
    there = np.isfinite(values)
    count = there.sum(axis=0)
    mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    squares = np.where(there, (values - mean) ** 2, 0.0).sum(axis=0)
    return np.asarray(np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan))


def _quantiles(values: Array, ends: list[float]) -> Array:
    """Quantiles along the first axis of what is there; NaN where nothing is."""
    found = np.full((len(ends), *values.shape[1:]), np.nan)
    for place in np.ndindex(values.shape[1:]):
        there = values[(slice(None), *place)]
        there = there[np.isfinite(there)]
        if len(there):
            found[(slice(None), *place)] = np.quantile(there, ends)
    return found
