"""Failures before a known number of successes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, log_poisson
from .derived import ExponentialFamily
from .poisson import draw_counts
from .shapes import as_columns, over_columns
from .sparse import row_sums
from .support import COUNTS, POSITIVE, Interval

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# A mean of zero (all counts zero) stands for this: finite in every product, zero to twelve digits.
SMALLEST_MEAN = 1e-12
# Means up to about this are drawn by NumPy.
SMALL_ENOUGH = 1e15


@dataclass(frozen=True)
class NegativeBinomial(ExponentialFamily):
    """Overdispersed counts: failures before the `successes`-th success, each try succeeding with `probability`.

    The number of successes is a fixed parameter and may be any positive number.

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

    def n_statistics_for(self, n_features: int) -> int:
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
        probability = as_columns(probability)
        return np.log1p(-np.where(probability == 1, 1 - SMALLEST_MEAN, probability))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"probability": -np.expm1(natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        terms = self.log_normalizer(natural) - (natural * self.moment_from_natural(natural)).sum(axis=-1)
        return np.asarray(terms - self.direct_entropy(natural))

    def direct_entropy(self, natural: Array) -> Array:
        return self.integrate_entropy(natural)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        """Packed statistics, but for rows with counts so large that these would cancel."""
        density = self.packed_log_density(X, natural)
        large = (X > LARGE).any(axis=-1) | (self.successes > LARGE)
        if large.any():
            density[large] = over_columns(self._log_density, X[large], -np.expm1(natural), np.exp(natural))
        return density

    def _log_density(self, x: Array, success: Array, failure: Array) -> Array:
        """Poisson probabilities of both kinds of tries given their number, the last try being a success."""
        r, tries = self.successes, self.successes + x
        given = log_poisson(np.array(r), tries * success) + log_poisson(x, tries * failure) - log_poisson(tries, tries)
        return np.log(r / tries) + given

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        success = -np.expm1(natural)
        if self.successes < SMALL_ENOUGH * success.min():
            return rng.negative_binomial(self.successes, success, (size, natural.size)).astype(float)
        # Poisson draws at gamma rates: NumPy's own stop at means of 1e18.
        return draw_counts(rng.gamma(self.successes, np.exp(natural) / success, (size, natural.size)), rng)

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        return row_sums(X, lambda x: self.log_carrier(x[:, np.newaxis]))  # that of zero is zero
