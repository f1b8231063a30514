"""Counts of rare events."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.special import log_factorial
from .base import ExponentialFamily
from .shapes import as_columns
from .sparse import row_sums
from .support import COUNTS, NON_NEGATIVE

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# A rate of zero is legal (all counts zero) and stands for this: finite in every product, zero to twelve digits.
SMALLEST_RATE = 1e-12


@dataclass(frozen=True)
class Poisson(ExponentialFamily):
    """Counts: each column x has log-density x log(rate) - rate - log x!.

    >>> Poisson().mle([[2], [4], [3]]).source
    {'rate': array([[3.]])}
    """

    name: ClassVar = "poisson"
    independent_columns: ClassVar = True
    support: ClassVar = COUNTS
    sparse: ClassVar = True
    parameters: ClassVar = {"rate": NON_NEGATIVE}

    def order_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        return -scipy.special.gammaln(X + 1).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        return np.exp(natural).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        return np.exp(natural)

    def natural_from_moment(self, moment: Array) -> Array:
        return np.log(np.maximum(moment, SMALLEST_RATE))

    def natural_from_source(self, *, rate: Array) -> Array:
        return self.natural_from_moment(as_columns(rate))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"rate": np.exp(natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        return self.integrate_log_carrier(natural)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return rng.poisson(np.exp(natural), (size, natural.size)).astype(float)

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        return -row_sums(X, log_factorial)
