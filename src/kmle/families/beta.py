"""Proportions between zero and one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, dirichlet_entropy, log_poisson
from ..numerics.solvers import dirichlet_concentration
from ..numerics.special import digamma_minus_total
from .scaled_columns import ScaledColumns
from .shapes import as_columns, blocks, join, over_columns
from .support import POSITIVE, UNIT_OPEN

# However wide, a distribution keeps a single mode where its mean is one half.
SMALLEST_TOTAL = 2.0


@dataclass(frozen=True)
class Beta(ScaledColumns):
    """Proportions: each column 0 < x < 1 has density x^(alpha-1) (1-x)^(beta-1) / B(alpha, beta).

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Beta().mle([[0.2], [0.5], [0.6]]).source["alpha"].round(4)
    array([[3.3545]])
    """

    name: ClassVar = "beta"
    independent_columns: ClassVar = True
    ordered_cells: ClassVar = True
    support: ClassVar = UNIT_OPEN
    parameters: ClassVar = {"alpha": POSITIVE, "beta": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return 2 * n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return join(np.log(X), np.log1p(-X))

    def statistic_differences(self, X: Array, row: Array) -> Array:
        gap = X - row
        return join(np.log1p(gap / row), np.log1p(-gap / (1 - row)))

    def log_normalizer(self, natural: Array) -> Array:
        alpha, beta = blocks(natural + 1, 2)
        return np.where((alpha > 0) & (beta > 0), scipy.special.betaln(alpha, beta), np.inf).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        moment = digamma_minus_total(np.stack(blocks(natural + 1, 2), axis=-1))
        return join(moment[..., 0], moment[..., 1])

    def natural_from_moment(self, moment: Array) -> Array:
        concentration = dirichlet_concentration(np.stack(blocks(moment, 2), axis=-1))
        return join(concentration[..., 0], concentration[..., 1]) - 1

    def natural_from_source(self, *, alpha: Array, beta: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        alpha : array (k, d) or (k,)
            The first shape of each column, the power of x plus one.
        beta : array (k, d) or (k,)
            The second shape of each column, the power of 1 - x plus one.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return join(as_columns(alpha), as_columns(beta)) - 1

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        alpha, beta = blocks(natural + 1, 2)
        return {"alpha": alpha, "beta": beta}

    def direct_entropy(self, natural: Array) -> Array:
        alpha, beta = blocks(natural + 1, 2)
        return np.asarray(dirichlet_entropy(np.stack([alpha, beta], axis=-1)).sum(axis=-1))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, unless parameters are so large that these would cancel.
        if natural.max() <= LARGE:
            return self.packed_log_density(X, natural)
        return over_columns(_log_density, X, *blocks(natural + 1, 2))

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        alpha, beta = blocks(natural + 1, 2)
        draws = rng.beta(alpha, beta, (size, alpha.size))
        return np.clip(draws, np.nextafter(0, 1), np.nextafter(1, 0))

    def column_spread(self, natural: Array) -> Array:
        alpha, beta = blocks(natural + 1, 2)
        total = alpha + beta
        return np.sqrt(alpha / total * (beta / total) / (total + 1))

    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        alpha, beta = blocks(natural + 1, 2)
        mean = alpha / (alpha + beta)
        total = np.maximum(mean * (1 - mean) / spread**2 - 1, SMALLEST_TOTAL)
        return join(mean * total, (1 - mean) * total) - 1


def _log_density(x: Array, alpha: Array, beta: Array) -> Array:
    """A binomial probability of alpha out of alpha + beta, as a density of x."""
    total = alpha + beta
    given = log_poisson(alpha, total * x) + log_poisson(beta, total * (1 - x)) - log_poisson(total, total)
    return given + np.log(alpha) + np.log(beta / total) - np.log(x) - np.log1p(-x)
