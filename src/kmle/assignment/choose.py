"""Which engine for which rows."""

from collections.abc import Callable

from .dense import DenseEngine
from .engine import Engine
from .rows import Rows
from .sorted import SortedEngine, can_sort

# From here on sorting is paid back: a dense pass costs about a nanosecond a row and component, a sorted one hardly any.
SORT_FROM_ROWS = 20_000
# Pairs of components are looked at one by one on the line.
SORT_UP_TO_COMPONENTS = 64

ENGINES: dict[str, Callable[[Rows], Engine]] = {"dense": DenseEngine, "sorted": SortedEngine}


def choose(rows: Rows, n_components: int, assignment: str) -> Engine:
    """The engine asked for, or for "auto" the one expected to be fastest."""
    if assignment == "sorted" and not can_sort(rows):
        raise ValueError(
            f"assignment='sorted' needs one column of a family with one statistic, or two that cross at most twice; "
            f"{rows.family.name} on {rows.X.shape[1]} columns is not: use 'auto'"
        )
    if assignment != "auto":
        return ENGINES[assignment](rows)
    if can_sort(rows) and len(rows) >= SORT_FROM_ROWS and n_components <= SORT_UP_TO_COMPONENTS:
        return SortedEngine(rows)
    return DenseEngine(rows)
