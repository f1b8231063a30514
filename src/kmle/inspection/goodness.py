"""How well a mixture of one column fits: what its distribution function makes of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array
from ..numerics.options import whole_number
from .distribution import cdf, is_discrete, quantiles
from .rows import column_of, mixture_and_data


def pit(model: Any, X: ArrayLike, random_state: Any = None) -> Array:
    """Returns the probability integral transform P(value <= x) of each row, uniform on (0, 1) if the mixture fits.

    For whole numbers a uniform share of P(value = x) is subtracted, which makes the values uniform.

    Parameters
    ----------
    model : fitted estimator or Mixture
        A mixture of one column.
    X : array (n, 1)
        The rows.
    random_state : int, Generator or None, default=None
        The seed for whole numbers.

    Returns
    -------
    array (n,)
        The values.

    Examples
    --------
    >>> from kmle import Mixture
    >>> pit(Mixture.from_source("exponential", [1.0], rate=[1.0]), [[0.0], [np.log(2)]])
    array([0. , 0.5])
    """
    mixture, X = mixture_and_data(model, X)
    x = column_of(mixture, X)
    upper = cdf(mixture, x)
    if not is_discrete(mixture):
        return upper
    lower = cdf(mixture, x - 1)
    return np.asarray(lower + np.random.default_rng(random_state).random(len(x)) * (upper - lower))


def kolmogorov_smirnov(values: ArrayLike) -> float:
    """Returns the largest distance between the distribution of PIT values and the uniform one.

    Parameters
    ----------
    values : array (n,)
        Values of `pit`.

    Returns
    -------
    float
        The distance.

    Examples
    --------
    >>> kolmogorov_smirnov([0.25, 0.75])
    0.25
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


@dataclass(frozen=True)
class QuantilePairs:
    """Quantiles of the data beside those of the mixture: on the diagonal where the mixture fits.

    Attributes
    ----------
    probabilities : array (m,)
        The probabilities of the quantiles.
    data : array (m,)
        The quantiles of the data.
    model : array (m,)
        Those of the mixture.
    """

    probabilities: Array
    data: Array
    model: Array


def quantile_pairs(model: Any, X: ArrayLike, n_points: int = 99) -> QuantilePairs:
    """Returns quantiles of the data and of the mixture at evenly spaced probabilities, for a QQ plot.

    Parameters
    ----------
    model : fitted estimator or Mixture
        A mixture of one column.
    X : array (n, 1)
        The rows.
    n_points : int, default=99
        The number of probabilities.

    Returns
    -------
    QuantilePairs
        The quantiles of the data and of the mixture.

    Examples
    --------
    >>> from kmle import Mixture
    >>> X = [[0.1], [0.5], [0.9], [2.0]]
    >>> quantile_pairs(Mixture.from_source("exponential", [1.0], rate=[1.0]), X, 1).model.round(4)
    array([0.6931])
    """
    whole_number("n_points", n_points, 1)
    mixture, X = mixture_and_data(model, X)
    x = column_of(mixture, X)
    probabilities = np.arange(1, n_points + 1) / (n_points + 1)
    data = np.quantile(x, probabilities, method="inverted_cdf" if is_discrete(mixture) else "linear")
    return QuantilePairs(probabilities, data, quantiles(mixture, probabilities, x))
