"""One conditional mixture per row: the distribution of some columns given the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..families.validation import as_rows
from ..numerics.arrays import Array
from ..numerics.special import log_sum_exp
from ..queries.conditional_forms import Conditional, mixed
from ..queries.distribution import BISECTIONS, bounds, halfway
from ..queries.regions import line_nodes
from .densities import for_posteriors

if TYPE_CHECKING:
    from .mixture import Mixture

# Rows are treated in blocks of about this many numbers, which stay in the cache.
BLOCK_NUMBERS = 1 << 18


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalMixtures:
    """The mixtures of the other columns given the known values of n rows, one mixture per row.

    Nothing is computed before it is asked for, and then block by block: beside the outcome little memory is needed.

    Examples
    --------
    >>> from kmle import Mixture
    >>> joint = Mixture.from_source("gaussian", [1.0], mean=[[0.0, 0.0]], covariance=[[[1.0, 0.5], [0.5, 1.0]]])
    >>> joint.condition({0: [1.0, 2.0]}).mean()
    array([[0.5],
           [1. ]])
    """

    given: Mixture
    """The mixture of the known columns."""
    rows: Array
    """The known values, as rows of `given`."""
    values: Array
    """The known values (n, q); NaN where a row lacks one."""
    components: Conditional
    """The components of the other columns."""
    columns: tuple[str, ...] | None = None
    """The names of the other columns."""

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        names = "" if self.columns is None else f" of {', '.join(self.columns)}"
        return f"{len(self)} conditional mixtures{names}: {self.given.n_components} {self.components.family.name} each"

    def __getitem__(self, row: int) -> Mixture:
        """The mixture of one row."""
        if not isinstance(row, int | np.integer) or not -len(self) <= row < len(self):
            raise IndexError(f"there is no row {row!r}: the rows go from 0 to {len(self) - 1}")
        at = slice(row % len(self), row % len(self) + 1)
        weights = self.given.posterior(self.rows[at])[0]
        family, natural = self.components.at(self.values[at])
        return type(self.given)(family, weights, natural, self.columns)

    @property
    def weights(self) -> Array:
        """The weights (n, k) of the components."""
        return self.given.posterior(self.rows)

    def _for_weights(self, work: Callable[[slice, Array], None], n_threads: int | None = None) -> None:
        """Calls work(rows, their weights) for blocks of rows, on several threads."""
        numbers = self.given.n_components * (self.components.family.n_features or 1)
        for_posteriors(self.given, self.rows, max(1024, BLOCK_NUMBERS // numbers), work, n_threads)

    def mean(self) -> Array:
        """Returns the means (n, r)."""
        found = np.empty((len(self), self.components.family.n_features or 1))

        def fill(at: slice, weights: Array) -> None:
            found[at] = self.components.mixed_means(self.values[at], weights)

        self._for_weights(fill)
        return found

    def std(self) -> Array:
        """Returns the standard deviations (n, r)."""
        return np.sqrt(self._moments()[1])

    def mean_and_std(self) -> tuple[Array, Array]:
        """Returns means and standard deviations (n, r), computed in one pass."""
        mean, variance = self._moments()
        return mean, np.sqrt(variance)

    def _moments(self) -> tuple[Array, Array]:
        mean, variance = np.empty((2, len(self), self.components.family.n_features or 1))

        def fill(at: slice, weights: Array) -> None:
            means = self.components.means(self.values[at])
            within = np.diagonal(self.components.covariances(self.values[at]), axis1=-2, axis2=-1)
            mean[at] = mixed(weights, means)
            variance[at] = mixed(weights, within) + mixed(weights, (means - mean[at][:, None]) ** 2)

        self._for_weights(fill)
        return mean, variance

    def covariance(self) -> Array:
        """Returns the covariances (n, r, r)."""
        width = self.components.family.n_features or 1
        found = np.empty((len(self), width, width))

        def fill(at: slice, weights: Array) -> None:
            means = self.components.means(self.values[at])
            within = self.components.covariances(self.values[at])
            flat = within.reshape(*within.shape[:2], -1)
            offset = means - mixed(weights, means)[:, None]
            found[at] = mixed(weights, flat).reshape(-1, width, width)
            found[at] += np.einsum("nki,nkj->nij", weights[:, :, None] * offset, offset)

        self._for_weights(fill)
        return found

    def cdf(self, y: ArrayLike) -> Array:
        """Returns P(Y <= y_i | row i), (n,), of the only other column."""
        self._check_one_column()
        points = np.broadcast_to(np.asarray(y, dtype=float), (len(self),))
        found = np.empty(len(self))

        def fill(at: slice, weights: Array) -> None:
            found[at] = np.einsum("nk,nk->n", weights, self.components.cdf(self.values[at])(points[at]))

        self._for_weights(fill)
        return found

    def quantile(self, probability: ArrayLike) -> Array:
        """Returns the quantiles of the only other column.

        Parameters
        ----------
        probability : float or array (m,)
            Probabilities between zero and one.

        Returns
        -------
        array (n,) or (n, m)
            The quantiles.
        """
        self._check_one_column()
        p = np.asarray(probability, dtype=float)
        if not np.all((p > 0) & (p < 1)):
            raise ValueError(f"probability is {probability!r}: it must be between 0 and 1")
        found = np.empty((len(self), p.size))

        def fill(at: slice, weights: Array) -> None:
            for place, level in enumerate(p.ravel()):
                found[at, place] = self._block_quantile(self.values[at], weights, float(level))

        self._for_weights(fill)
        return found[:, 0] if p.ndim == 0 else found

    def _block_quantile(self, values: Array, weights: Array, p: float) -> Array:
        """By bisection between the least and the largest quantile of any component."""
        cdf = self.components.cdf(values)
        lows, highs = self._brackets(values, cdf, p)
        for _ in range(BISECTIONS):
            middle = halfway(lows, highs)
            reached = np.einsum("nk,nk->n", weights, cdf(middle)) >= p
            lows, highs = np.where(reached, lows, middle), np.where(reached, middle, highs)
        return highs

    def _brackets(self, values: Array, cdf: Callable[[Array], Array], p: float) -> tuple[Array, Array]:
        """Numbers (n,) below and above the quantiles."""
        n, family = len(values), self.components.family
        least, most = bounds(family)
        natural = self.components.natural(values[:1])[0]
        around = line_nodes(family, natural)
        low, high = np.full(n, around[0] - 1.0), np.full(n, around[-1] + 1.0)
        for _ in range(1100):  # the range of floats
            outside = (cdf(low).max(axis=1) >= p) & (low > least)
            if not outside.any():
                break
            low[outside] -= 2 * (high - low)[outside]
        for _ in range(1100):
            outside = (cdf(high).min(axis=1) < p) & (high < most)
            if not outside.any():
                break
            high[outside] += 2 * (high - low)[outside]
        return np.maximum(low, least - 1.0), np.minimum(high, most)

    def _check_one_column(self) -> None:
        width = self.components.family.n_features
        if width != 1:
            raise ValueError(f"quantiles and distribution functions need one open column; there are {width}")

    def log_density(self, Y: ArrayLike) -> Array:
        """Returns the log-density (n,) of row i of Y given the known values of row i."""
        family = self.components.family
        rows = family.check(as_rows(family, Y))
        if len(rows) != len(self):
            raise ValueError(f"Y has {len(rows)} rows: give {len(self)}, one per row of known values")
        found = np.empty(len(self))

        def fill(at: slice, weights: Array) -> None:
            with np.errstate(divide="ignore"):
                found[at] = log_sum_exp(self.components.log_density(self.values[at], rows[at]) + np.log(weights))

        self._for_weights(fill)
        return found

    def sample(self, random_state: Any = None) -> Array:
        """Draws one row (n, r) from each mixture."""
        rng = np.random.default_rng(random_state)
        found = np.empty((len(self), self.components.family.n_features or 1))

        def fill(at: slice, weights: Array) -> None:
            reached = np.cumsum(weights, axis=1)
            labels = (rng.random((len(weights), 1)) * reached[:, -1:] >= reached).sum(axis=1)
            found[at] = self.components.sample(self.values[at], labels, rng)

        self._for_weights(fill, n_threads=1)  # in the order of the rows, as draws depend on it
        return found
