"""Rows with missing entries, for families whose columns are independent: the likelihood of what was observed.

With m_u = 1 where unit u of the columns is observed and 0 where it is missing (NaN), the log-density of the observed
entries is sum_u m_u (<t_u(x), theta_u> - F_u(theta_u) + k_u(x)). That is an inner product again: the statistic is
extended by the m_u of the units that have holes, the natural parameter by their -F_u. So every kernel, engine, seeding
and search serves such rows unchanged, and nothing is filled in. A unit's moment is the sum of its statistics divided
by its own count. Entries are taken to be missing at random (Rubin, 1976; Little and Rubin, 2019).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary
from ..numerics.arrays import Array
from .contract import FamilyContract
from .derived import ExponentialFamily
from .resolution import Resolution
from .support import REALS, Support
from .units import Unit, unit_normalizers


@dataclass(frozen=True)
class Incomplete(ExponentialFamily):
    """A family of independent units of columns; the units at the places `holes` may be missing.

    Rows hold NaN in all columns of a missing unit. Natural parameters are those of the family, then -F_u of the units
    with holes; moments are sums of their statistics over all rows, then the share of rows that have them.
    """

    complete: ExponentialFamily
    holes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_features", self.complete.n_features)
        super().__post_init__()

    # Declared -------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.complete.name

    @property
    def support(self) -> Support:
        return self.complete.support

    @property
    def parameters(self) -> Mapping[str, Support]:
        return self.complete.parameters

    @property
    def has_carrier(self) -> bool:
        return self.complete.has_carrier

    @property
    def redundancy(self) -> int:
        return self.complete.redundancy + len(self.holes)

    @property
    def takes_missing(self) -> bool:
        return True

    def n_statistics_for(self, n_features: int) -> int:
        return self.complete.n_statistics_for(n_features) + len(self.holes)

    # Units ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _units(self) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
        """Those with holes, and the others."""
        units, holes = self.complete.units(), set(self.holes)
        others = tuple(unit for place, unit in enumerate(units) if place not in holes)
        return tuple(units[place] for place in self.holes), others

    @cached_property
    def _share_of(self) -> NDArray[np.intp]:
        """For each statistic the place of its unit's share, one behind the last for units without holes."""
        places = np.full(self.complete.n_statistics, len(self.holes))
        for place, unit in enumerate(self._units[0]):
            places[list(unit.statistics)] = place
        return places

    def _observed(self, X: Array) -> Array:
        """Which units with holes each row has (n, u), as numbers."""
        first = [unit.columns[0] for unit in self._units[0]]
        return (~np.isnan(X[..., first])).astype(float)

    def _spread(self, shares: Array) -> Array:
        """Numbers of the units with holes (..., u) at all of their statistics (..., D), one elsewhere."""
        return np.concatenate([shares, np.ones((*shares.shape[:-1], 1))], axis=-1)[..., self._share_of]

    def _filled(self, X: Array, center: Array | None = None) -> Array:
        """Rows with a legal value wherever one is missing."""
        return np.where(np.isnan(X), self._stand_in(center), X)

    def _stand_in(self, center: Array | None = None) -> Array:
        """A legal row; in real columns it is the center, where carriers are small."""
        example = self.support.example(self.n_features or 1)
        if center is not None:
            for unit in self._units[0]:
                if unit.family.support == REALS:
                    example[list(unit.columns)] = center[list(unit.columns)]
        return example

    def _split(self, parameter: Array) -> tuple[Array, Array]:
        n = self.complete.n_statistics
        return parameter[..., :n], parameter[..., n:]

    # The formulas ---------------------------------------------------------------------------------------------------

    def sufficient_statistic(self, X: Array) -> Array:
        observed = self._observed(X)
        statistic = self.complete.sufficient_statistic(self._filled(X))
        return np.concatenate([statistic * self._spread(observed), observed], axis=-1)

    def log_carrier(self, X: Array) -> Array:
        return self._log_carrier(X, None)

    def log_carrier_from(self, X: Array, center: Array) -> Array:
        return self._log_carrier(X, center)

    def _log_carrier(self, X: Array, center: Array | None) -> Array:
        filled, missing = self._filled(X, center), 1.0 - self._observed(X)
        family, stand_in = self.complete, self._stand_in(center)
        carrier = family.log_carrier(filled) if center is None else family.log_carrier_from(filled, center)
        for place, unit in enumerate(self._units[0]):
            columns = list(unit.columns)
            row, own = stand_in[None, columns], unit.family
            k = own.log_carrier(row) if center is None else own.log_carrier_from(row, center[columns])
            carrier = carrier - missing[:, place] * k
        return carrier

    def mean_log_carrier(self, natural: Array) -> Array:
        return self.complete.mean_log_carrier(self._split(natural)[0])

    def log_normalizer(self, natural: Array) -> Array:
        """F of the units that have no holes; NaN where another one has none."""
        legal = np.isfinite(self._split(natural)[1]).all(axis=-1)
        return np.where(legal, unit_normalizers(self._units[1], natural).sum(axis=-1), np.nan)

    def moment_from_natural(self, natural: Array) -> Array:
        """Those of rows without a missing entry."""
        plain, ends = self._split(natural)
        return np.concatenate([self.complete.moment_from_natural(plain), np.ones_like(ends)], axis=-1)

    def natural_from_moment(self, moment: Array) -> Array:
        return self._extended(self.complete.natural_from_moment(self._means(moment)))

    def _means(self, moment: Array) -> Array:
        """The mean of each statistic over the rows that have it."""
        sums, shares = self._split(moment)
        return sums / self._spread(shares)

    def natural_from_source(self, **source: Array) -> Array:
        return self._extended(self.complete.natural_from_source(**source))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return self.complete.source_from_natural(self._split(natural)[0])

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.complete.sample(self._split(natural)[0], size, rng)

    def direct_log_density(self, X: Array, natural: Array) -> Array | None:
        if self.complete.direct_log_density(self._filled(X[:1]), self._split(natural)[0]) is None:
            return None
        filled, density = self._filled(X), np.zeros((len(X), len(natural)))
        holes, others = self._units
        for unit in (*holes, *others):
            columns = list(unit.columns)
            own = unit.family.log_density(filled[:, columns], natural[:, list(unit.statistics)])
            own[np.isnan(X[:, columns[0]])] = 0.0
            density += own
        return density

    # Extended parameters --------------------------------------------------------------------------------------------

    def _extended(self, natural: Array) -> Array:
        return np.concatenate([natural, -unit_normalizers(self._units[0], natural)], axis=-1)

    def consistent(self, natural: Array) -> Array:
        with np.errstate(all="ignore"):
            return self._extended(self._split(natural)[0])

    def for_components(self, natural: Array) -> tuple[FamilyContract, Array]:
        return self.complete, self._split(natural)[0]

    def from_components(self, other: FamilyContract, natural: Array) -> Array:
        return self._extended(natural)

    def completed(self, moment: Array, otherwise: Array) -> Array:
        unseen = self._split(moment)[1] <= 0
        if not unseen.any():
            return moment
        seen = np.concatenate([self._spread(np.where(unseen, 0.0, 1.0)), np.where(unseen, 0.0, 1.0)], axis=-1)
        return np.where(seen > 0, moment, otherwise)

    def prior_moment(self, mean_statistic: Array) -> Array:
        """That of a row without a missing entry that has the mean of every statistic."""
        return np.concatenate([self._means(mean_statistic), np.ones(len(self.holes))])

    # Narrow components ----------------------------------------------------------------------------------------------

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array | None:
        return self.complete.smallest_spread(resolution, center)

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        return self._extended(self.complete.natural_with_spread(self._means(moment), spread))

    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        return self.complete.has_spread(self._split(natural)[0], spread)

    # Centers --------------------------------------------------------------------------------------------------------

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        return self.complete.data_center(X, weights, summary)

    def centered_rows(self, X: Array, center: Array) -> Array:
        return self.complete.centered_rows(X, center)

    def centered_spread(self, spread: Array, center: Array) -> Array:
        return self.complete.centered_spread(spread, center)

    def resolvable(self, natural: Array, center: Array) -> Array:
        plain = self._split(natural)[0]
        wide = self.complete.resolvable(plain, center)
        return natural if wide is plain else self._extended(wide)

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        return self._extended(self.complete.natural_at_center(self._split(natural)[0], center))

    def locations(self, natural: Array) -> Array | None:
        return self.complete.locations(self._split(natural)[0])

    def shifted(self, natural: Array, offset: Array) -> Array:
        return self._extended(self.complete.shifted(self._split(natural)[0], offset))

    def log_volume(self, center: Array) -> Array:
        return self.complete.log_volume(center)
