"""Families with shapes that are estimated: the contract, and what follows from it.

Given its shape a component belongs to an exponential family. A shaped family names its shapes with the bounds they are
estimated between, and says which exponential family a shape makes (`given`). The rest follows: densities, samples,
distribution functions, and estimates by the profile likelihood, which is the likelihood at the best other parameters
for each shape. Families with better formulas replace `column_log_density` and `column_estimate`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..numerics.line_search import maximize
from .coordinates import CoordinateFamily, coordinate_of, value_at
from .derived import ExponentialFamily
from .resolution import Resolution
from .shapes import as_columns

Values: TypeAlias = dict[str, Array]
"""Usual parameters (k,) of one column by name."""

# Turns of the search for several shapes, one after the other.
TURNS = 3
# A shape this close to a bound, in logarithms, stands on it.
CLOSE = 1e-3
SHARED = "shared"
# Widths may be off by so much.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Shaped(CoordinateFamily):
    """Independent columns, each with the distributions of `given` for all shapes.

    With `shared` all components have the same shape: the first of `shapes`.
    """

    shared: bool = field(default=False, kw_only=True)

    independent_columns: ClassVar = True
    takes_missing: ClassVar = True
    shapes: ClassVar[Mapping[str, tuple[float, float]]]
    """The parameters that are estimated beside those of the exponential family, and the bounds they stay between."""

    def __repr__(self) -> str:
        own = ", ".join(f"{name}={value!r}" for name, value in self.fixed_parameters().items() if value is not None)
        return f"{type(self).__name__.removeprefix('Shaped')}({own})"

    # What a shaped family writes --------------------------------------------------------------------------------------

    @abstractmethod
    def given(self, **shapes: float) -> ExponentialFamily:
        """The exponential family with these shapes, for one column."""

    # What it may write ------------------------------------------------------------------------------------------------

    def column_log_density(self, x: Array, values: Values) -> Array:
        """log-densities (n, k) of numbers (n,)."""
        density = np.empty((len(x), len(next(iter(values.values())))))
        for j in range(density.shape[1]):
            family, natural = self._given_with(values, j)
            direct = family.direct_log_density(x[:, None], natural)
            density[:, [j]] = family.packed_log_density(x[:, None], natural) if direct is None else direct
        return density

    def column_estimate(self, x: Array, shares: Array, before: Values | None, spread: float) -> Values:
        """Usual parameters (k,) for shares (n, k) of numbers (n,): see `weighted_estimate`."""
        values = self.first_values(x, shares) if before is None else before
        for _ in range(TURNS if len(self.shapes) > 1 else 1):
            for name in self.shapes:
                values = self._with_best(name, x, shares, values, spread)
        return values

    def censored_estimate(
        self, x: Array, shares: Array, above: Array, shares_above: Array, before: Values, spread: float
    ) -> Values | None:
        """Usual parameters (k,) where some values (m,) are only known to lie above numbers; None: no formula.

        A component of which no value is known keeps those from before.
        """
        return None

    def first_values(self, x: Array, shares: Array) -> Values:
        """Shapes (k,) to begin with."""
        return {name: np.full(shares.shape[1], np.clip(1.0, *bounds)) for name, bounds in self.shapes.items()}

    def profile(self, x: Array, shares: Array, values: Values, spread: float) -> tuple[Array, Values]:
        """The log-likelihood (k,) at the best other parameters for the shapes in `values`, and all parameters."""
        found = np.empty(shares.shape[1])
        estimates: Values = {name: np.array(values[name], dtype=float) for name in self.shapes}
        for j, own in enumerate(shares.T):
            family = self._one(values, j)
            natural, found[j] = _best_given(family, x, own, spread)
            for name, value in self.from_given(family, natural, {n: values[n][j] for n in self.shapes}).items():
                estimates.setdefault(name, np.empty(len(found)))[j] = value
        return found, estimates

    def to_given(self, family: ExponentialFamily, values: Mapping[str, float]) -> Array:
        """The natural parameter (1, D) in `given` of a distribution with these usual parameters."""
        others = {name: np.array([[value]]) for name, value in values.items() if name not in self.shapes}
        return family.natural_from_source(**others)

    def from_given(self, family: ExponentialFamily, natural: Array, shapes: Mapping[str, float]) -> dict[str, float]:
        """The usual parameters, but for the shapes, of a distribution (1, D) of `given`."""
        return {name: float(value.item()) for name, value in family.source_from_natural(natural).items()}

    def column_log_probability(self, lower: Array, upper: Array, values: Values) -> Array:
        """log P(lower < X < upper) (m, k) for intervals of numbers (m,)."""
        members = (self._given_with(values, j) for j in range(len(values[self.shared_name])))
        return np.concatenate([family.interval_expectations(lower, upper, theta)[0] for family, theta in members], 1)

    # What follows -----------------------------------------------------------------------------------------------------

    def _one(self, values: Values, j: int) -> ExponentialFamily:
        return replace(self.given(**{name: float(values[name][j]) for name in self.shapes}), n_features=1)

    def _given_with(self, values: Values, j: int) -> tuple[ExponentialFamily, Array]:
        family = self._one(values, j)
        return family, self.to_given(family, {name: float(value[j]) for name, value in values.items()})

    def members(self, natural: Array) -> list[list[tuple[ExponentialFamily, Array]]]:
        """The exponential family and the natural parameter (1, D) of each component and column."""
        columns = [self.column_values(natural, c) for c in range(self.n_columns(natural))]
        return [[self._given_with(values, j) for values in columns] for j in range(len(natural))]

    def family_of(self, natural: Array) -> tuple[ExponentialFamily, Array]:
        columns = self.members(natural[None])[0]
        return (columns[0][0], columns[0][1][0]) if len(columns) == 1 else (self, natural)

    def _with_best(self, name: str, x: Array, shares: Array, values: Values, spread: float) -> Values:
        """Values with the best one of a shape, and the best other parameters for it."""
        low, high = (float(coordinate_of(self.parameters[name], np.array(end))) for end in self.shapes[name])
        start = coordinate_of(self.parameters[name], np.asarray(values[name], dtype=float))
        together = self.shared and name == self.shared_name

        def found(at: Array) -> Array:
            moved = {**values, name: value_at(self.parameters[name], np.broadcast_to(at, start.shape))}
            value = self.profile(x, shares, moved, spread)[0]
            return np.atleast_1d(value.sum()) if together else value

        best = maximize(found, np.atleast_1d(start.mean()) if together else start, low, high)
        chosen = {**values, name: value_at(self.parameters[name], np.broadcast_to(best, start.shape))}
        return self.profile(x, shares, chosen, spread)[1]

    @property
    def shared_name(self) -> str:
        """The shape that components share where they share one."""
        return next(iter(self.shapes))

    def fixed_parameters(self) -> dict[str, Any]:
        return {"n_features": self.n_features, **({self.shared_name: SHARED} if self.shared else {})}

    @property
    def n_shared(self) -> int:
        return (self.n_features or 1) if self.shared else 0

    def shared_places(self) -> list[int]:
        if not self.shared:
            return []
        place, width = list(self.parameters).index(self.shared_name), self.n_features or 1
        return list(range(place * width, (place + 1) * width))

    def coordinate_units(self, natural: Array) -> Array:
        units, source = np.ones(natural.shape), self.source_from_natural(natural)
        for place, name in enumerate(self.parameters):
            if name == "location" and "scale" in source:
                units[..., place * self.n_columns(natural) : (place + 1) * self.n_columns(natural)] = source["scale"]
        return units

    def n_statistics_for(self, n_features: int) -> int:
        return len(self.parameters) * n_features

    def n_columns(self, natural: Array) -> int:
        """How many columns coordinates (..., D) are of."""
        return natural.shape[-1] // len(self.parameters)

    def column_values(self, natural: Array, column: int) -> Values:
        """The usual parameters (k,) of one column."""
        return {name: value[..., column] for name, value in self.source_from_natural(natural).items()}

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        parts = np.split(natural, len(self.parameters), axis=-1)
        return {
            name: value_at(domain, part) for (name, domain), part in zip(self.parameters.items(), parts, strict=True)
        }

    def natural_from_source(self, *args: Any, **source: Any) -> Array:
        columns = np.broadcast_arrays(*(as_columns(source[name]) for name in self.parameters))
        parts = zip(self.parameters.values(), columns, strict=True)
        return np.concatenate([coordinate_of(domain, value) for domain, value in parts], axis=-1)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        density = self.column_log_density(X[:, 0], self.column_values(natural, 0))
        for column in range(1, X.shape[1]):
            density += self.column_log_density(X[:, column], self.column_values(natural, column))
        return density

    def weighted_estimate(
        self, X: Array, shares: Array, prior: Array | None, before: Array | None, spread: Array | None
    ) -> Array:
        columns, shares = [], shares if prior is None else shares + prior[:, None]
        for c, x in enumerate(X.T):
            start = None if before is None else self.column_values(before, c)
            found = self.column_estimate(x, shares, start, 0.0 if spread is None else float(spread[c]))
            columns.append({name: np.asarray(found[name], dtype=float)[:, None] for name in self.parameters})
        return self.natural_from_source(
            **{name: np.concatenate([column[name] for column in columns], axis=1) for name in self.parameters}
        )

    def has_spread(self, natural: Array, spread: Array | None) -> NDArray[np.bool_]:
        """Which distributions (...) have shapes within their bounds, and no less than this spread."""
        wide = np.ones(natural.shape[:-1], dtype=bool)
        source = self.source_from_natural(natural)
        for name, (low, high) in self.shapes.items():
            wide &= ((source[name] >= low) & (source[name] <= high)).all(axis=-1)
        if spread is not None:
            wide &= (self.deviations(source) >= (1 - ROUNDING) * spread).all(axis=-1)
        return wide

    def deviations(self, source: Values) -> Array:
        """How wide distributions with these usual parameters (..., d) are in each column, as estimates bound it."""
        return np.full(next(iter(source.values())).shape, np.inf)

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array | None:
        return resolution.shaped_spread

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        columns = self.members(natural[None])[0]
        return np.concatenate([family.sample(theta[0], size, rng) for family, theta in columns], axis=1)

    def direct_entropy(self, natural: Array) -> Array:
        flat = natural.reshape(-1, natural.shape[-1])
        each = [sum(float(f.entropy(theta)[0]) for f, theta in columns) for columns in self.members(flat)]
        return np.array(each).reshape(natural.shape[:-1])

    def bounds_reached(self, natural: Array) -> list[str]:
        source = self.source_from_natural(natural)
        notes = []
        for name, (low, high) in self.shapes.items():
            for end in (low, high):
                if not np.isfinite(end) or end == 0:
                    continue
                there = (np.abs(np.log(np.abs(source[name] / end))) < CLOSE).any(axis=-1)
                notes += [f"{name} {end:g}"] * int(there.any())
        return notes


def is_estimated(shape: float | str | None) -> bool:
    """Whether a shape is left out, or named as shared, rather than given."""
    return shape is None or isinstance(shape, str)


def shares_shape(name: str, shape: float | str | None) -> bool:
    """Whether components are to share a shape that is estimated.

    >>> shares_shape("size", "shared"), shares_shape("size", None)
    (True, False)
    """
    if shape in (None, SHARED):
        return shape == SHARED
    raise ValueError(f"{name} is {shape!r}: give a number, 'shared', or nothing to estimate it for each component")


def _best_given(family: ExponentialFamily, x: Array, shares: Array, spread: float) -> tuple[Array, float]:
    """The estimate (1, D) in an exponential family for shares (n,) of numbers, and its log-likelihood."""
    total, column = float(shares.sum()), x[:, None]
    moment = (shares @ family.sufficient_statistic(column) / total)[None]
    floor = np.array([spread])
    natural = family.natural_with_spread(moment, floor) if spread > 0 else family.natural_from_moment(moment)
    fit = float((moment * natural).sum() - family.log_normalizer(natural)[0])
    return natural, total * fit + float(shares @ family.log_carrier(column))
