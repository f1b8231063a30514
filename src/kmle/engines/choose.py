"""Which engine for which rows."""

from collections.abc import Callable
from functools import partial
from typing import cast

from .._kernels import backend
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..engines.dense import SparseEngine
from ..families import ComponentFamilies, FixedCovarianceGaussian, Gaussian
from ..families.low_rank_gaussian import LowRankGaussian
from .base import Engine
from .bounds.engine import BoundsEngine
from .boxes.engine import ORDER_AT_ONCE, BoxesEngine
from .dense import DenseEngine
from .low_rank.engine import LowRankEngine
from .panels.coordinates import PANELS_FROM_COLUMNS
from .panels.engine import PanelsEngine
from .patterns.engine import PatternsEngine
from .sorted.engine import SortedEngine, repeats
from .tied import LinearEngine, LinearPanelsEngine, is_tied

# From here on putting a line in order is paid back. Pairs of components are examined one by one there: beyond the
# first few there must be more rows for each, by the number of statistics: with two, scores may cross twice.
SORT_FROM_ROWS = 20_000
SORT_FIRST_PAIRS = {1: 120, 2: 28}
SORT_ROWS_A_PAIR = {1: 1_000, 2: 8_000}
# Soft fits make few hard passes: they sort only a line whose values repeat, where they are far quicker. This many
# times fewer rows are enough.
SORT_SOFTLY = 20

# Pruning pays while boxes of neighbouring rows are small beside cells: few statistics, many rows, and the more columns
# the kernels see, the more components.
PRUNE_FROM_COMPONENTS = {1: 4, 2: 4, 3: 128, 4: 256, 5: 256}
PRUNE_UP_TO_STATISTICS = 5
PRUNE_FROM_ROWS = 100_000

# Skipping pays where a row's scores cost much, passes are long, and the bound on a margin is good: many components, and
# statistics that are the columns.
SKIP_FROM_WORK = 1000
SKIP_FROM_COMPONENTS = 32
SKIP_FROM_TOTAL_WORK = 400_000_000
# Bytes per pair in the tables of all pairs of components, which must be small beside the rows.
SKIP_BYTES_A_PAIR = 64

ENGINES: dict[str, Callable[[Rows], Engine]] = {
    "dense": DenseEngine,
    "sorted": SortedEngine,
    "panels": PanelsEngine,
    "bounds": BoundsEngine,
    "boxes": BoxesEngine,
    "ball-tree": partial(BoxesEngine, structure="ball-tree"),
    "vp-tree": partial(BoxesEngine, structure="vp-tree"),
}


def can_sort(rows: Rows) -> bool:
    """Whether cells are intervals of a line: one column with one statistic, or with two that cross but twice."""
    return rows.X.shape[1] == 1 and (rows.n_statistics == 1 or (rows.n_statistics == 2 and rows.family.ordered_cells))


def fits_panels(rows: Rows) -> bool:
    """Whether these rows are scored by a mean and a full covariance."""
    return isinstance(rows.family, Gaussian)


def wide_engine(rows: Rows) -> Engine:
    """The engine for Gaussians on many columns."""
    return LowRankEngine(rows) if isinstance(rows.family, LowRankGaussian) else PanelsEngine(rows)


def choose(rows: Rows, n_components: int, engine: str, hard: bool = False) -> Engine:
    """The engine asked for, or for "auto" the one expected to be fastest; `hard` promises that passes will be hard."""
    if rows.by_pattern:
        if engine not in ("auto", "dense"):
            raise ValueError(f"engine={engine!r} needs complete rows, and entries are missing: use 'auto'")
        return PatternsEngine(rows)
    if engine == "sorted" and not can_sort(rows):
        raise ValueError(
            f"engine='sorted' needs one column of a family with one statistic, or two that cross at most twice; "
            f"{rows.family.name} on {rows.X.shape[1]} columns is not: use 'auto'"
        )
    if engine == "panels" and not fits_panels(rows):
        raise ValueError(f"engine='panels' needs the full Gaussian family, not {rows.family.name}: use 'auto'")
    if engine != "auto":
        return ENGINES[engine](rows)
    if n_components > 1 and rows.family.joint and is_tied(rows.family):
        return linear_engine(rows, n_components, hard)
    return _fastest(rows, n_components, hard)


def linear_engine(rows: Rows, n_components: int, hard: bool) -> Engine:
    """The engine for Gaussians that all have the same covariance."""
    family = FixedCovarianceGaussian(n_features=rows.X.shape[1])
    columns = Rows(family, rows.X, rows.weights, rows.center, rows.n_threads, meter=rows.meter)
    wide = fits_panels(rows) and rows.X.shape[1] >= PANELS_FROM_COLUMNS
    engine = LinearPanelsEngine(rows) if wide else LinearEngine(rows)
    return cast(Engine, engine.with_linear(_fastest(columns, n_components, hard)))


def _fastest(rows: Rows, n_components: int, hard: bool) -> Engine:
    """The engine expected to be fastest, whatever components share."""
    if (
        can_sort(rows)
        and len(rows) >= fewest_rows_to_sort(rows.n_statistics, n_components, hard)
        and (hard or repeats(rows))
    ):
        return SortedEngine(rows)
    if fits_panels(rows) and rows.X.shape[1] >= PANELS_FROM_COLUMNS:
        return wide_engine(rows)
    columns, features = rows.kernel_columns(slice(0, 1))
    narrow = features == "identity"
    few_statistics = rows.n_statistics <= PRUNE_UP_TO_STATISTICS and len(rows) >= PRUNE_FROM_ROWS
    # The NumPy kernels neither rule out nor skip anything: they examine every row.
    if few_statistics and backend() == "compiled" and n_components >= PRUNE_FROM_COMPONENTS[columns.shape[1]]:
        return BoxesEngine(rows, waits=not hard or n_components < ORDER_AT_ONCE)
    work = rows.n_statistics * n_components
    long = work >= SKIP_FROM_WORK and work * len(rows) >= SKIP_FROM_TOTAL_WORK
    long = long and SKIP_BYTES_A_PAIR * n_components**2 <= rows.X.nbytes
    # Putting rows of different families in order takes as long as some thirty passes: their statistics are made again.
    cheap = not isinstance(rows.family, ComponentFamilies)
    if narrow and long and cheap and backend() == "compiled" and n_components >= SKIP_FROM_COMPONENTS:
        return BoundsEngine(rows)
    return DenseEngine(rows)


def fewest_rows_to_sort(n_statistics: int, n_components: int, hard: bool) -> int:
    """How many values a line must have before putting it in order is paid back.

    >>> [fewest_rows_to_sort(2, k, hard=True) for k in (8, 16, 32)]
    [20000, 736000, 3744000]
    >>> [fewest_rows_to_sort(2, k, hard=False) for k in (8, 16, 32)]
    [20000, 36800, 187200]
    """
    more_pairs = n_components * (n_components - 1) // 2 - SORT_FIRST_PAIRS[n_statistics]
    return max(SORT_FROM_ROWS, SORT_ROWS_A_PAIR[n_statistics] * more_pairs // (1 if hard else SORT_SOFTLY))


def passing_engine(rows: Rows | SparseRows) -> Engine:
    """An engine for rows that are passed over a few times: nothing is put in order first."""
    if isinstance(rows, SparseRows):
        return SparseEngine(rows)
    if rows.by_pattern:
        return PatternsEngine(rows)
    wide = fits_panels(rows) and rows.X.shape[1] >= PANELS_FROM_COLUMNS
    return wide_engine(rows) if wide else DenseEngine(rows)


def plain_engine(rows: Rows | SparseRows) -> Engine:
    """An engine for rows that are passed over once."""
    if isinstance(rows, SparseRows):
        return SparseEngine(rows)
    return PatternsEngine(rows) if rows.by_pattern else DenseEngine(rows)
