"""Columns of different kinds: independent blocks, each of its own family."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels import Centered, ColumnSummary, side_by_side
from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .resolution import Resolution
from .support import Blocks, Support
from .units import Unit


@dataclass(frozen=True)
class Product(ExponentialFamily):
    """Mixed rows: consecutive blocks of columns, independent given the component, each with a family of its own.

    A block without `n_features` is one column wide. Parameters carry the block's name: that of its family, numbered
    from the second on when it repeats. Shapes of blocks are estimated where their families do so.

    Parameters
    ----------
    families : sequence of ExponentialFamily
        The families of the blocks of columns, in order.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> from kmle.families import Gamma, Poisson
    >>> mixed = Product((Poisson(), Gamma(n_features=2)))
    >>> mixed.for_data([[3, 0.5, 2.0]]).n_statistics
    5
    >>> list(mixed.parameters)
    ['poisson_rate', 'gamma_shape', 'gamma_scale']
    """

    families: tuple[ExponentialFamily, ...]

    name: ClassVar = "product"

    def __new__(cls, families: Sequence[ExponentialFamily] = (), *, n_features: int | None = None) -> Self:
        if cls is not Product or all(family.exponential for family in families):
            return super().__new__(cls)
        # It is made of this family.
        from .shaped_product import ShapedProduct

        return cast(Self, super().__new__(ShapedProduct))

    def __post_init__(self) -> None:
        if not self.families:
            raise ValueError("a product needs at least one family")
        blocks = tuple(replace(family, n_features=family.n_features or 1) for family in self.families)
        object.__setattr__(self, "families", blocks)
        width = sum(self.widths)
        if self.n_features not in (None, width):
            raise ValueError(f"the blocks have {width} columns, n_features is {self.n_features}")
        object.__setattr__(self, "n_features", width)
        super().__post_init__()

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of each block."""
        return tuple(family.n_features or 1 for family in self.families)

    @property
    def full_name(self) -> str:
        return " + ".join(family.full_name for family in self.families)

    @property
    def block_names(self) -> tuple[str, ...]:
        """The name of each block, as it prefixes its parameters."""
        names: list[str] = []
        for place, family in enumerate(self.families):
            stem = family.name.replace("-", "_")
            earlier = sum(other.name == family.name for other in self.families[:place])
            names.append(stem if earlier == 0 else f"{stem}_{earlier + 1}")
        return tuple(names)

    @property
    def support(self) -> Support:
        return Blocks(tuple(family.support for family in self.families), self.widths)

    @property
    def parameters(self) -> Mapping[str, Support]:
        return {
            f"{block}_{name}": domain
            for block, family in zip(self.block_names, self.families, strict=True)
            for name, domain in family.parameters.items()
        }

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        if X.shape[1] != self.n_features:
            raise ValueError(f"the blocks of this product have {self.n_features} columns; the data has {X.shape[1]}")
        columns = self._columns(X)
        return {"families": tuple(f.for_data(block) for f, block in zip(self.families, columns, strict=True))}

    def merge(self, other: Self) -> Self:
        families = tuple(mine.merge(theirs) for mine, theirs in zip(self.families, other.families, strict=True))
        return replace(self, families=families)

    @property
    def redundancy(self) -> int:
        return sum(family.redundancy for family in self.families)

    @property
    def takes_missing(self) -> bool:
        return len(self.families) > 1 or self.families[0].takes_missing

    def units(self) -> tuple[Unit, ...]:
        found: list[Unit] = []
        n_columns = n_statistics = 0
        for family in self.families:
            found += [unit.moved(n_columns, n_statistics) for unit in family.units()]
            n_columns, n_statistics = n_columns + (family.n_features or 1), n_statistics + family.n_statistics
        return tuple(found)

    def _columns(self, X: Array) -> list[Array]:
        return np.split(X, np.cumsum(self.widths)[:-1], axis=-1)

    def _slices(self, parameter: Array) -> list[Array]:
        return np.split(parameter, np.cumsum([family.n_statistics for family in self.families])[:-1], axis=-1)

    def _each(self, function: Callable[[ExponentialFamily, Array], Array], parts: list[Array]) -> list[Array]:
        return [function(family, part) for family, part in zip(self.families, parts, strict=True)]

    def n_statistics_for(self, n_features: int) -> int:
        return sum(family.n_statistics for family in self.families)

    def sufficient_statistic(self, X: Array) -> Array:
        return np.concatenate(self._each(lambda f, x: f.sufficient_statistic(x), self._columns(X)), axis=-1)

    def log_carrier(self, X: Array) -> Array:
        return np.sum(self._each(lambda f, x: f.log_carrier(x), self._columns(X)), axis=0)

    def log_carrier_from(self, X: Array, center: Array) -> Array:
        blocks = zip(self.families, self._columns(X), self._columns(center), strict=True)
        return np.sum([family.log_carrier_from(x, o) for family, x, o in blocks], axis=0)

    def log_carrier_beside_means(self, X: Array) -> Array:
        return np.sum(self._each(lambda f, x: f.log_carrier_beside_means(x), self._columns(X)), axis=0)

    def log_normalizer(self, natural: Array) -> Array:
        return np.sum(self._each(lambda f, p: f.log_normalizer(p), self._slices(natural)), axis=0)

    def moment_from_natural(self, natural: Array) -> Array:
        parts = self._each(lambda f, p: f.moment_from_natural(p), self._slices(natural))
        return np.concatenate(parts, axis=-1)

    def natural_from_moment(self, moment: Array) -> Array:
        parts = self._each(lambda f, p: f.natural_from_moment(p), self._slices(moment))
        return np.concatenate(parts, axis=-1)

    def natural_from_source(self, **source: Array) -> Array:
        parts = []
        for block, family in zip(self.block_names, self.families, strict=True):
            own = {name: source[f"{block}_{name}"] for name in family.parameters}
            parts.append(family.natural_from_source(**own))
        return np.concatenate(parts, axis=-1)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {
            f"{block}_{name}": value
            for block, family, part in zip(self.block_names, self.families, self._slices(natural), strict=True)
            for name, value in family.source_from_natural(part).items()
        }

    def mean_log_carrier(self, natural: Array) -> Array:
        return np.sum(self._each(lambda f, p: f.mean_log_carrier(p), self._slices(natural)), axis=0)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return np.concatenate(self._each(lambda f, p: f.sample(p, size, rng), self._slices(natural)), axis=-1)

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        parts = [f.data_center(block, weights) for f, block in zip(self.families, self._columns(X), strict=True)]
        if all(part is None for part in parts):
            return None
        # One number per column; blocks that need no center carry zeros, which their families never examine.
        return np.concatenate(
            [np.zeros(width) if part is None else part for part, width in zip(parts, self.widths, strict=True)]
        )

    def centered_rows(self, X: Array, center: Array) -> Array:
        blocks = zip(self.families, self._columns(X), self._columns(center), strict=True)
        return np.concatenate([family.centered_rows(x, o) for family, x, o in blocks], axis=-1)

    def resolvable(self, natural: Array, center: Array) -> Array:
        blocks = zip(self.families, self._slices(natural), self._columns(center), strict=True)
        return np.concatenate([family.resolvable(p, o) for family, p, o in blocks], axis=-1)

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        blocks = zip(self.families, self._slices(natural), self._columns(center), strict=True)
        return np.concatenate([family.natural_at_center(p, o) for family, p, o in blocks], axis=-1)

    def centered_spread(self, spread: Array, center: Array) -> Array:
        blocks = zip(self.families, self._columns(spread), self._columns(center), strict=True)
        return np.concatenate([family.centered_spread(own, o) for family, own, o in blocks])

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array | None:
        # Zeros for blocks that have no scale.
        centers = [None] * len(self.families) if center is None else self._columns(center)
        ends = np.cumsum(self.widths)
        parts = [
            family.smallest_spread(resolution.take(slice(end - width, end)), own)
            for family, own, end, width in zip(self.families, centers, ends, self.widths, strict=True)
        ]
        if all(part is None for part in parts):
            return None
        return np.concatenate(
            [np.zeros(width) if part is None else part for part, width in zip(parts, self.widths, strict=True)]
        )

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        blocks = zip(self.families, self._slices(moment), self._columns(spread), strict=True)
        return np.concatenate([family.natural_with_spread(m, s) for family, m, s in blocks], axis=-1)

    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        blocks = zip(self.families, self._slices(natural), self._columns(spread), strict=True)
        return np.asarray(np.all([family.has_spread(p, s) for family, p, s in blocks], axis=0))

    @property
    def joint(self) -> bool:
        return any(family.joint for family in self.families)

    def joint_estimate(self, counts: Array, moments: Array, before: Array | None, spread: Array | None) -> Array:
        # Block by block: those of joint families together, the others component by component.
        none: list[Array | None] = [None] * len(self.families)
        befores = none if before is None else self._slices(before)
        spreads = none if spread is None else self._columns(spread)
        parts = []
        for family, own, start, bound in zip(self.families, self._slices(moments), befores, spreads, strict=True):
            if family.joint:
                parts.append(family.joint_estimate(counts, own, start, bound))
                continue
            flat = own.reshape(-1, own.shape[-1])
            alone = family.natural_from_moment(flat) if bound is None else family.natural_with_spread(flat, bound)
            parts.append(alone.reshape(own.shape))
        return np.concatenate(parts, axis=-1)

    def n_parameters_for(self, n_components: int) -> int:
        return sum(family.n_parameters_for(n_components) for family in self.families)

    def locations(self, natural: Array) -> Array | None:
        parts = [family.locations(part) for family, part in zip(self.families, self._slices(natural), strict=True)]
        if all(part is None for part in parts):
            return None
        places = zip(parts, self.widths, strict=True)
        none = natural.shape[:-1]
        return np.concatenate([np.zeros((*none, width)) if at is None else at for at, width in places], axis=-1)

    def shifted(self, natural: Array, offset: Array) -> Array:
        blocks = zip(self.families, self._slices(natural), self._columns(offset), strict=True)
        parts = [family.shifted(part, by) for family, part, by in blocks]
        shape = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return np.concatenate([np.broadcast_to(part, (*shape, part.shape[-1])) for part in parts], axis=-1)

    def log_volume(self, center: Array) -> Array:
        return np.sum(self._each(lambda f, o: f.log_volume(o), self._columns(center)), axis=0)

    def direct_entropy(self, natural: Array) -> Array:
        return np.sum(self._each(lambda f, p: f.entropy(p), self._slices(natural)), axis=0)

    def centered_form(self, natural: Array) -> Centered | None:
        # Blocks that have no such form are linear in their statistics; None where none has it.
        pairs = list(zip(self.families, self._slices(natural), strict=True))
        forms = [family.centered_form(part) for family, part in pairs]
        if all(form is None for form in forms):
            return None
        blocks = [form or _linear_form(*pair) for form, pair in zip(forms, pairs, strict=True)]
        return side_by_side(blocks, [family.n_statistics for family in self.families])

    def statistic_differences(self, X: Array, row: Array) -> Array:
        pairs = zip(self.families, self._columns(X), self._columns(row[None]), strict=True)
        return np.hstack([family.statistic_differences(x, one[0]) for family, x, one in pairs])

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # The sum of the blocks' densities, each in its own best way.
        blocks = zip(self.families, self._columns(X), self._slices(natural), strict=True)
        return reduce(np.add, (family.log_density(x, p) for family, x, p in blocks))


def _linear_form(family: ExponentialFamily, natural: Array) -> Centered:
    """Scores <t(x), theta> - F(theta) as they are."""
    k, order = natural.shape
    none = np.zeros((k, 0))
    constant = -family.log_normalizer(natural)
    return Centered(none, none, constant, linear=natural, linear_places=tuple(range(order)))
