"""Which engine for which rows."""

from collections.abc import Callable
from functools import partial

from ..kernels import backend
from ..scoring.coordinates import WIDE_FROM_COLUMNS
from .dense import DenseEngine
from .engine import Engine
from .pruned import ORDER_FROM_WORK, PrunedEngine
from .rows import Rows
from .skipping import SkippingEngine
from .sorted import SortedEngine, can_sort, repeats
from .sparse import SparseEngine, SparseRows
from .wide import WideEngine, can_widen

# From here on putting a line in order is paid back. Pairs of components are looked at one by one there: beyond the
# first few there must be so many more rows for each, by the number of statistics: with two, scores may cross twice.
SORT_FROM_ROWS = 20_000
SORT_FIRST_PAIRS = {1: 120, 2: 28}
SORT_ROWS_A_PAIR = {1: 1_000, 2: 8_000}
# Soft fits make few hard passes: they sort only a line whose values repeat, where they are far quicker. So many times
# fewer rows will do.
SORT_SOFTLY = 20

# Pruning pays while boxes of neighbouring rows are small beside cells: few statistics, many rows, and the more columns
# the kernels see, the more components.
PRUNE_FROM_COMPONENTS = {1: 4, 2: 4, 3: 128, 4: 256, 5: 256}
PRUNE_UP_TO_ORDER = 5
PRUNE_FROM_ROWS = 100_000

# Skipping pays where a row's scores cost much, passes are long, and the bound on a lead is good: many components, and
# statistics that are the columns.
SKIP_FROM_WORK = 1000
SKIP_FROM_COMPONENTS = 32
SKIP_FROM_TOTAL_WORK = 400_000_000
# Tables of all pairs of components, of so many bytes a pair, are to be small beside the rows.
SKIP_BYTES_A_PAIR = 64

ENGINES: dict[str, Callable[[Rows], Engine]] = {
    "dense": DenseEngine,
    "sorted": SortedEngine,
    "wide": WideEngine,
    "skipping": SkippingEngine,
    "pruned": PrunedEngine,
    "ball-tree": partial(PrunedEngine, structure="ball-tree"),
    "vp-tree": partial(PrunedEngine, structure="vp-tree"),
}


def choose(rows: Rows, n_components: int, assignment: str, hard: bool = False) -> Engine:
    """The engine asked for, or for "auto" the one expected to be fastest; `hard` promises that passes will be hard."""
    if assignment == "sorted" and not can_sort(rows):
        raise ValueError(
            f"assignment='sorted' needs one column of a family with one statistic, or two that cross at most twice; "
            f"{rows.family.name} on {rows.X.shape[1]} columns is not: use 'auto'"
        )
    if assignment == "wide" and not can_widen(rows):
        raise ValueError(f"assignment='wide' is for the full Gaussian family; {rows.family.name} is not: use 'auto'")
    if assignment != "auto":
        return ENGINES[assignment](rows)
    if can_sort(rows) and len(rows) >= fewest_rows_to_sort(rows.order, n_components, hard) and (hard or repeats(rows)):
        return SortedEngine(rows)
    if can_widen(rows) and rows.X.shape[1] >= WIDE_FROM_COLUMNS:
        return WideEngine(rows)
    columns, features = rows.kernel_columns(slice(0, 1))
    narrow = features == "identity"
    few_statistics = rows.order <= PRUNE_UP_TO_ORDER and len(rows) >= PRUNE_FROM_ROWS
    # The NumPy kernels neither rule out nor skip anything: they look at every row.
    if few_statistics and backend() == "compiled" and n_components >= PRUNE_FROM_COMPONENTS[columns.shape[1]]:
        return PrunedEngine(rows, waits=not hard or n_components < ORDER_FROM_WORK)
    work = rows.order * n_components
    long = work >= SKIP_FROM_WORK and work * len(rows) >= SKIP_FROM_TOTAL_WORK
    long = long and SKIP_BYTES_A_PAIR * n_components**2 <= rows.X.nbytes
    if narrow and long and backend() == "compiled" and n_components >= SKIP_FROM_COMPONENTS:
        return SkippingEngine(rows)
    return DenseEngine(rows)


def fewest_rows_to_sort(order: int, n_components: int, hard: bool) -> int:
    """How many values a line must have before putting it in order is paid back.

    >>> [fewest_rows_to_sort(2, k, hard=True) for k in (8, 16, 32)]
    [20000, 736000, 3744000]
    >>> [fewest_rows_to_sort(2, k, hard=False) for k in (8, 16, 32)]
    [20000, 36800, 187200]
    """
    more_pairs = n_components * (n_components - 1) // 2 - SORT_FIRST_PAIRS[order]
    return max(SORT_FROM_ROWS, SORT_ROWS_A_PAIR[order] * more_pairs // (1 if hard else SORT_SOFTLY))


def passing_engine(rows: Rows | SparseRows) -> Engine:
    """An engine for rows that are passed over a few times: nothing is put in order first."""
    if isinstance(rows, SparseRows):
        return SparseEngine(rows)
    wide = can_widen(rows) and rows.X.shape[1] >= WIDE_FROM_COLUMNS
    return WideEngine(rows) if wide else DenseEngine(rows)


def plain_engine(rows: Rows | SparseRows) -> Engine:
    """An engine for rows that are passed over once."""
    return SparseEngine(rows) if isinstance(rows, SparseRows) else DenseEngine(rows)
