"""Failures before a known number of successes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from .base import ExponentialFamily
from .shapes import as_columns
from .sparse import row_sums
from .support import COUNTS, POSITIVE, Interval

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# A mean of zero (all counts zero) stands for this: finite in every product, zero to twelve digits.
SMALLEST_MEAN = 1e-12


@dataclass(frozen=True)
class NegativeBinomial(ExponentialFamily):
    """Overdispersed counts: failures before the `successes`-th success, each try succeeding with `probability`.

    The number of successes is a fixed fact and may be any positive number.

    >>> NegativeBinomial(successes=2.0).mle([[1], [3]])
    negative-binomial(probability=0.5)
    """

    successes: float

    name: ClassVar = "negative-binomial"
    independent_columns: ClassVar = True
    sparse: ClassVar = True
    support: ClassVar = COUNTS
    parameters: ClassVar = {"probability": Interval(0.0, 1.0, closed_lower=False)}
    fixed: ClassVar = {"successes": POSITIVE}

    def order_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        return (
            scipy.special.gammaln(X + self.successes)
            - scipy.special.gammaln(self.successes)
            - scipy.special.gammaln(X + 1)
        ).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        return -self.successes * np.log(-np.expm1(natural)).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        return self.successes / np.expm1(-natural)

    def natural_from_moment(self, moment: Array) -> Array:
        return -np.log1p(self.successes / np.maximum(moment, SMALLEST_MEAN))

    def natural_from_source(self, *, probability: Array) -> Array:
        return np.log1p(-np.minimum(as_columns(probability), 1 - SMALLEST_MEAN))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"probability": -np.expm1(natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        return self.integrate_log_carrier(natural)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return rng.negative_binomial(self.successes, -np.expm1(natural), (size, natural.size)).astype(float)

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        return row_sums(X, lambda x: self.log_carrier(x[:, np.newaxis]))  # that of zero is zero
