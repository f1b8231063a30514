"""From data and a plan to the learning problem of components that are no exponential families."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import Fit
from ..data.distinct import Compressed, compressed
from ..data.holes import Holes, holes_of, with_entries, with_middles
from ..data.intervals import Intervals, stand_ins
from ..families import ExponentialFamily, resolve
from ..families.coordinates import CoordinateFamily
from ..families.resolution import resolution_of, unknown_resolution
from ..families.shaped import Shaped
from ..families.shaped_product import ShapedProduct
from ..families.validation import check_sample_weight, issparse
from ..numerics.arrays import Array
from ..numerics.digest import digest
from ..problem.observed import ObservedRows
from ..problem.shaped import ShapedProblem
from ..problem.tailed import problem_of_shapes
from .arguments import weights_of
from .knowledge import Knowledge, knowledge_of
from .notes import flat_columns, overfit_notes
from .plan import Plan
from .prepare_parts import checked_intervals, units_of


@dataclass(frozen=True)
class PreparedShapes:
    """A learning problem with shapes, and the way back from its rows to those of the data."""

    problem: ShapedProblem
    order: NDArray[np.intp]
    """Which of the distinct rows of positive weight each of the problem's rows is."""
    used: slice | NDArray[np.bool_]
    """The distinct rows of positive weight."""
    few: Compressed | None
    data: Any
    """The distinct rows, or those of the data."""
    weight_factor: float = 1.0
    holes: Holes | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)
    """What is known of the problem's rows beside their values."""

    @property
    def keeps_order(self) -> bool:
        """Whether labels fix the order of the components."""
        return self.knowledge.codes is not None

    @property
    def engine(self) -> str:
        """What finds the labels, in words."""
        name = self.problem.engine_name
        return name if self.few is None else f"{name} on {len(self.data)} distinct rows"

    @property
    def content(self) -> str:
        """A digest of the data."""
        if not self.knowledge.is_empty:
            raise ValueError("a fit with labels or groups cannot have a checkpoint: leave checkpoint out")
        return digest(self.problem.rows.X, self.problem.row_weights)

    def labels_of(self, own: NDArray[Any], fit: Fit) -> NDArray[Any]:
        """The labels of the data's rows from those of the problem's rows."""
        labels = np.empty(len(own), dtype=own.dtype)
        labels[self.order] = own
        if not isinstance(self.used, slice):
            labels = fit.mixture.predict(self.data).astype(own.dtype)
        return labels if self.few is None else self.few.spread(labels)

    def completed(self, fit: Fit) -> Fit:
        """The fit with a label for every row of the data."""
        fit = replace(fit, labels=self.labels_of(fit.labels, fit), engine=self.engine)
        return replace(fit, notes=(*self._notes(fit), *overfit_notes(fit, self.problem)))

    def relabelled(self, fit: Fit) -> Fit:
        """A fit whose labels were not kept, with a label for every row of the data."""
        partition, _ = self.problem.assign(self.problem.from_mixture(fit.mixture))
        return self.completed(replace(fit, labels=partition.labels))

    def _notes(self, fit: Fit) -> list[str]:
        inexact = int((self.problem.rows.lower != self.problem.rows.upper).sum())
        between = inexact and not self.problem.rows.has_holes
        known = f"{inexact} values are censored, intervals or missing: the likelihood is that of what is known."
        notes = [known] if between else []
        notes += self.knowledge.notes()
        families = [member.family for member in fit.mixture.members if isinstance(member.family, CoordinateFamily)]
        if any("scale" in own.parameters for own in families):
            notes += self._flat_columns()
        for j, member in enumerate(fit.mixture.members):
            if isinstance(member.family, CoordinateFamily):
                reached = member.family.bounds_reached(member.natural)
                notes += [f"Component {j} has {found}, the bound of what is estimated." for found in reached]
                n_rows = float(fit.mixture.weights[j]) * self.problem.total
                notes += [f"Component {j} has {found}." for found in member.family.limits_met(member.natural, n_rows)]
        return notes

    def _flat_columns(self) -> list[str]:
        """Notes on columns in which components with a scale have no width of their own."""
        rows = self.problem.rows
        X = rows.known if rows.has_holes else rows.X
        constant = (np.isnan(X) | (np.nanmax(X, axis=0) == X)).all(axis=0)
        if constant.all():
            return ["All rows are equal: components are as narrow as numbers allow."]
        return list(flat_columns(np.flatnonzero(constant), "constant", "constant", "components"))


def prepare_shapes(
    X: Any,
    plan: Plan,
    sample_weight: Any,
    columns: Sequence[str] | None,
    labels: Any = None,
    groups: Any = None,
) -> PreparedShapes:
    """The problem of rows in memory."""
    family = resolve(plan.family)
    if issparse(X):
        raise ValueError(f"{family.name} needs dense rows: give X.toarray()")
    known, intervals = checked_intervals(X, family, columns)
    plan.check(len(intervals))
    given = weights_of(sample_weight, len(intervals))
    weights = check_sample_weight(given, len(intervals))
    factor = 1.0 if weights is None else float(weights.sum() / np.sum(np.asarray(given, dtype=float)))
    return prepare_known_shapes(
        known, intervals, weights, factor, plan, knowledge_of(labels, groups, len(intervals), plan)
    )


def prepare_known_shapes(
    known: ExponentialFamily,
    intervals: Intervals,
    weights: Array | None,
    factor: float,
    plan: Plan,
    knowledge: Knowledge | None = None,
) -> PreparedShapes:
    """The problem of legal rows."""
    knowledge = Knowledge() if knowledge is None else knowledge
    exact, table = bool(intervals.exact.all()), intervals.known
    _check_intervals(known, table is not None)
    holes = None if table is None else holes_of(table)
    may_compress = exact and plan.may_compress and knowledge.is_empty
    few = compressed(intervals.lower, weights, plan.n_threads) if may_compress else None
    rows: Any = intervals if few is None else Intervals(few.X, few.X)
    multiplicity = weights if few is None else few.weights
    used: slice | NDArray[np.bool_] = slice(None) if multiplicity is None or multiplicity.all() else multiplicity > 0
    if holes and table is not None and not isinstance(seen := with_entries(table), slice):
        # A row without any entry says nothing.
        used = seen if isinstance(used, slice) else used & seen
    own: Intervals = rows if isinstance(used, slice) else rows[used]
    values = own.lower
    if not exact:
        values = stand_ins(known, own) if table is None else with_middles(table[used])
    about = knowledge.take(used)
    # One column in order: medians are then found without sorting again. Rows of a group come one after the other.
    order = np.argsort(values[:, 0], kind="stable") if values.shape[1] == 1 else np.arange(len(values))
    order = order if about.groups is None else np.argsort(about.groups, kind="stable")
    about = about.take(order)
    observed = ObservedRows(values[order], own.lower[order], own.upper[order], plan.n_threads)
    own_weights = None if multiplicity is None else multiplicity[used][order]
    problem = problem_of_shapes(
        known,
        observed,
        own_weights,
        plan.strength,
        plan.prescribed_weights,
        _resolution(known, own, plan),
        units_of(about, own_weights),
        plan.n_components,
    )
    data = rows.lower if exact else rows if table is None else table
    return PreparedShapes(problem, order, used, few, data, factor, holes or None, about)


def _resolution(family: ExponentialFamily, rows: Intervals, plan: Plan) -> Any:
    asked = plan.resolution_for(family)
    if not rows.exact.all() and rows.known is not None:
        return resolution_of(rows.known, asked)
    exact = np.asarray(rows.exact.all(axis=1))
    if isinstance(asked, str) and exact.sum() < 2:
        return unknown_resolution(rows.shape[1])
    return resolution_of(rows.lower[exact] if len(exact) else rows.lower, asked)


def _check_intervals(family: ExponentialFamily, only_holes: bool) -> None:
    if only_holes:
        return
    for own in family.families if isinstance(family, ShapedProduct) else (family,):
        if not isinstance(own, Shaped) and not (own.exponential and isinstance(family, ShapedProduct)):
            raise ValueError(f"{own.name} cannot have intervals: give exact values, or use another family")
        if isinstance(own, Shaped) and own.shared:
            raise ValueError(f"components of {own.name} that share a shape cannot have intervals: leave 'shared' out")
