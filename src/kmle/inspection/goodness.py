"""How well a mixture of one column fits: what its distribution function makes of the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array
from .distribution import cdf, is_discrete, quantiles
from .rows import legal_rows, mixture_of


def pit(model: Any, X: ArrayLike, random_state: Any = None) -> Array:
    """P(value <= x) of each row (n,): uniform on (0, 1) if the mixture is right.

    For whole numbers a uniform share of P(value = x), drawn from `random_state`, is left out, which makes them uniform.

    >>> from kmle import Mixture
    >>> pit(Mixture.from_source("exponential", [1.0], rate=[1.0]), [[0.0], [np.log(2)]])
    array([0. , 0.5])
    """
    mixture = mixture_of(model)
    x = legal_rows(mixture, X)[:, 0].astype(float)
    upper = cdf(mixture, x)
    if not is_discrete(mixture):
        return upper
    lower = cdf(mixture, x - 1)
    return np.asarray(lower + np.random.default_rng(random_state).random(len(x)) * (upper - lower))


def kolmogorov_smirnov(values: ArrayLike) -> float:
    """The largest distance between the distribution of PIT values and the uniform one.

    >>> kolmogorov_smirnov([0.25, 0.75])
    0.25
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


@dataclass(frozen=True)
class QuantilePairs:
    """Quantiles of the data beside those of the mixture: on the diagonal where the mixture fits."""

    probabilities: Array
    data: Array
    model: Array


def quantile_pairs(model: Any, X: ArrayLike, n_points: int = 99) -> QuantilePairs:
    """Quantiles of the data and of the mixture at `n_points` evenly spaced probabilities.

    >>> from kmle import Mixture
    >>> X = [[0.1], [0.5], [0.9], [2.0]]
    >>> quantile_pairs(Mixture.from_source("exponential", [1.0], rate=[1.0]), X, 1).model.round(4)
    array([0.6931])
    """
    if n_points < 1:
        raise ValueError(f"n_points is {n_points}: at least 1 is needed")
    mixture = mixture_of(model)
    x = legal_rows(mixture, X)[:, 0].astype(float)
    probabilities = np.arange(1, n_points + 1) / (n_points + 1)
    data = np.quantile(x, probabilities, method="inverted_cdf" if is_discrete(mixture) else "linear")
    return QuantilePairs(probabilities, data, quantiles(mixture, probabilities, x))
