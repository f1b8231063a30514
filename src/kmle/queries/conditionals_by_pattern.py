"""Conditional distributions of rows that know different columns: one form for each pattern of missing values."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.holes import unique_patterns
from ..families import ExponentialFamily
from ..numerics.arrays import Array
from .conditional_forms import Conditional


@dataclass(frozen=True)
class ByPattern(Conditional):
    """Components given those known values that a row has: one form for each pattern (p, q) of missing ones (NaN)."""

    family: ExponentialFamily
    patterns: NDArray[np.bool_]
    parts: tuple[Conditional, ...]

    def _pieces(self, values: Array) -> Iterator[tuple[Conditional, NDArray[np.intp], Array]]:
        """The forms that rows have, with their rows and the values that these know."""
        found, places = unique_patterns(np.isnan(values))
        for index, pattern in enumerate(found):
            part = self.parts[int(np.flatnonzero((self.patterns == pattern).all(axis=1))[0])]
            rows = np.flatnonzero(places == index)
            yield part, rows, values[np.ix_(rows, np.flatnonzero(~pattern))]

    def _put_together(self, values: Array, ask: Callable[[Conditional, NDArray[np.intp], Array], Array]) -> Array:
        """What each form says of its rows, (n, ...)."""
        found: Array | None = None
        for part, rows, known in self._pieces(values):
            own = ask(part, rows, known)
            found = np.empty((len(values), *own.shape[1:])) if found is None else found
            found[rows] = own
        assert found is not None  # there are rows
        return found

    def at(self, values: Array) -> tuple[ExponentialFamily, Array]:
        ((part, _, known),) = self._pieces(values)
        return part.at(known)

    def natural(self, values: Array) -> Array:
        return self._put_together(values, lambda part, _, known: part.natural(known))

    def means(self, values: Array) -> Array:
        return self._put_together(values, lambda part, _, known: part.means(known))

    def mixed_means(self, values: Array, weights: Array) -> Array:
        return self._put_together(values, lambda part, rows, known: part.mixed_means(known, weights[rows]))

    def covariances(self, values: Array) -> Array:
        return self._put_together(values, lambda part, _, known: part.covariances(known))

    def cdf(self, values: Array) -> Callable[[Array], Array]:
        pieces = [(rows, part.cdf(known)) for part, rows, known in self._pieces(values)]

        def reached(y: Array) -> Array:
            each = [(rows, own(y[rows])) for rows, own in pieces]
            found = np.empty((len(values), each[0][1].shape[1]))
            for rows, own in each:
                found[rows] = own
            return found

        return reached

    def log_density(self, values: Array, Y: Array) -> Array:
        return self._put_together(values, lambda part, rows, known: part.log_density(known, Y[rows]))

    def sample(self, values: Array, labels: NDArray[np.intp], rng: np.random.Generator) -> Array:
        return self._put_together(values, lambda part, rows, known: part.sample(known, labels[rows], rng))
