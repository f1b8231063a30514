"""Who takes part in a selection: families that can hold the data, each with its checked rows and an estimator."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import Fit
from ..algorithms.state import ITERATION_LIMIT
from ..families import ExponentialFamily, resolve
from ..families.sparse import issparse
from ..numerics.arrays import Array
from ..selection.candidates import Candidate
from ..selection.measures import check_comparable
from ..selection.redundancy import allows_fewer_columns, redundant_columns
from .plan import Plan
from .prepare import CheckedRows, Prepared, check_rows, prepare_rows
from .usual import usual_families

Families = Iterable[str | ExponentialFamily] | str | ExponentialFamily


@dataclass(frozen=True)
class FamilyCandidate:
    """A family with the rows it was admitted to, and a plan that lacks only the number of components."""

    name: str
    plan: Plan
    checked: CheckedRows
    columns: Sequence[str] | None

    @property
    def family(self) -> ExponentialFamily:
        """The family, which knows the data's columns."""
        return self.checked.family

    def prepared(self, n_components: int, n_threads: int, sampling: np.random.Generator) -> Prepared:
        """The learning problem, made once for all numbers of components up to this."""
        return prepare_rows(self.checked, replace(self.plan, n_components=n_components), sampling, n_threads)

    def candidate(self, fit: Fit, n_components: int, seconds: float) -> Candidate:
        """A fit as users see it in a selection."""
        note = _note(fit, n_components)
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
    listed = [families] if isinstance(families, str | ExponentialFamily) else list(families)
    if not listed:
        raise ValueError("families is empty: name at least one, or omit it to compare the usual ones")
    resolved = [resolve(family) for family in listed]
    for place, family in enumerate(resolved):
        if family in resolved[:place]:
            raise ValueError(f"families names {family.name} twice: name each once")
    check_comparable(resolved, complete=False)
    names = [family.name for family in resolved]
    return {
        name if names.count(name) == 1 else _distinguished(family): family
        for name, family in zip(names, resolved, strict=True)
    }


def _distinguished(family: ExponentialFamily) -> str:
    fixed = [f"{field.name}={getattr(family, field.name)}" for field in fields(family)]
    return f"{family.name} ({', '.join(each for each in fixed if not each.endswith('=None'))})"


def admitted(
    families: Mapping[str, ExponentialFamily],
    X: ArrayLike,
    sample_weight: ArrayLike | None,
    plan: Plan,
    columns: Sequence[str] | None = None,
) -> tuple[list[FamilyCandidate], list[Candidate]]:
    """The families whose support holds the data, and the others with the reason; if there are only others, an error."""
    family_candidates: list[FamilyCandidate] = []
    refused: list[Candidate] = []
    for name, family in families.items():
        # Converted once: later families see the rows of the first one admitted.
        data = family_candidates[0].checked.X if family_candidates else X
        try:
            checked = check_rows(data, family, sample_weight, columns)
        except (TypeError, ValueError) as error:
            refused.append(Candidate(name, family, None, note=" ".join(str(error).split())))
            continue
        own = replace(plan, family=family)
        own.check(checked.X.shape[0])
        family_candidates.append(FamilyCandidate(name, own, checked, columns))
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
    if issparse(rows) or not all(allows_fewer_columns(resolve(c.plan.family)) for c in family_candidates):
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
    checked = replace(family_candidate.checked, family=family, X=rows)
    return replace(family_candidate, checked=checked, columns=None)


def _reasons(refused: list[Candidate]) -> str:
    """One sentence for the reasons of all."""
    reasons = list(dict.fromkeys(candidate.note for candidate in refused))
    if len(reasons) == 1:
        return reasons[0]
    message = "; ".join(f"{candidate.name}: {candidate.note}" for candidate in refused)
    return f"no family supports the data ({message})"
