"""Rows with missing entries that are scored one by one, where a problem itself says what is assigned together."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...data.partly_known import cuts_between
from ...data.table import Rows
from ...numerics.arrays import Array
from .components import Components
from .parts import unit_rows
from .units import Scored

# Rows that are scored at a time, unless rows that belong together are more.
ROWS_AT_ONCE = 1 << 10


class IncompleteRows:
    """Rows cut into slices; `starts` are where slices may begin. Scores have the carriers of what is there."""

    is_exact = False

    def __init__(self, rows: Rows, starts: NDArray[np.intp] | None) -> None:
        self.n_rows, self._family = len(rows), rows.family
        self.cuts = cuts_between(self.n_rows, starts, ROWS_AT_ONCE)
        self._units = [unit_rows(rows, np.arange(own.start, own.stop)) for own in self.slices()]

    def slices(self) -> Iterator[slice]:
        """The rows that are scored together."""
        for start, stop in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            yield slice(int(start), int(stop))

    def sum_log_carrier(self, weights: Array | None) -> float:
        """Zero: scores have the carriers."""
        return 0.0

    def scored(self, place: int, natural: Array) -> tuple[Array, "ScoredUnits"]:
        """log p_j (n, k) of what the rows of a slice have, and what their sums are made of."""
        components = Components(self._family, natural, np.zeros(len(natural)))
        found = ScoredUnits(place, components, [unit.scored(components) for unit in self._units[place]])
        return np.asarray(sum(own.scores for own in found.units)), found

    def add_sums(self, sums: Array, responsibilities: Array, scored: "ScoredUnits") -> None:
        """Adds the expected statistics of a slice by responsibilities (n, k) to sums (k, D)."""
        for unit, own in zip(self._units[scored.place], scored.units, strict=True):
            sums[:, list(unit.unit.statistics)] += unit.sums(scored.components, responsibilities, own)


class ScoredUnits:
    """What the units of the columns scored in a slice of rows."""

    def __init__(self, place: int, components: Components, units: list[Scored]) -> None:
        self.place, self.components, self.units = place, components, units
