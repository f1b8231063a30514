"""Questions to a mixture as a joint distribution: moments, distribution functions, quantiles, modes and regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..families import ComponentFamilies, StudentT
from ..families.support import Integers, Interval
from ..families.validation import as_rows
from ..numerics.arrays import Array
from ..numerics.special import log_sum_exp
from ..queries import modes, moments, regions
from ..queries.distribution import bounds, component_cdf, is_discrete, joint_cdf, quantile
from .algebra import GAUSSIANS
from .exchange import Exchange


class Queries(Exchange):
    """What a mixture answers as a joint distribution of its columns."""

    if TYPE_CHECKING:

        def sample(self, n: int, random_state: Any = None) -> Array:
            """See `Mixture`."""

    @property
    def _on_a_line(self) -> bool:
        """Whether rows are single numbers that quadrature knows."""
        return self.family.n_features == 1 and isinstance(self.family.support, Interval | Integers)

    # Moments ----------------------------------------------------------------------------------------------------------

    def _means(self) -> Array:
        return moments.means(self.family, self.natural)

    def _covariances(self) -> Array:
        return moments.covariances(self.family, self.natural)

    def mean(self) -> Array:
        """Returns the mean of the mixture.

        Returns
        -------
        array (d,)
            The mean.
        """
        return np.asarray(self.weights @ self._means())

    def covariance(self) -> Array:
        """Returns the covariance of the mixture: within components plus between their means.

        Returns
        -------
        array (d, d)
            The covariance.
        """
        offset = self._means() - self.mean()
        between = np.einsum("k,ki,kj->ij", self.weights, offset, offset)
        return np.einsum("k,kij->ij", self.weights, self._covariances()) + between

    def expectation(
        self, function: Callable[[Array], ArrayLike], n_draws: int = 100_000, random_state: Any = None
    ) -> Any:
        """Returns E[function(x)]: by quadrature for one column, otherwise the mean over draws.

        Parameters
        ----------
        function : callable
            Takes rows (n, d) and returns n numbers, or n arrays.
        n_draws : int, default=100000
            The number of draws, for several columns; each component gets its share of them.
        random_state : int, Generator or None, default=None
            The seed of the draws.

        Returns
        -------
        float or array
            The expectation.

        Examples
        --------
        >>> from kmle import Mixture
        >>> float(Mixture.from_source("exponential", [1.0], rate=[2.0]).expectation(lambda x: x[:, 0] ** 2).round(6))
        0.5
        """
        if n_draws < 1:
            raise ValueError(f"n_draws is {n_draws}: at least one row must be drawn")
        rng = np.random.default_rng(random_state)
        exact = not isinstance(self.family, ComponentFamilies) and self._on_a_line
        total: Any = 0.0
        for weight, member in zip(self.weights, self.members, strict=True):
            if weight == 0:
                continue
            if exact:
                points, mass = moments.weighted_nodes(member.family, member.natural[0])
                rows = points[:, None]
            else:
                size = max(1, round(n_draws * weight))
                rows, mass = member.family.sample(member.natural[0], size, rng), np.full(size, 1 / size)
            values = np.asarray(function(rows), dtype=float)
            if values.ndim == 0 or len(values) != len(rows):
                raise ValueError(
                    f"function returned shape {values.shape} for {len(rows)} rows: return one value per row"
                )
            total = total + weight * np.tensordot(mass, values, axes=1)
        return total

    # Distribution functions -------------------------------------------------------------------------------------------

    def cdf(self, X: ArrayLike) -> Array:
        """Returns P(X_1 <= x_1, ..., X_d <= x_d).

        Parameters
        ----------
        X : array (n,) or (n, d)
            The rows; several columns must be independent or Gaussian.

        Returns
        -------
        array (n,)
            The probabilities.
        """
        rows = as_rows(self.family, X).astype(float, copy=False)
        if rows.shape[1] != self.family.n_features:
            raise ValueError(f"the mixture has {self.family.n_features} columns, X has {rows.shape[1]}")
        if np.isnan(rows).any():
            raise ValueError(
                f"row {int(np.argwhere(np.isnan(rows))[0, 0])} has a missing entry (NaN): use marginal first"
            )
        return joint_cdf(self.family, self.natural, rows) @ self.weights

    def quantile(self, probability: ArrayLike) -> Array:
        """Returns the least x with P(X <= x) >= probability, for one column.

        Parameters
        ----------
        probability : float or array
            Probabilities from zero to one.

        Returns
        -------
        array
            The quantiles.

        Examples
        --------
        >>> from kmle import Mixture
        >>> Mixture.from_source("exponential", [1.0], rate=[1.0]).quantile([0.5]).round(6)
        array([0.693147])
        """
        p = np.asarray(probability, dtype=float)
        if not np.all((p >= 0) & (p <= 1)):
            raise ValueError(f"probability is {probability!r}: it must be from 0 to 1")
        if self.family.n_features != 1:
            raise ValueError(
                f"quantiles need one column, this mixture has {self.family.n_features}: use marginal first"
            )
        spans = [regions.line_nodes(member.family, member.natural) for member in self.members]
        ends = min(float(span[0]) for span in spans), max(float(span[-1]) for span in spans)
        return quantile(self.family, self.weights, self.natural, p.ravel(), ends).reshape(p.shape)

    def mode(self) -> Array:
        """Returns the highest of the modes that are reached by climbing from the components.

        Returns
        -------
        array (d,)
            The mode.
        """
        return modes.highest_mode(self.family, self.weights, self.natural)

    # Regions ----------------------------------------------------------------------------------------------------------

    def confidence_regions(self, level: float = 0.95) -> list[regions.Ellipsoid]:
        """Returns the ellipsoid of each Gaussian or Student t component that has probability `level` under it.

        Parameters
        ----------
        level : float, default=0.95
            The probability.

        Returns
        -------
        list of Ellipsoid
            With `center`, `covariance`, `radius` and `contains`.
        """
        regions.check_level(level)
        if not isinstance(self.family, (*GAUSSIANS, StudentT)):
            raise ValueError(f"{self.family.name} components have no ellipsoids: use highest_density")
        return regions.ellipsoids(self.family, self.natural, level)

    def highest_density(
        self, level: float = 0.95, n_draws: int = 100_000, random_state: Any = None
    ) -> regions.HighestDensitySet:
        """Returns the smallest set that has probability `level`.

        Parameters
        ----------
        level : float, default=0.95
            The probability.
        n_draws : int, default=100000
            For several columns: the number of draws from which the threshold is estimated.
        random_state : int, Generator or None, default=None
            The seed of the draws.

        Returns
        -------
        HighestDensitySet
            With `log_threshold`, `contains` and, for one column, `intervals`.

        Examples
        --------
        >>> from kmle import Mixture
        >>> bells = Mixture.from_source("gaussian", [0.5, 0.5], mean=[-5.0, 5.0], covariance=[1.0, 1.0])
        >>> bells.highest_density(0.6827).intervals.round(2)
        array([[-6.,  -4.],
               [ 4.,   6.]])
        """
        regions.check_level(level)
        if isinstance(self.family, ComponentFamilies) or not self._on_a_line:
            drawn = np.sort(self.log_density(self.sample(n_draws, random_state)))
            place = int((1 - level) * len(drawn))
            return regions.HighestDensitySet(level, float(drawn[place]), 1 - place / len(drawn), None, self.log_density)
        points = regions.line_nodes(self.family, self.natural)
        if is_discrete(self.family):
            low, high = bounds(self.family)
            whole = np.unique(np.clip(np.arange(np.floor(points[0]), np.ceil(points[-1]) + 1), low, high))
            found = regions.discrete_set(whole, np.exp(self._line_density(whole)), level)
        else:
            found = regions.continuous_set(points, self._line_density, self._line_cdf, bounds(self.family), level)
        return regions.HighestDensitySet(level, found[0], found[1], found[2], self.log_density)

    def _line_density(self, x: Array) -> Array:
        """Log-densities (m,) of one column at points that need not be checked."""
        with np.errstate(all="ignore"):
            joint = modes.log_densities(self.family, self.natural, x[:, None]) + np.log(self.weights)
        return log_sum_exp(joint)

    def _line_cdf(self, x: Array) -> Array:
        # An angle of half a turn is the end here, and not the beginning.
        ends = x >= bounds(self.family)[1]
        return np.where(ends, 1.0, component_cdf(self.family, self.natural, x) @ self.weights)
