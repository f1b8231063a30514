"""Who takes part in a selection: families that can hold the data, each with its checked rows and an estimator."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import Fit
from ..algorithms.state import ITERATION_LIMIT
from ..data.intervals import Intervals, as_intervals
from ..families import ComponentFamilies, ExponentialFamily, Product, resolve
from ..families.component_lists import with_components
from ..families.measures import check_comparable
from ..families.parameterless import Parameterless
from ..families.registry import FamilyLike
from ..families.structured_gaussian import MODELS, structured
from ..families.validation import issparse
from ..numerics.arrays import Array
from ..selection.candidates import Candidate
from ..selection.redundancy import allows_fewer_columns, redundant_columns
from .arguments import distinct_names
from .plan import Plan
from .prepare import CheckedRows, Prepared, check_intervals, check_rows, prepare_rows
from .prepare_parts import PreparedParts, prepare_parts
from .prepare_shapes import PreparedShapes, prepare_known_shapes
from .usual import usual_families

# The name of all covariance models together.
GAUSSIANS = "gaussians"
# What needs no mention in the name of a family.
ONE_COLUMN = ("n_features", 1)

Families = Iterable[FamilyLike | Mapping[Any, FamilyLike]] | Mapping[Any, FamilyLike] | str | ExponentialFamily


@dataclass(frozen=True)
class FamilyCandidate:
    """A family with the rows it was admitted to, and a plan that lacks only the number of components."""

    name: str
    plan: Plan
    checked: CheckedRows
    columns: Sequence[str] | None
    families: tuple[ExponentialFamily, ...] = ()
    """The families of its components, those with parameters in turn; none where all are of one."""

    def plan_for(self, n_components: int) -> Plan:
        """The plan with that many components, besides those without parameters."""
        if not self.families:
            return replace(self.plan, n_components=n_components)
        return replace(self.plan, family=with_components(self.families, n_components))

    @property
    def family(self) -> ExponentialFamily:
        """The family, which knows the data's columns."""
        return self.checked.family

    def prepared(
        self, n_components: int, n_threads: int, sampling: np.random.Generator
    ) -> Prepared | PreparedShapes | PreparedParts:
        """The learning problem, made once for all numbers of components up to this where they are of one family."""
        plan = self.plan_for(n_components)
        checked = self.checked
        if self.families:
            checked = replace(checked, family=resolve(plan.family).for_data(checked.X))
        rows: Any = checked.X if isinstance(checked.X, Intervals) else None
        if not checked.family.exponential or (self.families and checked.holes):
            rows = Intervals(checked.X, checked.X) if rows is None else rows
            return prepare_known_shapes(checked.family, rows, checked.weights, checked.weight_factor, plan)
        if rows is not None:
            return prepare_parts(rows, plan, checked.weights, self.columns, sampling)
        return prepare_rows(checked, plan, sampling, n_threads)

    def candidate(self, fit: Fit, n_components: int, seconds: float) -> Candidate:
        """A fit as users see it in a selection."""
        note = _note(fit, self.plan_for(n_components).n_components)
        fit = replace(fit, mixture=fit.mixture.with_columns(distinct_names(self.columns)))
        return Candidate(self.name, self.family, n_components, fit, fit.criteria, seconds, note)


def _note(fit: Fit, n_components: int) -> str:
    missing = n_components - fit.mixture.n_components
    if missing > 0:
        return f"{missing} of {n_components} components ended up empty and were removed"
    return "iteration limit reached" if fit.stop_reason == ITERATION_LIMIT else ""


def families_of(families: Families | None, X: ArrayLike) -> dict[str, ExponentialFamily]:
    """The families asked for, or the usual ones for data like this, each under a name of its own."""
    if families is None:
        families = usual_families(X)
    one = isinstance(families, str | ExponentialFamily) or not isinstance(families, Iterable)
    listed: list[Any] = [families] if one else list(families)  # type: ignore[arg-type]
    listed = [each for family in listed for each in expanded(family, X)]
    if not listed:
        raise ValueError("families is empty: name at least one, or omit it to compare the usual ones")
    resolved = [resolve(family) for family in listed]
    for place, family in enumerate(resolved):
        if isinstance(family, Parameterless):
            raise ValueError(
                f"{family.name} has no parameters: name it as a component beside others, as in 'gaussian,{family.name}'"
            )
        if family in resolved[:place]:
            raise ValueError(f"families names {family.name} twice: name each once")
    check_comparable(resolved, complete=False)
    names = [family.full_name for family in resolved]
    return {
        name if names.count(name) == 1 else _distinguished(family): family
        for name, family in zip(names, resolved, strict=True)
    }


def expanded(family: FamilyLike, X: ArrayLike) -> list[FamilyLike]:
    """ "gaussians" as the covariance models: fourteen, or two in one column."""
    if not isinstance(family, str) or family != GAUSSIANS:
        return [family]
    one_column = np.ndim(X) == 1 or np.shape(X)[1] == 1
    return [structured(structure) for structure in (("EII", "VII") if one_column else MODELS)]


def _distinguished(family: ExponentialFamily) -> str:
    if isinstance(family, Product):
        return " + ".join(_distinguished(block) for block in family.families)
    given = {field.name: getattr(family, field.name) for field in fields(family)}
    fixed = [
        f"{name}={value}" for name, value in given.items() if value not in (None, False) and (name, value) != ONE_COLUMN
    ]
    return f"{family.name} ({', '.join(fixed)})" if fixed else family.name


def admitted(
    families: Mapping[str, ExponentialFamily],
    X: ArrayLike,
    sample_weight: ArrayLike | None,
    plan: Plan,
    columns: Sequence[str] | None = None,
) -> tuple[list[FamilyCandidate], list[Candidate]]:
    """The families whose support holds the data, and the others with the reason; if there are only others, an error."""
    intervals = as_intervals(X)
    family_candidates: list[FamilyCandidate] = []
    refused: list[Candidate] = []
    for name, family in families.items():
        # Converted once: later families see the rows of the first one admitted.
        data = family_candidates[0].checked.X if family_candidates and intervals is None else X
        try:
            if intervals is None:
                checked = check_rows(data, family, sample_weight, columns)
            else:
                checked = check_intervals(intervals, family, sample_weight, columns)
        except (TypeError, ValueError) as error:
            refused.append(Candidate(name, family, None, note=" ".join(str(error).split())))
            continue
        kinds = family.families if isinstance(family, ComponentFamilies) else ()
        own = replace(plan, family=family)
        own.check(checked.X.shape[0])
        family_candidates.append(FamilyCandidate(name, own, checked, columns, kinds))
    if not family_candidates:
        raise ValueError(_reasons(refused))
    check_comparable([family_candidate.family for family_candidate in family_candidates])
    return family_candidates, refused


def without_redundant_columns(
    family_candidates: list[FamilyCandidate],
) -> tuple[list[FamilyCandidate], tuple[str, ...]]:
    """The same families on the columns that say something of their own, and the names of the others."""
    first = family_candidates[0]
    rows = first.checked.X
    if (
        isinstance(rows, Intervals)
        or issparse(rows)
        or not all(allows_fewer_columns(resolve(c.plan.family)) for c in family_candidates)
    ):
        return family_candidates, ()
    redundant = redundant_columns(rows)
    if len(redundant) == 0:
        return family_candidates, ()
    fewer = np.ascontiguousarray(np.delete(rows, redundant, axis=1))
    names = first.columns
    left_out = tuple(str(place) if names is None else repr(str(names[place])) for place in redundant)
    return [_on_rows(family_candidate, fewer) for family_candidate in family_candidates], left_out


def _on_rows(family_candidate: FamilyCandidate, rows: Array) -> FamilyCandidate:
    family = resolve(family_candidate.plan.family).for_data(rows)
    checked = replace(family_candidate.checked, family=family, X=rows, summary=None)
    return replace(family_candidate, checked=checked, columns=None)


def _reasons(refused: list[Candidate]) -> str:
    """One sentence for the reasons of all."""
    reasons = list(dict.fromkeys(candidate.note for candidate in refused))
    if len(reasons) == 1:
        return reasons[0]
    message = "; ".join(f"{candidate.name}: {candidate.note}" for candidate in refused)
    return f"no family supports the data ({message})"
