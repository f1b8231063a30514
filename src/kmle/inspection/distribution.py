"""Distribution functions of univariate mixtures, for fitted estimators too."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..mixture import Mixture
from ..numerics.arrays import Array
from ..queries import distribution
from .rows import mixture_of


def is_discrete(mixture: Mixture) -> bool:
    """Whether the data is whole numbers."""
    return distribution.is_discrete(mixture.family)


def cdf(model: Any, x: ArrayLike) -> Array:
    """Returns P(X <= x) under a mixture of one column.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.
    x : array (n,)
        The numbers.

    Returns
    -------
    array (n,)
        The probabilities.

    Examples
    --------
    >>> cdf(Mixture.from_source("exponential", [0.5, 0.5], rate=[1.0, 2.0]), [0.0, np.log(2)])
    array([0.   , 0.625])
    """
    mixture = mixture_of(model)
    points = np.asarray(x, dtype=float).reshape(-1)
    return distribution.component_cdf(mixture.family, mixture.natural, points) @ mixture.weights


def quantiles(model: Any, probabilities: ArrayLike, around: ArrayLike) -> Array:
    """Returns the quantiles of a mixture of one column.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.
    probabilities : array (m,)
        The probabilities.
    around : array
        Numbers near which the quantiles are searched, such as the data.

    Returns
    -------
    array (m,)
        The quantiles.

    Examples
    --------
    >>> quantiles(Mixture.from_source("exponential", [1.0], rate=[1.0]), [0.5], [0.1, 3.0]).round(6)
    array([0.693147])
    """
    mixture = mixture_of(model)
    p = np.asarray(probabilities, dtype=float)
    ends = float(np.min(around)), float(np.max(around))
    return distribution.quantile(mixture.family, mixture.weights, mixture.natural, p, ends)
