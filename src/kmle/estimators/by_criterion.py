"""A fit with the family and the number of components that a criterion prefers, or with those that are given."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from ..algorithms import Fit
from ..families import ExponentialFamily, resolve
from ..numerics.options import whole_number
from .comparison import compared
from .family_candidates import GAUSSIANS, Families, families_of
from .learn import learn
from .plan import Plan

Sizes = int | str | Iterable[int]


def learn_by_bic(
    X: Any,
    families: Families,
    sizes: Sequence[int],
    plan: Plan,
    sample_weight: ArrayLike | None = None,
    columns: Sequence[str] | None = None,
) -> Fit:
    """The fit with the lowest BIC among families and numbers of components; one alone is not compared."""
    few = listed_families(families, X)
    if len(few) == 1 and len(sizes) == 1:
        only = replace(plan, family=few[0], n_components=sizes[0])
        return learn(X, only, sample_weight=sample_weight, columns=columns)
    found = compared(X, few, sizes, "bic", plan, sample_weight=sample_weight, columns=columns)
    return replace(found.fit, mixture=found.fit.mixture.with_columns(columns))


def sizes_of(n_components: Sizes, most: int, families: Families, shape: tuple[int, ...]) -> list[int]:
    """The numbers of components to try for rows of this shape.

    "auto" is 1 to `most`, but no more components than there are rows to estimate the parameters of each: with fewer,
    BIC prefers spikes.

    >>> sizes_of("auto", 5, "gaussian", (20, 2)), sizes_of(3, 5, "gaussian", (20, 2))
    ([1, 2, 3, 4], [3])
    """
    if isinstance(n_components, str):
        if n_components != "auto":
            raise ValueError(f"n_components is {n_components!r}: it must be 'auto', a number or several numbers")
        return list(range(1, max(1, min(most, shape[0] // n_statistics(first_of(families), shape[1]))) + 1))
    sizes: list[Any] = list(n_components) if isinstance(n_components, Iterable) else [n_components]
    if not sizes:
        raise ValueError("n_components is empty: give at least one number of components")
    for size in sizes:
        whole_number("n_components", size, 1, " 'auto' or several numbers")
    return [int(size) for size in sizes]


def n_statistics(family: ExponentialFamily, n_columns: int) -> int:
    """The number of statistics of one component on that many columns."""
    try:
        return max(1, family.n_statistics_for(family.n_features or n_columns))
    except ValueError:  # what the data has to say first
        return n_columns


def listed_families(families: Families, X: Any) -> list[ExponentialFamily]:
    """The families to try on these rows."""
    if families is None:
        raise ValueError("family is None: give a short name such as 'gaussian', or a family object")
    return list(families_of(families, X).values())


def first_of(families: Families) -> ExponentialFamily:
    """A family that says how data is read; all that are compared read the same."""
    one = isinstance(families, str | ExponentialFamily) or not isinstance(families, Iterable)
    first: Any = families if one else next(iter(families), GAUSSIANS)  # type: ignore[arg-type]
    return resolve("gaussian" if first == GAUSSIANS else first)
