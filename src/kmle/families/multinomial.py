"""Rows of counts over categories."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, log_poisson
from ..numerics.special import log_factorial, log_sum_exp
from .binomial import Binomial
from .categorical import log_probabilities, log_proportions
from .derived import ExponentialFamily
from .shapes import over_columns
from .sparse import row_sums
from .support import CountVectors, Integers, Simplex, Support

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Multinomial(ExponentialFamily):
    """Rows of counts over K categories, such as words of a document; the distribution is that of the counts given their
    total.

    `trials` is the total of every row, read off the data when all rows agree and None when they differ. The natural
    parameter is the logarithm of the `probabilities`, normalised, so <t, theta> is the whole log-likelihood of a row
    whatever its total; a moment means the same distribution at any scale. A category never seen keeps a probability of
    1e-12.

    Parameters
    ----------
    trials : int, default=None
        The total of every row; by default rows may have different totals.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Multinomial().mle([[1, 3], [6, 2]]).source["probabilities"].round(4)
    array([[0.5833, 0.4167]])
    """

    trials: int | None = None

    name: ClassVar = "multinomial"
    sparse: ClassVar = True
    parameters: ClassVar = {"probabilities": Simplex(closed=True)}
    fixed: ClassVar = {"trials": Integers(1)}

    @property
    def support(self) -> Support:
        return CountVectors(self.trials)

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        fixed = super().fixed_from_data(X)
        totals = X.sum(axis=1, dtype=float)
        if self.trials is None and totals[0] >= 1 and totals[0] == np.floor(totals[0]) and np.ptp(totals) == 0:
            fixed["trials"] = int(totals[0])
        return fixed

    def merge(self, other: Self) -> Self:
        return self if self.trials == other.trials else replace(self, trials=None)

    @property
    def redundancy(self) -> int:
        return 1

    @property
    def _total(self) -> int:
        """The total moments refer to: that of the rows, or a single draw when rows differ."""
        return 1 if self.trials is None else self.trials

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        return log_factorial(X.sum(axis=-1)) - log_factorial(X).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        return self._total * log_sum_exp(natural)

    def moment_from_natural(self, natural: Array) -> Array:
        return self._total * scipy.special.softmax(natural, axis=-1)

    def natural_from_moment(self, moment: Array) -> Array:
        return log_proportions(moment)

    def natural_from_source(self, *, probabilities: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        probabilities : array (k, d)
            The probabilities of the categories.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return log_probabilities(np.atleast_2d(probabilities))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"probabilities": scipy.special.softmax(natural, axis=-1)}

    def mean_log_carrier(self, natural: Array) -> Array:
        terms = self.log_normalizer(natural) - (natural * self.moment_from_natural(natural)).sum(axis=-1)
        return np.asarray(terms - self.direct_entropy(natural))

    def direct_entropy(self, natural: Array) -> Array:
        # A product of Poisson probabilities given the total, each count being binomial.
        total, proportions = float(self._total), scipy.special.softmax(natural, axis=-1)
        one = Binomial(self._total, n_features=1)
        means = np.empty(natural.shape)
        # Distribution by distribution and category by category, each with its own nodes.
        for index in np.ndindex(means.shape):
            theta = one.natural_from_moment(total * proportions[index].reshape(1))
            x, weight = one.nodes(theta)
            p = weight * np.exp(one.direct_log_density(x[:, None], theta[None])[:, 0])
            means[index] = p @ log_poisson(x, total * proportions[index]) / p.sum()
        return np.asarray(log_poisson(np.array(total), np.array(total)) - means.sum(axis=-1))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, but for rows with counts so large that these would cancel.
        density = self.packed_log_density(X, natural)
        total = X.sum(axis=-1, keepdims=True)
        large = total[:, 0] > LARGE
        if large.any():
            whole, proportions = total[large], scipy.special.softmax(natural, axis=-1)
            parts = over_columns(lambda x, p: log_poisson(x, whole * p), X[large], proportions)
            density[large] = parts - log_poisson(whole, whole)
        return density

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        if self.trials is None:
            raise ValueError(
                "these rows had different totals: sample from a Multinomial with `trials` set to one total"
            )
        return rng.multinomial(self.trials, scipy.special.softmax(natural), size).astype(float)

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        return scipy.special.gammaln(row_sums(X, lambda x: x) + 1) - row_sums(X, log_factorial)
