"""From intervals, labels and groups to a learning problem whose rows are of several kinds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import has_missing
from ..algorithms import Fit
from ..data.holes import Holes, holes_of
from ..data.intervals import Intervals, as_intervals, stand_ins, within_support
from ..data.partly_known import PartlyKnownRows
from ..data.table import Rows
from ..engines.choose import choose
from ..engines.patterns.incomplete_rows import IncompleteRows
from ..families import ExponentialFamily, resolve
from ..families.resolution import Asked, resolution_of, unknown_resolution
from ..families.validation import (
    as_rows,
    check_entries,
    check_learnable,
    check_rows,
    check_sample_weight,
    issparse,
)
from ..numerics.arrays import Array
from ..problem.composite import CompositeProblem
from ..problem.problem import Problem
from ..problem.row_kinds import EngineRows, LabelledRows, RowKind, ScoredRows, Units
from .arguments import weights_of
from .knowledge import Knowledge, knowledge_of
from .notes import overfit_notes
from .plan import Plan

# Algorithms that learn from rows of several kinds.
ALGORITHMS = ("k-mle", "hard-em", "em", "sparse-em")
# Rows with more different prior probabilities than this are scored row by row.
MOST_PATTERNS = 32


@dataclass(frozen=True)
class PreparedParts:
    """A learning problem of rows of several kinds, and the way back from its rows to those of the data."""

    problem: CompositeProblem
    intervals: Intervals | Array
    """All rows of the data; an array, with NaN for missing entries, where no value is an interval."""
    used: slice | NDArray[np.bool_]
    weight_factor: float
    knowledge: Knowledge
    holes: Holes | None = None
    """The missing entries, where they are not taken as intervals."""

    @property
    def keeps_order(self) -> bool:
        """Whether labels fix the order of the components."""
        return self.knowledge.codes is not None

    @property
    def is_exact(self) -> bool:
        """Whether no value is an interval."""
        return not isinstance(self.intervals, Intervals) or bool(self.intervals.exact.all())

    @property
    def engine(self) -> str:
        """What finds the labels, in words."""
        return self.problem.engine_name

    @property
    def content(self) -> str:
        raise ValueError("a fit with intervals, labels or groups cannot have a checkpoint: leave checkpoint out")

    def completed(self, fit: Fit) -> Fit:
        """The fit with a label for every row of the data."""
        labels: Any = fit.labels
        if not isinstance(self.used, slice):
            labels = np.empty(len(self.intervals), dtype=np.int32)
            labels[self.used] = fit.labels
            others: Any = self.intervals[~self.used]
            labels[~self.used] = fit.mixture.predict(others)
        fit = replace(fit, labels=labels, engine=self.engine)
        return replace(fit, notes=(*self._notes(), *overfit_notes(fit, self.problem)))

    def relabelled(self, fit: Fit) -> Fit:
        """A fit whose labels were not kept, with a label for every row of the data."""
        partition, _ = self.problem.assign(self.problem.from_mixture(fit.mixture))
        return self.completed(replace(fit, labels=partition.labels))

    def _notes(self) -> list[str]:
        notes = []
        if isinstance(self.intervals, Intervals) and not self.is_exact:
            inexact = int((~self.intervals.exact).sum())
            notes.append(
                f"{inexact} of {self.intervals.exact.size} values are censored, intervals or missing: the likelihood is"
                " that of what is known."
            )
        return notes + self.knowledge.notes()


def prepare_parts(
    X: Any,
    plan: Plan,
    sample_weight: Any,
    columns: Sequence[str] | None,
    sampling: np.random.Generator,
    labels: Any = None,
    groups: Any = None,
) -> PreparedParts:
    """The problem of rows in memory of which more or less is known than their values."""
    _check_algorithm(plan)
    if as_intervals(X) is None and not issparse(X):
        table = as_rows(resolve(plan.family), X)
        if has_missing(table):
            return _prepare_incomplete(table, plan, sample_weight, columns, sampling, labels, groups)
    family, intervals = checked_intervals(X, resolve(plan.family), columns)
    plan.check(len(intervals))
    n_rows = len(intervals)
    given = weights_of(sample_weight, n_rows)
    weights = check_sample_weight(given, n_rows)
    factor = 1.0 if weights is None else float(weights.sum() / np.sum(np.asarray(given, dtype=float)))
    knowledge = knowledge_of(labels, groups, n_rows, plan)
    used: slice | NDArray[np.bool_] = slice(None) if weights is None or weights.all() else weights > 0
    rows, known = (intervals, knowledge) if isinstance(used, slice) else (intervals[used], knowledge.take(used))
    own = None if weights is None else weights[used]
    problem = composite_problem(family, rows, own, known, plan, sampling)
    return PreparedParts(problem, intervals, used, factor, known)


def _prepare_incomplete(
    X: Array,
    plan: Plan,
    sample_weight: Any,
    columns: Sequence[str] | None,
    sampling: np.random.Generator,
    labels: Any,
    groups: Any,
) -> PreparedParts:
    """The problem of rows with missing entries: those of one class go by pattern, those in groups group by group."""
    names = None if columns is None else list(columns)
    rows, summary = check_rows(resolve(plan.family).for_data(X), X, names, missing=True)
    check_entries(summary, names)
    check_learnable(resolve(plan.family).for_data(X), summary, names)
    n_rows = len(rows)
    plan.check(n_rows)
    given = weights_of(sample_weight, n_rows)
    weights = check_sample_weight(given, n_rows)
    factor = 1.0 if weights is None else float(weights.sum() / np.sum(np.asarray(given, dtype=float)))
    knowledge = knowledge_of(labels, groups, n_rows, plan)
    has_part = ~np.isnan(rows).all(axis=1) & (np.ones(n_rows, bool) if weights is None else weights > 0)
    used: slice | NDArray[np.bool_] = slice(None) if has_part.all() else has_part
    known = knowledge.take(used)
    family = resolve(plan.family).for_data(X)
    own = None if weights is None else weights[used]
    all_rows = _all_rows(family, rows[used], own, plan, sampling, plan.resolution_for(family))
    if known.groups is not None:
        total = float(_grouped_weights(own, known.groups).sum())
        problem = CompositeProblem(all_rows, [_grouped(all_rows, rows[used], own, known)], total)
    else:
        problem = CompositeProblem(all_rows, _kinds_by_pattern(all_rows, known, plan), all_rows.total)
    return PreparedParts(problem, rows, used, factor, known, holes_of(rows, summary))


def _kinds_by_pattern(all_rows: Problem, knowledge: Knowledge, plan: Plan) -> list[RowKind]:
    """Rows with missing entries by what is known of them. Statistics are expectations, also where labels are known."""
    assert knowledge.codes is not None
    assert knowledge.patterns is not None
    kinds: list[RowKind] = []
    codes = np.unique(knowledge.codes)
    if len(codes) > MOST_PATTERNS:
        assert isinstance(all_rows.rows, Rows)  # sparse rows have no missing entries
        units = Units(None, all_rows.rows.weights, knowledge.patterns, knowledge.codes)
        return [ScoredRows(IncompleteRows(all_rows.rows, None), units, np.arange(len(knowledge.codes)))]
    for code in codes:
        places = np.flatnonzero(knowledge.codes == code)
        offsets = None if code < 0 else knowledge.patterns[code]
        kinds.append(EngineRows(_part(all_rows, places), places, offsets))
    return kinds


def _check_algorithm(plan: Plan) -> None:
    if plan.algorithm_name not in ALGORITHMS:
        raise ValueError(
            f"algorithm is {plan.algorithm_name!r}, which cannot use intervals, labels or groups: use one of "
            f"{', '.join(ALGORITHMS)}"
        )


def checked_intervals(
    X: Any, family: ExponentialFamily, columns: Sequence[str] | None
) -> tuple[ExponentialFamily, Intervals]:
    """The family for the data, and its rows as intervals in the family's support."""
    names = None if columns is None else list(columns)
    given = as_intervals(X)
    if given is None:
        if issparse(X):
            raise ValueError("labels and groups need dense rows: give X.toarray()")
        table = as_rows(family, X)
        if has_missing(table) and family.takes_missing:
            return _with_holes(table, family, names)
        known = family.for_data(table)
        rows, summary = check_rows(known, table, names)
        check_learnable(known, summary, names)
        legal = rows.astype(float, copy=False)
        return known, Intervals(legal, legal)
    if len(given) == 0:
        raise ValueError("there are no rows: at least one is needed")
    known = _for_intervals(family, given)
    cut = within_support(known, given, names)
    check_learnable(known, check_rows(known, stand_ins(known, cut), names)[1], names)
    return known, cut


def _with_holes(
    table: Array, family: ExponentialFamily, names: list[str] | None
) -> tuple[ExponentialFamily, Intervals]:
    """The same for rows with missing entries: of these nothing is known."""
    known = family.for_data(table)
    rows, summary = check_rows(known, table, names, missing=True)
    check_entries(summary, names)
    check_learnable(known, summary, names)
    return known, Intervals(rows, rows)


def _for_intervals(family: ExponentialFamily, given: Intervals) -> ExponentialFamily:
    """The family with what these rows determine: finite bounds stand for what is not known."""
    finite = np.where(np.isfinite(given.upper), given.upper, given.lower)
    columns = np.where(np.isfinite(finite), finite, family.support.entries.example(1)[0])
    return family.for_data(columns)


def composite_problem(
    family: ExponentialFamily,
    intervals: Intervals,
    weights: Array | None,
    knowledge: Knowledge,
    plan: Plan,
    sampling: np.random.Generator,
) -> CompositeProblem:
    """The problem of rows of positive weight."""
    exact = intervals.exact.all(axis=1)
    asked = plan.resolution_for(family)
    if isinstance(asked, str):
        # Stand-ins are not on the grid of the data.
        few = exact.sum() < 2
        asked = unknown_resolution(intervals.shape[1]) if few else resolution_of(intervals.lower[exact], asked)
    X = intervals.lower if exact.all() else stand_ins(family, intervals)
    all_rows = _all_rows(family, X, weights, plan, sampling, asked)
    if knowledge.groups is not None:
        kinds: list[RowKind] = [_grouped(all_rows, intervals, weights, knowledge)]
        units = _grouped_weights(weights, knowledge.groups)
        return CompositeProblem(all_rows, kinds, float(units.sum()))
    kinds = list(_exact_kinds(all_rows, np.flatnonzero(exact), knowledge, plan))
    done = np.zeros(len(intervals), dtype=bool)
    for kind in kinds:
        done[kind.places] = True
    rest = np.flatnonzero(~done)
    if len(rest):
        kinds.append(_scored(all_rows, intervals[rest], None if weights is None else weights[rest], knowledge, rest))
    return CompositeProblem(all_rows, kinds, all_rows.total)


def _all_rows(
    family: ExponentialFamily,
    X: Array,
    weights: Array | None,
    plan: Plan,
    sampling: np.random.Generator,
    resolution: Asked,
) -> Problem:
    """The problem of all rows as if nothing were known but their values."""
    return Problem(
        family,
        X,
        weights,
        plan.strength,
        plan.prescribed_weights,
        n_threads=plan.n_threads,
        n_components=plan.n_components,
        engine="auto",
        sampling=sampling,
        resolution=resolution,
    )


def _exact_kinds(all_rows: Problem, exact: NDArray[np.intp], knowledge: Knowledge, plan: Plan) -> list[RowKind]:
    """Exact rows by what is known of them; those with many different prior probabilities are left out."""
    if knowledge.codes is None:
        return [_with_engine(all_rows, exact, plan)] if len(exact) else []
    assert knowledge.patterns is not None
    codes = knowledge.codes[exact]
    kinds: list[RowKind] = []
    free = exact[codes < 0]
    if len(free):
        kinds.append(_with_engine(all_rows, free, plan))
    single = np.isfinite(knowledge.patterns).sum(axis=1) == 1
    known = exact[(codes >= 0) & single[codes]]
    if len(known):
        labels = np.isfinite(knowledge.patterns).argmax(axis=1)[knowledge.codes[known]].astype(np.int32)
        kinds.append(LabelledRows(_part(all_rows, known), known, labels, plan.n_components))
    several = [code for code in np.unique(codes[codes >= 0]) if not single[code]]
    if len(several) <= MOST_PATTERNS:
        for code in several:
            places = exact[codes == code]
            kinds.append(_with_engine(all_rows, places, plan, knowledge.patterns[code]))
    return kinds


def _part(all_rows: Problem, places: NDArray[np.intp]) -> Problem:
    """The problem of some rows, without a prior: that of all rows has it."""
    return all_rows.on_rows(places).with_prior_strength(0.0)


def _with_engine(all_rows: Problem, places: NDArray[np.intp], plan: Plan, offsets: Array | None = None) -> EngineRows:
    part = _part(all_rows, places)
    engine = "auto" if plan.engine == "compressed" else plan.engine
    part.engine = choose(part.rows, plan.n_components, engine, plan.hard)  # type: ignore[arg-type]
    return EngineRows(part, places, offsets)


def _scored(
    all_rows: Problem, intervals: Intervals, weights: Array | None, knowledge: Knowledge, places: NDArray[np.intp]
) -> ScoredRows:
    kinds = None if knowledge.codes is None else knowledge.codes[places]
    parts = [intervals.lower, intervals.upper, np.zeros((len(places), 0)) if kinds is None else kinds[:, None]]
    _, first, copies = np.unique(np.concatenate(parts, axis=1), axis=0, return_index=True, return_inverse=True)
    copies = copies.ravel()
    own = np.ones(len(places)) if weights is None else weights
    rows = PartlyKnownRows(all_rows.family, intervals.lower[first], intervals.upper[first], all_rows.center)
    counts = np.bincount(copies, own, len(first)).astype(float)
    return ScoredRows(
        rows, Units(None, counts, knowledge.patterns, None if kinds is None else kinds[first]), places, copies
    )


def _grouped_weights(weights: Array | None, groups: NDArray[np.intp]) -> Array:
    """The weight of each group: that of its rows, which must be the same."""
    n_groups = int(groups.max()) + 1
    if weights is None:
        return np.ones(n_groups)
    lowest, highest = np.full(n_groups, np.inf), np.zeros(n_groups)
    np.minimum.at(lowest, groups, weights)
    np.maximum.at(highest, groups, weights)
    if (wrong := lowest < highest).any():
        row = int(np.flatnonzero(groups == int(np.argmax(wrong)))[0])
        raise ValueError(
            f"the sample weights of the group of row {row} differ: its rows need equal weights, as a group counts once"
        )
    return highest


def _grouped(all_rows: Problem, data: Intervals | Array, weights: Array | None, knowledge: Knowledge) -> ScoredRows:
    """Rows in groups, as intervals or as an array with missing entries."""
    assert knowledge.groups is not None
    order = np.argsort(knowledge.groups, kind="stable")
    groups, numbers = np.unique(knowledge.groups[order], return_inverse=True)
    starts = np.searchsorted(knowledge.groups[order], groups)
    kinds = None if knowledge.codes is None else _group_codes(knowledge.codes, numbers, order, len(groups))
    own = None if weights is None else _grouped_weights(weights, knowledge.groups)[groups]
    rows: PartlyKnownRows | IncompleteRows
    if isinstance(data, Intervals):
        ordered = data[order]
        rows = PartlyKnownRows(all_rows.family, ordered.lower, ordered.upper, all_rows.center, starts)
    else:
        assert isinstance(all_rows.rows, Rows)  # sparse rows have no missing entries
        rows = IncompleteRows(all_rows.rows.subset(order), starts)
    return ScoredRows(rows, Units(starts, own, knowledge.patterns, kinds), order)


def units_of(knowledge: Knowledge, weights: Array | None) -> Units | None:
    """What is assigned as one, of rows whose groups come one after the other; None where nothing is known."""
    if knowledge.is_empty:
        return None
    if knowledge.groups is None:
        return Units(None, None, knowledge.patterns, knowledge.codes)
    groups, numbers = np.unique(knowledge.groups, return_inverse=True)
    _grouped_weights(weights, numbers)
    codes, order = knowledge.codes, np.arange(len(numbers))
    kinds = None if codes is None else _group_codes(codes, numbers, order, len(groups))
    return Units(np.searchsorted(knowledge.groups, groups), None, knowledge.patterns, kinds)


def _group_codes(
    codes: NDArray[np.intp], numbers: NDArray[np.intp], order: NDArray[np.intp], n_groups: int
) -> NDArray[np.intp]:
    """The code of each group: that of its labelled rows, which must agree."""
    found = np.full(n_groups, -1, dtype=np.intp)
    own = codes[order]
    np.maximum.at(found, numbers, own)
    conflict = (own >= 0) & (own != found[numbers])
    if conflict.any():
        row = int(order[np.argmax(conflict)])
        raise ValueError(f"the group of row {row} has rows with different labels: rows of a group share a component")
    return found
