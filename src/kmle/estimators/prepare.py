"""From data and a plan to a learning problem and to where learning begins: every row is checked on the way."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._kernels import ColumnSummary, has_missing
from ..algorithms import Fit, Starts
from ..data.batches import is_dask, is_streamed
from ..data.distinct import Compressed, compressed
from ..data.holes import Holes, family_with_holes, holes_of, with_entries
from ..data.intervals import as_intervals
from ..families import ComponentFamilies, ExponentialFamily, resolve
from ..families.incomplete import Incomplete
from ..families.sparse import check_sparse
from ..families.validation import as_rows, check_entries, check_learnable, check_sample_weight, issparse
from ..families.validation import check_rows as check_values_of
from ..mixture import Mixture
from ..numerics.arrays import Array, Labels
from ..numerics.digest import digest
from ..problem.problem import LearningProblem, Parameters, Problem
from ..search import Found, search
from ..seeding import SEEDINGS
from ..seeding.partitions import single_start
from .arguments import weights_of
from .chunks import PreparedChunks, check_chunks, prepare_chunks
from .gathered_shapes import prepare_gathered
from .notes import overfit_notes
from .plan import Plan
from .prepare_parts import PreparedParts, checked_intervals, prepare_parts
from .prepare_shapes import PreparedShapes, prepare_shapes

# Which rows a fit learns from: all, or those of positive weight.
Used: TypeAlias = slice | NDArray[np.bool_]


# Rows in memory -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckedRows:
    """Rows inside the family's support, with their weights; the family knows the data's columns."""

    family: ExponentialFamily
    X: Any
    """An array, or Intervals."""
    weights: Array | None
    weight_factor: float = 1.0
    """What sample weights were multiplied by, to count rows."""
    summary: ColumnSummary | None = None
    """That of the columns of X, unless it is sparse."""
    holes: Holes | None = None
    """The missing entries; None where there are none."""


def check_rows(
    X: ArrayLike,
    family: ExponentialFamily,
    sample_weight: ArrayLike | None,
    columns: Sequence[str] | None,
    n_threads: int = 1,
) -> CheckedRows:
    """Legal rows and weights; what is not legal is refused with its row and column."""
    table: Any = X if issparse(X) or _is_table(X) else as_rows(family, X)
    known = family.for_data(table)
    if issparse(table):
        rows: Any = check_sparse(known, table)
        summary = None
    else:
        names = None if columns is None else list(columns)
        rows, summary = check_values_of(known, table, names, n_threads=n_threads, missing=True)
        check_entries(summary, names)
        check_learnable(known, summary, names)
    n_rows = rows.shape[0]
    given = weights_of(sample_weight, n_rows)
    weights = check_sample_weight(given, n_rows)
    factor = 1.0 if weights is None else float(weights.sum() / np.sum(np.asarray(given, dtype=float)))
    holes = holes_of(rows, summary) if summary is not None and summary.missing else None
    return CheckedRows(known, rows, weights, factor, summary, holes)


def check_intervals(
    X: Any, family: ExponentialFamily, sample_weight: ArrayLike | None, columns: Sequence[str] | None
) -> CheckedRows:
    """The same for intervals, which are cut down to the support of the family."""
    known, rows = checked_intervals(X, family, columns)
    given = weights_of(sample_weight, len(rows))
    weights = check_sample_weight(given, len(rows))
    factor = 1.0 if weights is None else float(weights.sum() / np.sum(np.asarray(given, dtype=float)))
    return CheckedRows(known, rows, weights, factor)


def _is_table(X: Any) -> bool:
    # No subclass: those may be masked.
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64)


@dataclass(frozen=True)
class Prepared:
    """A learning problem, and the way back from its rows to those of the data."""

    problem: Problem
    rows: Array
    """The rows the problem was made from: those of the data, or the distinct ones among them."""
    used: Used
    few: Compressed | None
    weight_factor: float = 1.0
    keeps_order: bool = False
    holes: Holes | None = None

    @property
    def engine(self) -> str:
        """What finds the labels, in words."""
        name = self.problem.engine.name
        return name if self.few is None else f"{name} on {self.rows.shape[0]} distinct rows"

    @property
    def content(self) -> str:
        """A digest of the data."""
        return digest(self.problem.rows.X, self.problem.rows.weights)

    def completed(self, fit: Fit) -> Fit:
        """The fit with a label for every row of the data."""
        labels = fit.labels if isinstance(self.used, slice) else fit.mixture.predict(self.rows)
        fit = replace(fit, labels=labels if self.few is None else self.few.spread(labels), engine=self.engine)
        return replace(fit, notes=overfit_notes(fit, self.problem))

    def relabelled(self, fit: Fit) -> Fit:
        """A fit whose labels were not kept, with a label for every row of the data."""
        partition, _ = self.problem.assign(self.problem.from_mixture(fit.mixture))
        return self.completed(replace(fit, labels=partition.labels))


def prepare_rows(checked: CheckedRows, plan: Plan, sampling: np.random.Generator, n_threads: int) -> Prepared:
    """The problem of legal rows: on the distinct ones where that is asked for or pays, without rows of no weight."""
    compressible = plan.may_compress and not issparse(checked.X) and plan.engine in ("auto", "compressed")
    few = compressed(checked.X, checked.weights, n_threads, summary=checked.summary) if compressible else None
    X, multiplicity = (checked.X, checked.weights) if few is None else (few.X, few.weights)
    used: Used = slice(None) if multiplicity is None or multiplicity.all() else multiplicity > 0
    family = checked.family
    if checked.holes:
        seen = with_entries(X)
        used = used if isinstance(seen, slice) else seen if isinstance(used, slice) else used & seen
        family = family_with_holes(family, checked.holes)
    problem = Problem(
        family,
        X if isinstance(used, slice) else X[used],  # a slice of all sparse rows would be a copy
        None if multiplicity is None else multiplicity[used],
        plan.strength,
        plan.prescribed_weights,
        n_threads=n_threads,
        n_components=plan.n_components,
        engine="auto" if plan.engine == "compressed" else plan.engine,
        sampling=sampling,
        hard=plan.hard,
        resolution=plan.resolution_for(checked.family),
        summary=checked.summary if few is None and isinstance(used, slice) else None,
    )
    return Prepared(problem, X, used, few, checked.weight_factor, holes=checked.holes)


# Rows anywhere --------------------------------------------------------------------------------------------------------

AnyPrepared: TypeAlias = Prepared | PreparedChunks | PreparedParts | PreparedShapes


def prepare(
    X: Any,
    plan: Plan,
    sample_weight: Any,
    columns: Sequence[str] | None,
    rng: np.random.Generator,
    labels: Any = None,
    groups: Any = None,
) -> tuple[AnyPrepared, list[np.random.Generator]]:
    """The learning problem of the data, wherever it is, and a generator for each start."""
    chunked = is_dask(X) or is_streamed(X)
    if chunked and (labels is not None or groups is not None):
        raise ValueError("labels and groups need the rows in memory: give an array or a table")
    if not resolve(plan.family).exponential or _lacks_entries_of_several(X, plan):
        if chunked:
            return prepare_gathered(X, plan, sample_weight), generators_of(plan, rng)[0]
        shapes = prepare_shapes(X, plan, sample_weight, columns, labels, groups)
        return shapes, generators_of(plan, rng)[0]
    if chunked:
        plan.check(sys.maxsize)
        chunks = check_chunks(X, sample_weight, plan)
        if chunks.summary.holes and isinstance(chunks.summary.family, ComponentFamilies):
            return prepare_gathered(X, plan, sample_weight), generators_of(plan, rng)[0]
        plan.check(chunks.n_rows)
        generators, sampling = generators_of(plan, rng)
        return prepare_chunks(chunks, plan, sampling), generators
    if labels is not None or groups is not None or as_intervals(X) is not None:
        generators, sampling = generators_of(plan, rng)
        return prepare_parts(X, plan, sample_weight, columns, sampling, labels, groups), generators
    n_threads = plan.n_threads
    rows = check_rows(X, resolve(plan.family), sample_weight, columns, n_threads)
    plan.check(rows.X.shape[0])
    generators, sampling = generators_of(plan, rng)
    return prepare_rows(rows, plan, sampling, n_threads), generators


def _lacks_entries_of_several(X: Any, plan: Plan) -> bool:
    """Whether components are of different families, and entries of rows in memory are missing."""
    family = resolve(plan.family)
    if not isinstance(family, ComponentFamilies) or is_dask(X) or is_streamed(X) or issparse(X):
        return False
    return as_intervals(X) is None and has_missing(as_rows(family, X))


def generators_of(plan: Plan, rng: np.random.Generator) -> tuple[list[np.random.Generator], np.random.Generator]:
    """A generator for each start, and the one that draws the sample."""
    return rng.spawn(plan.n_runs), rng.spawn(1)[0]


# Where a fit begins ---------------------------------------------------------------------------------------------------


def start_of(
    problem: LearningProblem, plan: Plan, rng: np.random.Generator, used: Used = slice(None), restart: int = 0
) -> Found:
    """Where to begin: what was given, a start of the kind asked for, or the best that a search finds."""
    given = plan.init if plan.start is None else plan.start
    if isinstance(given, Mixture):
        return _given(from_mixture(problem, plan, given))
    if not isinstance(given, str):
        assert isinstance(problem, Problem)  # labels are refused for rows in chunks
        return _given(from_labels(problem, plan, np.asarray(given), used))
    k, named = plan.n_components, None if given == "auto" else given
    if plan.searches:
        return search(problem, k, rng, hard=plan.hard, kind=named)
    if named is None:
        kind, parameters = single_start(problem, k, rng, restart)
        return Found(parameters, Starts({kind: 1}, agreeing=1))
    return Found(SEEDINGS[named](problem, k, rng), Starts({named: 1}, agreeing=1))


def _given(parameters: Parameters) -> Found:
    return Found(parameters, Starts({"given": 1}, agreeing=1))


def from_mixture(problem: LearningProblem, plan: Plan, mixture: Mixture) -> Parameters:
    family = problem.family.complete if isinstance(problem.family, Incomplete) else problem.family
    if mixture.family.name != family.name or mixture.natural.shape[1] != family.n_statistics:
        raise ValueError(
            f"init is a mixture of {mixture.family.name} with {mixture.natural.shape[1]} natural coordinates; "
            f"this data and family need {family.name} with {family.n_statistics}"
        )
    if mixture.n_components > plan.n_components:
        raise ValueError(f"init has {mixture.n_components} components, n_components is {plan.n_components}")
    if problem.weights is not None and mixture.n_components != plan.n_components:
        raise ValueError("init must have as many components as prescribed weights")
    return problem.within_model(problem.from_mixture(mixture))


def from_labels(problem: Problem, plan: Plan, labels: NDArray[Any], used: Used) -> Parameters:
    """Parameters from one label per row of the data."""
    n = len(problem.rows) if isinstance(used, slice) else len(used)
    known = checked_labels(labels, n, plan.n_components)[used]
    return problem.first_parameters(problem.gather(known, plan.n_components))


def checked_labels(labels: NDArray[Any], n_rows: int, n_components: int) -> Labels:
    """One label per row, or one sentence on what is wrong with them."""
    if labels.shape != (n_rows,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"labels as init must be one whole number per row, shape ({n_rows},)")
    if labels.min() < 0 or labels.max() >= n_components:
        raise ValueError(f"labels as init must be from 0 to {n_components - 1}")
    return labels.astype(np.int32)
