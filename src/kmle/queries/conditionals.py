"""Conditional distributions of the other columns given some, for families closed under them.

`conditional` dispatches on the family: `conditional.register` adds one. For Gaussians the mean is linear in the known
values and the covariance does not depend on them (Eaton 1983, proposition 3.13); for independent columns nothing does.
Given columns of a Dirichlet, the others, divided by their sum, are Dirichlet; given counts of a multinomial, the others
are multinomial with the remaining total. Rows that lack known values are conditioned on those they have.
"""

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from ..data.holes import unique_patterns
from ..families import (
    Categorical,
    ComponentFamilies,
    Dirichlet,
    ExponentialFamily,
    FixedCovarianceGaussian,
    Gaussian,
    Multinomial,
    Product,
    SphericalGaussian,
    StudentT,
    Uniform,
)
from ..numerics.arrays import Array
from .columns import other_places
from .conditional_forms import Blocks, Conditional, HeavyTailed, Linear, Members, Remaining, Unchanged
from .conditionals_by_pattern import ByPattern
from .marginals import column_blocks, joined, marginal, product_parts
from .moments import covariances, means


@singledispatch
def conditional(family: ExponentialFamily, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    """The distributions of the other columns given values (n, q) of the `known` ones, in ascending order."""
    if family.independent_columns:
        return Unchanged(*marginal(family, natural, other_places(known, family.n_features or 1)))
    raise ValueError(f"{family.name} has no closed form for some of its columns given the others")


@conditional.register
def _(family: ComponentFamilies, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    parts = tuple(conditional(own, theta[None], known, values) for own, theta in family.members(natural))
    return Members(ComponentFamilies(tuple(part.family for part in parts)), parts)


@conditional.register
def _(family: Uniform, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    return Unchanged(*marginal(family, natural, other_places(known, family.n_features or 1)))


@conditional.register
def _(family: StudentT, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    source, gaussian = family.source_from_natural(natural), Gaussian(n_features=family.n_features)
    theta = gaussian.natural_from_source(mean=source["location"], covariance=source["scale"])
    linear = conditional(gaussian, theta, known, values)
    assert isinstance(linear, Linear)  # as Gaussians are
    part, own = marginal(family, natural, known)
    assert isinstance(part, StudentT)
    rest = StudentT(n_features=linear.family.n_features)
    return HeavyTailed(rest, linear, part, own, family.parts(natural).degrees)


@conditional.register
def _(family: SphericalGaussian, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    return Unchanged(*marginal(family, natural, other_places(known, family.n_features or 1)))


@conditional.register
def _(family: Categorical, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    return Unchanged(*marginal(family, natural, other_places(known, family.n_features or 1)))


@conditional.register
def _(family: Gaussian, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    source = family.source_from_natural(natural)
    rest = other_places(known, source["mean"].shape[-1])
    return _linear(Gaussian(n_features=len(rest)), source["mean"], source["covariance"], list(known), rest)


@conditional.register
def _(family: FixedCovarianceGaussian, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    rest = other_places(known, family.n_features or 1)
    table = np.asarray(family.covariance, dtype=float)
    if table.ndim < 2:
        return Unchanged(*marginal(family, natural, rest))
    mean = family.moment_from_natural(natural)
    covariance = np.broadcast_to(table, (len(mean), *table.shape))
    found = _linear(family, mean, covariance, list(known), rest)
    own = FixedCovarianceGaussian(found.covariance[0])
    return Linear(own, found.intercept, found.slope, found.center, found.covariance)


def _linear(family: ExponentialFamily, mean: Array, covariance: Array, known: list[int], rest: list[int]) -> Linear:
    """The regression of the rest on the known columns, from means (k, d) and covariances (k, d, d)."""
    center = mean[:, known].mean(axis=0)
    across = covariance[:, rest][:, :, known]
    slope = np.swapaxes(np.linalg.solve(covariance[:, known][:, :, known], np.swapaxes(across, 1, 2)), 1, 2)
    left = covariance[:, rest][:, :, rest] - slope @ np.swapaxes(across, 1, 2)
    intercept = mean[:, rest] + np.einsum("krq,kq->kr", slope, center - mean[:, known])
    return Linear(family, intercept, slope, center, 0.5 * (left + np.swapaxes(left, 1, 2)))


@conditional.register
def _(family: Dirichlet, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    rest = other_places(known, natural.shape[-1])
    if len(rest) < 2:
        raise ValueError("the last proportion follows from the others: leave at least two columns of a dirichlet open")
    return Unchanged(Dirichlet(n_features=len(rest)), natural[:, rest])


@conditional.register
def _(family: Multinomial, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    rest = other_places(known, natural.shape[-1])
    if len(rest) < 2:
        raise ValueError("the last count follows from the others: leave at least two columns of a multinomial open")
    assert family.trials is not None  # the marginal of the known counts needs them
    left = np.unique(family.trials - values.sum(axis=1))
    if left[-1] < 1:
        raise ValueError(f"the known counts sum to all {family.trials} trials: nothing is left for the other columns")
    part = Multinomial(int(left[0]) if len(left) == 1 else None, n_features=len(rest))
    probabilities = family.source_from_natural(natural)["probabilities"][:, rest]
    shares = probabilities / probabilities.sum(axis=-1, keepdims=True)
    own = part.natural_from_source(probabilities=shares)
    return Unchanged(part, own) if len(left) == 1 else Remaining(part, own, family.trials)


@conditional.register
def _(family: Product, natural: Array, known: Sequence[int], values: Array) -> Conditional:
    blocks, naturals = column_blocks(family), product_parts(family, natural)
    parts: list[tuple[Conditional, tuple[int, ...]]] = []
    for place, (own, theta) in enumerate(zip(family.families, naturals, strict=True)):
        positions = tuple(at for at, column in enumerate(known) if blocks[column][0] == place)
        if len(positions) == own.n_features:
            continue
        if not positions:
            parts.append((Unchanged(own, theta), ()))
        else:
            own_known = [blocks[known[at]][1] for at in positions]
            parts.append((conditional(own, theta, own_known, values[:, positions]), positions))
    whole, _ = joined([(part.family, np.zeros((1, part.family.n_statistics))) for part, _ in parts])
    return Blocks(whole, tuple(parts))


def conditional_by_pattern(
    family: ExponentialFamily, natural: Array, known: Sequence[int], values: Array
) -> Conditional:
    """The same where rows lack some of the known values (NaN): each is conditioned on those it has."""
    if isinstance(family, FixedCovarianceGaussian):  # what is left of its covariance differs by pattern
        source = {"mean": means(family, natural), "covariance": covariances(family, natural)}
        family = Gaussian(n_features=family.n_features)
        natural = family.natural_from_source(**source)
    others = other_places(known, family.n_features or 1)
    patterns, place = unique_patterns(np.isnan(values))
    parts = []
    for index, pattern in enumerate(patterns):
        has: list[int] = np.flatnonzero(~pattern).tolist()
        columns = sorted([*others, *(known[at] for at in has)])
        part, theta = marginal(family, natural, columns)
        if len(has):
            own_known = [columns.index(known[at]) for at in has]
            parts.append(conditional(part, theta, own_known, values[place == index][:, has]))
        else:
            parts.append(Unchanged(part, theta))
    if any(part.family != parts[0].family for part in parts):
        raise ValueError(
            f"what {family.name} leaves open depends on which values are known: condition on complete rows"
        )
    return ByPattern(parts[0].family, patterns, tuple(parts))
