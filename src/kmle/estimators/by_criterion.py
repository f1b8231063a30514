"""A fit with the family and the number of components that a criterion prefers, or with those that are given."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from ..algorithms import Fit
from ..families import ExponentialFamily, resolve
from .comparison import compared
from .family_candidates import Families
from .learn import learn
from .plan import Plan

Sizes = int | str | Iterable[int]


def learn_by_bic(
    X: Any,
    families: Families,
    sizes: Iterable[int] | int,
    plan: Plan,
    sample_weight: ArrayLike | None = None,
    columns: Sequence[str] | None = None,
) -> Fit:
    """The fit with the lowest BIC among families and numbers of components; one alone is not compared."""
    few = [families] if isinstance(families, str | ExponentialFamily) else list(families)
    numbers = [sizes] if isinstance(sizes, int) else list(sizes)
    if len(few) == 1 and len(numbers) == 1:
        only = replace(plan, family=few[0], n_components=numbers[0])
        return learn(X, only, sample_weight=sample_weight, columns=columns)
    found = compared(X, few, numbers, "bic", plan, sample_weight=sample_weight, columns=columns)
    return replace(found.fit, mixture=found.fit.mixture.with_columns(columns))


def sizes_of(n_components: Sizes, most: int, families: Families, shape: tuple[int, ...]) -> int | list[int]:
    """The numbers of components to try for rows of this shape.

    "auto" is 1 to `most`, but no more components than there are rows to estimate the parameters of each: with fewer,
    BIC prefers spikes.
    """
    if isinstance(n_components, str):
        if n_components != "auto":
            raise ValueError(f"n_components is {n_components!r}: it must be 'auto', a number or several numbers")
        n_rows, n_columns = shape
        family = first_of(families)
        try:
            enough = n_rows // family.n_statistics_for(family.n_features or n_columns)
        except ValueError:  # what the data has to say first
            enough = n_rows // n_columns
        return list(range(1, max(1, min(most, enough)) + 1))
    try:
        return list(n_components)  # type: ignore[arg-type]
    except TypeError:
        return n_components  # type: ignore[return-value]


def first_of(families: Families) -> ExponentialFamily:
    """A family that says how data is read; all that are compared read the same."""
    if isinstance(families, str | ExponentialFamily):
        return resolve(families)
    return resolve(next(iter(families)))
