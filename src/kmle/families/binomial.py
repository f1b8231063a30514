"""Successes out of a known number of trials."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, log_poisson
from ..numerics.special import log_factorial
from .bernoulli import SMALLEST_PROBABILITY, logit
from .derived import ExponentialFamily
from .shapes import as_columns, over_columns
from .sparse import row_sums
from .support import UNIT_CLOSED, Integers, Support

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Binomial(ExponentialFamily):
    """Successes in `trials` tries: each column x in {0, ..., trials} has probability C(trials, x) p^x (1-p)^(trials-x).

    Parameters
    ----------
    trials : int
        The number of tries.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Binomial(trials=10).mle([[2], [4]])
    binomial(probability=0.3)
    """

    trials: int

    name: ClassVar = "binomial"
    independent_columns: ClassVar = True
    sparse: ClassVar = True
    parameters: ClassVar = {"probability": UNIT_CLOSED}
    fixed: ClassVar = {"trials": Integers(1)}

    @property
    def support(self) -> Support:
        return Integers(0, self.trials)

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        return (scipy.special.gammaln(self.trials + 1) - log_factorial(X) - log_factorial(self.trials - X)).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        return self.trials * np.logaddexp(0, natural).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        return self.trials * scipy.special.expit(natural)

    def natural_from_moment(self, moment: Array) -> Array:
        return scipy.special.logit(np.clip(moment / self.trials, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))

    def natural_from_source(self, *, probability: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        probability : array (k, d) or (k,)
            The chance of success in each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return logit(as_columns(probability))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"probability": scipy.special.expit(natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        terms = self.log_normalizer(natural) - (natural * self.moment_from_natural(natural)).sum(axis=-1)
        return np.asarray(terms - self.direct_entropy(natural))

    def direct_entropy(self, natural: Array) -> Array:
        return self.integrate_entropy(natural)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, unless these would cancel, as they do for large numbers of trials.
        if self.trials <= LARGE:
            return self.packed_log_density(X, natural)
        means = self.trials * scipy.special.expit(natural), self.trials * scipy.special.expit(-natural)
        return over_columns(self._log_density, X, *means)

    def _log_density(self, x: Array, successes: Array, failures: Array) -> Array:
        """From the expected numbers of both: a product of Poisson probabilities, given their total."""
        whole = log_poisson(np.array(self.trials), np.array(self.trials))
        return log_poisson(x, successes) + log_poisson(self.trials - x, failures) - whole

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return rng.binomial(self.trials, scipy.special.expit(natural), (size, natural.size)).astype(float)

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        return row_sums(X, lambda x: self.log_carrier(x[:, np.newaxis]))  # that of zero is zero
