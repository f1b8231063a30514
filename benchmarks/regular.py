"""Regular mixtures: none of their components is on a few rows only, or within the rounding of columns."""

import numpy as np

from kmle import Mixture
from kmle.families.measures import REAL_NUMBERS, measure_of

from .competitors import Array

FEWEST_ROWS = 5.0
# A component is narrow where its standard deviation in some direction is below this many steps of the columns' grids.
NARROW = 0.4


def is_regular(mixture: Mixture, X: Array) -> bool:
    """Whether each component has a few effective rows, and spreads beyond the grid on which columns are rounded."""
    shares = mixture.posterior(X)
    counts = shares.sum(axis=0)
    if counts.min() < FEWEST_ROWS:
        return False
    measure = measure_of(mixture.family.support)
    return measure != REAL_NUMBERS or not any(_narrow(X, share) for share in shares.T)


def _narrow(X: Array, weights: Array) -> bool:
    steps = grid_steps(X)
    rounded = steps > 0
    if not rounded.any():
        return False
    columns = X[:, rounded] / steps[rounded]
    covariance = np.cov(columns.T, aweights=weights, ddof=0).reshape(columns.shape[1], -1)
    return bool(np.linalg.eigvalsh(covariance)[0] < NARROW**2)


def grid_steps(X: Array) -> Array:
    """The step of the grid each column lies on (d,); zero where most values are different ones.

    >>> grid_steps(np.array([[0.1, 0.137], [0.3, 0.285], [0.1, 0.631], [0.4, 0.732]]))
    array([0.1, 0. ])
    """
    return np.array([_step(np.unique(column), len(column)) for column in X.T])


def _step(distinct: Array, n: int) -> float:
    if len(distinct) < 2 or len(distinct) > 0.8 * n:
        return 0.0
    gaps = np.diff(distinct)
    return float(np.round(gaps.min(), 12))
