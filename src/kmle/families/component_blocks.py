"""The parts of a mixture's families: which component is of which family, where its parameters stand, and how rows are
centered for all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary
from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .measures import check_one_measure
from .numeric_divergences import NumericDivergences
from .parameterless import Parameterless
from .resolution import Resolution
from .support import AnyOf, Support, without_outside
from .units import Unit


@dataclass(frozen=True)
class ComponentBlocks(NumericDivergences):
    """Blocks of natural parameters and statistics, one for each of the different families."""

    families: tuple[ExponentialFamily, ...]

    def __post_init__(self) -> None:
        if not self.families:
            raise ValueError("a mixture needs at least one component: name at least one family")
        for family in self.families:
            if isinstance(family, ComponentBlocks):
                raise ValueError("components cannot themselves be mixtures: name one family for each")
            if family.joint:
                raise ValueError(
                    f"{family.name} estimates its components together and cannot be one of several families: "
                    "use 'gaussian', or this family alone"
                )
        check_one_measure(self.families)
        for kind in self.kinds:
            if isinstance(kind, Parameterless) and self.families.count(kind) > 1:
                raise ValueError(f"{kind.name} has no parameters, so two components of it are the same: name it once")
        widths = {family.n_features for family in self.families} - {None}
        if len(widths) > 1:
            raise ValueError(f"the families of the components have different numbers of columns: {sorted(widths)}")  # type: ignore[type-var]
        if widths:
            width = widths.pop()
            if self.n_features not in (None, width):
                raise ValueError(f"the components have {width} columns, n_features is {self.n_features}")
            object.__setattr__(self, "n_features", width)
            object.__setattr__(self, "families", tuple(replace(f, n_features=width) for f in self.families))
        super().__post_init__()

    # The components -------------------------------------------------------------------------------------------------

    @property
    def joint(self) -> bool:
        return True

    @property
    def exponential(self) -> bool:
        return all(kind.exponential for kind in self.kinds)

    @property
    def has_places(self) -> bool:
        return True

    @property
    def takes_missing(self) -> bool:
        return all(kind.takes_missing for kind in self.kinds)

    def units(self) -> tuple[Unit, ...]:
        # Those of all kinds, which have the same columns.
        places = zip(self.kinds, self._places, strict=True)
        return tuple(unit.moved(0, place.start) for kind, place in places for unit in kind.units())

    @cached_property
    def kinds(self) -> tuple[ExponentialFamily, ...]:
        """The different families, in the order of their first components."""
        return tuple(dict.fromkeys(self.families))

    @cached_property
    def pattern(self) -> NDArray[np.intp]:
        """The kind of each component, by its place among the kinds (k,)."""
        return np.array([self.kinds.index(family) for family in self.families], dtype=np.intp)

    @property
    def name(self) -> str:
        runs = [(name, len(list(run))) for name, run in groupby(family.name for family in self.families)]
        return ",".join(name if count == 1 else f"{name}*{count}" for name, count in runs)

    @property
    def support(self) -> Support:
        supports = tuple(dict.fromkeys(kind.support for kind in self.kinds))
        return supports[0] if len(supports) == 1 else AnyOf(supports)

    @property
    def kind_names(self) -> tuple[str, ...]:
        """The name of each kind, as it prefixes its parameters."""
        names = [kind.name.replace("-", "_") for kind in self.kinds]
        return tuple(
            name if names.count(name) == 1 else f"{name}_{names[: place + 1].count(name)}"
            for place, name in enumerate(names)
        )

    @property
    def parameters(self) -> Mapping[str, Support]:
        return {
            f"{prefix}_{name}": domain
            for prefix, kind in zip(self.kind_names, self.kinds, strict=True)
            for name, domain in kind.parameters.items()
        }

    def kind_of(self, natural: Array) -> NDArray[np.intp]:
        """Returns the kind of each component.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters.

        Returns
        -------
        array (...,) of int
            The places of their families among `kinds`.
        """
        return np.asarray(np.argmax(natural[..., -len(self.kinds) :], axis=-1))

    def members(self, natural: Array) -> list[tuple[ExponentialFamily, Array]]:
        """Returns each component in its own family.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        list of tuple
            The family and the natural parameters (D_g,) of each component.
        """
        places = self._places
        return [(self.kinds[g], theta[places[g]]) for g, theta in zip(self.kind_of(natural), natural, strict=True)]

    def member_of(self, natural: Array) -> tuple[ExponentialFamily, Array]:
        return self.members(natural[None])[0]

    def family_of(self, natural: Array) -> tuple[ExponentialFamily, Array]:
        family, theta = self.member_of(natural)
        return family.family_of(theta) if isinstance(family, NumericDivergences) else (family, theta)

    def natural_of(self, members: Sequence[tuple[ExponentialFamily, Array]]) -> Array:
        """Returns the natural parameters of components of these families: the inverse of `members`.

        Parameters
        ----------
        members : sequence of tuple
            The family and the natural parameters (D_g,) of each component.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        natural = np.zeros((len(members), self.n_statistics))
        first = natural.shape[1] - len(self.kinds)
        for row, (family, theta) in zip(natural, members, strict=True):
            kind = self._kind_like(family)
            row[self._places[kind]] = theta
            row[first + kind] = 1.0
        return natural

    def _kind_like(self, family: ExponentialFamily) -> int:
        """The kind that a family is, or the one without parameters of its type: noise over another box."""
        if family in self.kinds:
            return self.kinds.index(family)
        alike = [place for place, kind in enumerate(self.kinds) if type(kind) is type(family)]
        if len(alike) != 1 or not isinstance(family, Parameterless):
            raise ValueError(f"{self.name} has no component of the family {family}")
        return alike[0]

    def block(self, kind: int) -> slice:
        """Returns where the parameters of a kind stand among all.

        Parameters
        ----------
        kind : int
            The place of the family among `kinds`.

        Returns
        -------
        slice
            The places.
        """
        return self._places[kind]

    # Blocks ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _places(self) -> list[slice]:
        ends = np.cumsum([0, *(kind.n_statistics for kind in self.kinds)])
        return [slice(int(first), int(last)) for first, last in pairwise(ends)]

    def _of_own(self, function: Callable[[int, Array], Array], parameter: Array, kinds: NDArray[np.intp]) -> Array:
        """Natural parameters of the same shape: for each kind, those of its components from a block (m, D_g)."""
        natural = np.zeros(parameter.shape)
        for g, place in enumerate(self._places):
            own = kinds == g
            if own.any():
                rows = natural[own]
                rows[:, place] = function(g, parameter[own][:, place])
                rows[:, parameter.shape[-1] - len(self.kinds) + g] = 1.0
                natural[own] = rows
        return natural

    def _values_of_own(self, function: Callable[[int, Array], Array], natural: Array) -> Array:
        """One number (...) for each component, from the block of its kind."""
        kinds = self.kind_of(natural)
        values = np.zeros(kinds.shape)
        for g, place in enumerate(self._places):
            own = kinds == g
            if own.any():
                values[own] = function(g, natural[own][:, place])
        return values

    def n_statistics_for(self, n_features: int) -> int:
        return sum(kind.n_statistics_for(n_features) for kind in self.kinds) + len(self.kinds)

    def n_parameters_for(self, n_components: int) -> int:
        if n_components != len(self.families):
            raise ValueError(f"{self.name} has {len(self.families)} components, not {n_components}")
        return sum(kind.n_parameters_for(self.families.count(kind)) for kind in self.kinds)

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        return {"families": tuple(family.for_data(X) for family in self.families), "n_features": X.shape[1]}

    def merge(self, other: Self) -> Self:
        families = tuple(mine.merge(theirs) for mine, theirs in zip(self.families, other.families, strict=True))
        return replace(self, families=families)

    # Centring -------------------------------------------------------------------------------------------------------
    #
    # Kinds that can be measured from a point share one. Rows seen from it are the given ones, followed by what each
    # kind sees of them.

    @cached_property
    def _centered_kinds(self) -> tuple[bool, ...]:
        return tuple(
            not kind.has_carrier and kind.kernel_shift(np.zeros(self.n_features or 1)) is not None
            for kind in self.kinds
        )

    def _views(self, X: Array) -> list[Array]:
        """The given rows, and what each kind sees of them."""
        width = self.n_features or 1
        if X.shape[1] == width:
            return [X] * (1 + len(self.kinds))
        return np.split(X, 1 + len(self.kinds), axis=1)

    def _spreads(self, spread: Array) -> list[Array]:
        return np.split(spread, len(self.kinds))

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        for kind, centered in zip(self.kinds, self._centered_kinds, strict=True):
            if centered:
                return kind.data_center(X, weights, summary)
        return None

    def centered_rows(self, X: Array, center: Array) -> Array:
        kinds = zip(self.kinds, self._centered_kinds, strict=True)
        return np.concatenate([X, *(kind.centered_rows(X, center) if c else X for kind, c in kinds)], axis=1)

    def _at(self, function: Callable[[ExponentialFamily, Array], Array], natural: Array) -> Array:
        """Natural parameters with a function applied to the blocks of the kinds that are measured from a center."""

        def own(g: int, theta: Array) -> Array:
            return function(self.kinds[g], theta) if self._centered_kinds[g] else theta

        return self._of_own(own, natural, self.kind_of(natural))

    def resolvable(self, natural: Array, center: Array) -> Array:
        return self._at(lambda kind, theta: kind.resolvable(theta, center), natural)

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        return self._at(lambda kind, theta: kind.natural_at_center(theta, center), natural)

    def shifted(self, natural: Array, offset: Array) -> Array:
        shape = np.broadcast_shapes(natural.shape[:-1], offset.shape[:-1])
        natural = np.broadcast_to(natural, (*shape, natural.shape[-1]))
        offset = np.broadcast_to(offset, (*shape, offset.shape[-1]))
        kinds, moved = self.kind_of(natural), natural.copy()
        for g, (kind, place) in enumerate(zip(self.kinds, self._places, strict=True)):
            own = kinds == g
            if own.any() and self._centered_kinds[g]:
                rows = moved[own]
                rows[:, place] = kind.shifted(rows[:, place], offset[own])
                moved[own] = rows
        return moved

    def locations(self, natural: Array) -> Array | None:
        # Components without a location of their own lie where the others do on average.
        if not any(self._centered_kinds):
            return None
        kinds = self.kind_of(natural)
        places = np.full((*kinds.shape, self.n_features or 1), np.nan)
        for g, (kind, place) in enumerate(zip(self.kinds, self._places, strict=True)):
            own = kinds == g
            if own.any() and self._centered_kinds[g]:
                places[own] = kind.locations(natural[own][:, place])
        known = np.asarray(np.isfinite(places).all(axis=-1))
        if not known.any():
            return None
        return np.where(known[..., None], places, places[known].mean(axis=0))

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array | None:
        # Those of all kinds one after the other, zeros for kinds without a scale.
        parts = [
            kind.smallest_spread(resolution, center if centered else None)
            for kind, centered in zip(self.kinds, self._centered_kinds, strict=True)
        ]
        if all(part is None for part in parts):
            return None
        return np.concatenate([np.zeros(self.n_features or 1) if part is None else part for part in parts])

    def has_spread(self, natural: Array, spread: Array | None) -> NDArray[np.bool_]:
        if spread is None:
            return np.ones(natural.shape[:-1], dtype=bool)
        spreads = self._spreads(spread)
        wide = self._values_of_own(lambda g, theta: self.kinds[g].has_spread(theta, spreads[g]).astype(float), natural)
        return np.asarray(wide == 1)

    def score_sizes(self, largest: Array) -> Array:
        return without_outside(largest)
