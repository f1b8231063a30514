"""What is known of rows beside their values: censoring and labels, from other columns of the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .tables import Asked, with_columns

if TYPE_CHECKING:
    from ..data.intervals import Intervals
    from ..io import Table
    from ..numerics.arrays import Array


@dataclass(frozen=True)
class Knowing:
    """Columns that say whether a value was seen (`event`), where it ends (`upper`), or which class a row has."""

    event: str | None = None
    upper: str | None = None
    labels: str | None = None

    def __bool__(self) -> bool:
        return any((self.event, self.upper, self.labels))

    @property
    def _names(self) -> list[str]:
        return [name for name in (self.event, self.upper, self.labels) if name is not None]

    def check(self, asked: Asked, stream: bool) -> None:
        """Refuses options that contradict each other."""
        option = "--event" if self.event else "--upper" if self.upper else "--labels-from"
        if self.event and self.upper:
            raise ValueError("--event cannot be combined with --upper: a value has an event or an upper bound")
        if stream:
            raise ValueError(f"{option} cannot be combined with --stream: it needs the whole table in memory")
        if asked.drop_missing:
            raise ValueError(f"{option} cannot be combined with --drop-missing: drop the rows from the file first")

    def asked(self, asked: Asked) -> Asked:
        """What to read: the columns asked for and those that say more; labels are read as categories."""
        columns = asked.columns if asked.columns is None else ",".join([asked.columns, *self._names])
        named = [name for name in (asked.categorical, self.labels) if name]
        return replace(asked, columns=columns, categorical=",".join(named) or None)

    def split(self, table: Table) -> tuple[Table, Known]:
        """The table without these columns, and what they say."""
        import numpy as np

        left = [name for name in table.columns if name not in self._names]
        if not left:
            raise ValueError(f"{table.source} has no column besides {', '.join(map(repr, self._names))}")
        values = {name: np.asarray(table.rows[:, table.columns.index(name)], dtype=float) for name in self._names}
        categories = {name: levels for name, levels in table.categories.items() if name != self.labels}
        rest = replace(with_columns(table, left), categories=categories)
        intervals = None
        if self.event or self.upper:
            if len(left) > 1:
                raise ValueError(f"censored values are one column, not {len(left)}: name it with --columns")
            intervals = _intervals(rest, values, self.event, self.upper)
        labels = None if self.labels is None else _labels(values[self.labels], table.categories[self.labels])
        return rest, Known(intervals, labels)


@dataclass(frozen=True)
class Known:
    """Values as intervals, and labels with None for unknown ones."""

    intervals: Intervals | None = None
    labels: list[str | None] | None = None

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self._classes)

    @property
    def _classes(self) -> list[str]:
        return sorted({label for label in self.labels or () if label is not None})

    def class_names(self, n_components: int) -> str:
        """The class of each component, in their order."""
        each = n_components // max(1, self.n_classes)
        names = [name for name in self._classes for _ in range(each)]
        return ", ".join(f"{place} is {name}" for place, name in enumerate(names))


def _intervals(table: Table, values: dict[str, Array], event: str | None, upper: str | None) -> Intervals:
    import numpy as np

    from ..data.intervals import Intervals

    lower = np.asarray(table.rows[:, 0], dtype=float)
    if event is not None:
        wrong = ~np.isin(values[event], (0.0, 1.0))
        if wrong.any():
            row = int(np.argmax(wrong))
            held = values[event][row]
            what = "is missing" if np.isnan(held) else f"holds {held:g}"
            raise ValueError(f"{table.row_name(row)}, column {event!r} {what}: events are 1 (seen) or 0 (censored)")
        return Intervals.from_events(lower, values[event])
    assert upper is not None
    above = values[upper]
    return Intervals(np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(above), np.inf, above))


def _labels(codes: Array, levels: tuple[str, ...]) -> list[str | None]:
    return [None if code != code else levels[int(code)] for code in codes.tolist()]
