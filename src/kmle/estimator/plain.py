"""The estimators without scikit-learn, for rows that are a table of floats already; nothing but learning is checked."""

from numpy.typing import ArrayLike

from ..families import ExponentialFamily
from ..families.checking import as_rows
from ..numerics.arrays import Array
from .hard import HardEstimator
from .shared import MixtureEstimator
from .soft import SoftEstimator


class _PlainTable(MixtureEstimator):
    def _table(self, X: ArrayLike, family: ExponentialFamily, reset: bool) -> Array:
        return as_rows(family, X)


class PlainKMLE(_PlainTable, HardEstimator):
    """`KMLE` that learns from an array.

    >>> PlainKMLE(2, family="poisson", random_state=0).fit([[1.0], [2.0], [30.0]]).mixture_.n_components
    2
    """


class PlainMixture(_PlainTable, SoftEstimator):
    """`ExponentialFamilyMixture` that learns from an array.

    >>> PlainMixture(2, family="poisson", random_state=0).fit([[1.0], [2.0], [30.0]]).mixture_.n_components
    2
    """
