"""Who takes part in a selection: families that can hold the data, each with its checked rows and an estimator."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..families import ExponentialFamily, resolve
from ..families.sparse import issparse
from ..learning import Fit
from ..learning.state import ITERATION_LIMIT
from ..numerics.arrays import Array
from ..selection.candidates import Candidate
from ..selection.measures import check_comparable
from ..selection.redundancy import allows_fewer_columns, redundant_columns
from .preparation import Prepared
from .shared import MixtureEstimator
from .usual import usual_families

Families = Iterable[str | ExponentialFamily] | str | ExponentialFamily


@dataclass(frozen=True)
class Contestant:
    """A family with the data it was admitted to; its estimator has every setting but the number of components."""

    name: str
    model: MixtureEstimator
    rows: Array
    weights: Array | None

    def prepared(self, n_components: int, n_threads: int, sampling: np.random.Generator) -> Prepared:
        """The learning problem, made once for all numbers of components up to this."""
        return self.model._prepared(self.rows, self.weights, n_components, n_threads, sampling)

    def candidate(self, fit: Fit, n_components: int, seconds: float) -> Candidate:
        """A fit as users see it in a selection."""
        note = _note(fit, n_components)
        return Candidate(self.name, self.model.family_, n_components, fit, fit.criteria, seconds, note)


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
        raise ValueError("families is empty: name at least one, or leave it out for the usual ones")
    resolved = [resolve(family) for family in listed]
    for place, family in enumerate(resolved):
        if family in resolved[:place]:
            raise ValueError(f"families has {family.name} twice: name each once")
    check_comparable(resolved, settled=False)
    names = [family.name for family in resolved]
    return {
        name if names.count(name) == 1 else _told_apart(family): family
        for name, family in zip(names, resolved, strict=True)
    }


def _told_apart(family: ExponentialFamily) -> str:
    facts = [f"{field.name}={getattr(family, field.name)}" for field in fields(family)]
    return f"{family.name} ({', '.join(fact for fact in facts if not fact.endswith('=None'))})"


def admitted(
    families: Mapping[str, ExponentialFamily],
    X: ArrayLike,
    sample_weight: ArrayLike | None,
    kind: type[Any],
    settings: Mapping[str, Any],
    columns: Sequence[str] | None = None,
) -> tuple[list[Contestant], list[Candidate]]:
    """The families whose support holds the data, and the others with the reason; if there are only others, an error."""
    contestants: list[Contestant] = []
    refused: list[Candidate] = []
    for name, family in families.items():
        model: Any = kind(1, family=family, **settings)
        if columns is not None:
            model.feature_names_in_ = np.array(columns, dtype=object)
        # Converted once: later families look at the rows of the first one admitted.
        data = contestants[0].rows if contestants else X
        try:
            rows, weights = model._checked_data(data, sample_weight)
        except (TypeError, ValueError) as error:
            refused.append(Candidate(name, family, None, note=" ".join(str(error).split())))
            continue
        model._checked_arguments(rows.shape[0])
        if contestants and hasattr(contestants[0].model, "feature_names_in_"):
            model.feature_names_in_ = contestants[0].model.feature_names_in_
        contestants.append(Contestant(name, model, rows, weights))
    if not contestants:
        raise ValueError(_told_together(refused))
    check_comparable([contestant.model.family_ for contestant in contestants])
    return contestants, refused


def without_redundant_columns(contestants: list[Contestant]) -> tuple[list[Contestant], tuple[str, ...]]:
    """The same families on the columns that say something of their own, and the names of the others."""
    first = contestants[0]
    if issparse(first.rows) or not all(allows_fewer_columns(resolve(c.model.family)) for c in contestants):
        return contestants, ()
    redundant = redundant_columns(first.rows)
    if len(redundant) == 0:
        return contestants, ()
    rows = np.ascontiguousarray(np.delete(first.rows, redundant, axis=1))
    names = getattr(first.model, "feature_names_in_", None)
    told = tuple(str(place) if names is None else repr(str(names[place])) for place in redundant)
    return [_on_rows(contestant, rows) for contestant in contestants], told


def _on_rows(contestant: Contestant, rows: Array) -> Contestant:
    model = copy(contestant.model)
    model.__dict__.pop("feature_names_in_", None)  # the names of all columns
    model.family_ = resolve(model.family).for_data(rows)
    return replace(contestant, model=model, rows=rows)


def _told_together(refused: list[Candidate]) -> str:
    """One sentence for the reasons of all."""
    reasons = list(dict.fromkeys(candidate.note for candidate in refused))
    if len(reasons) == 1:
        return reasons[0]
    told = "; ".join(f"{candidate.name}: {candidate.note}" for candidate in refused)
    return f"none of the families can hold the data ({told})"
