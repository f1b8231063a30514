"""Marginal distributions of some columns, for families closed under them.

`marginal` dispatches on the family: `marginal.register` adds one. Natural parameters are (..., D) arrays. A marginal
of a Dirichlet or multinomial holds one more column, the sum of those left out; of a single column it is a beta or
binomial.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import groupby

import numpy as np

from ..families import (
    Beta,
    Binomial,
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

Distributions = tuple[ExponentialFamily, Array]


@singledispatch
def marginal(family: ExponentialFamily, natural: Array, columns: Sequence[int]) -> Distributions:
    """The family and natural parameters of these columns, in this order."""
    if family.independent_columns:
        table = natural.reshape(*natural.shape[:-1], family.n_statistics_for(1), -1)[..., list(columns)]
        return replace(family, n_features=len(columns)), table.reshape(*natural.shape[:-1], -1)
    if list(columns) == list(range(family.n_features or 1)):
        return family, natural
    raise ValueError(f"{family.name} has no closed form for the distribution of some of its columns")


@marginal.register
def _(family: Gaussian, natural: Array, columns: Sequence[int]) -> Distributions:
    source = family.source_from_natural(natural)
    part = Gaussian(n_features=len(columns))
    covariance = source["covariance"][..., list(columns), :][..., list(columns)]
    return part, part.natural_from_source(mean=source["mean"][..., list(columns)], covariance=covariance)


@marginal.register
def _(family: ComponentFamilies, natural: Array, columns: Sequence[int]) -> Distributions:
    members = [marginal(own, theta[None], columns) for own, theta in family.members(natural)]
    part = ComponentFamilies(tuple(own for own, _ in members))
    return part, part.natural_of([(own, theta[0]) for own, theta in members])


@marginal.register
def _(family: Uniform, natural: Array, columns: Sequence[int]) -> Distributions:
    if family.low is None or family.high is None:
        raise ValueError("uniform has no box yet: use family.for_data(X)")
    low, high = (tuple(bounds[column] for column in columns) for bounds in (family.low, family.high))
    return Uniform(low, high, family.everywhere), natural


@marginal.register
def _(family: StudentT, natural: Array, columns: Sequence[int]) -> Distributions:
    source = family.source_from_natural(natural)
    source["location"] = source["location"][..., list(columns)]
    source["scale"] = source["scale"][..., list(columns), :][..., list(columns)]
    return replace(family, n_features=len(columns)), family.natural_from_source(**source)


@marginal.register
def _(family: SphericalGaussian, natural: Array, columns: Sequence[int]) -> Distributions:
    return replace(family, n_features=len(columns)), natural[..., [*columns, -1]]


@marginal.register
def _(family: FixedCovarianceGaussian, natural: Array, columns: Sequence[int]) -> Distributions:
    table = np.asarray(family.covariance, dtype=float)
    own = table if table.ndim == 0 else table[list(columns)] if table.ndim == 1 else table[np.ix_(columns, columns)]
    part = FixedCovarianceGaussian(own, n_features=len(columns))
    return part, part.natural_from_source(mean=family.moment_from_natural(natural)[..., list(columns)])


@marginal.register
def _(family: Categorical, natural: Array, columns: Sequence[int]) -> Distributions:
    levels, spans = category_spans(family, natural)
    part = Categorical(tuple(levels[column] for column in columns))
    return part, np.concatenate([natural[..., spans[column]] for column in columns], axis=-1)


@marginal.register
def _(family: Dirichlet, natural: Array, columns: Sequence[int]) -> Distributions:
    concentration = family.source_from_natural(natural)["concentration"]
    own = concentration[..., list(columns)]
    rest = concentration.sum(axis=-1, keepdims=True) - own.sum(axis=-1, keepdims=True)
    if len(columns) == family.n_features:
        return family, family.natural_from_source(concentration=own)
    if len(columns) == 1:
        one = Beta(n_features=1)
        return one, one.natural_from_source(alpha=own, beta=rest)
    part = Dirichlet(n_features=len(columns) + 1)
    return part, part.natural_from_source(concentration=np.concatenate([own, rest], axis=-1))


@marginal.register
def _(family: Multinomial, natural: Array, columns: Sequence[int]) -> Distributions:
    probabilities = family.source_from_natural(natural)["probabilities"]
    own = probabilities[..., list(columns)]
    if len(columns) == family.n_features:
        return family, natural[..., list(columns)]
    rest = np.delete(probabilities, list(columns), axis=-1).sum(axis=-1, keepdims=True)
    if len(columns) == 1:
        one = Binomial(_trials(family), n_features=1)
        return one, one.natural_from_source(probability=own)
    part = Multinomial(_trials(family), n_features=len(columns) + 1)
    return part, part.natural_from_source(probabilities=np.concatenate([own, rest], axis=-1))


@marginal.register
def _(family: Product, natural: Array, columns: Sequence[int]) -> Distributions:
    blocks, parts = column_blocks(family), product_parts(family, natural)
    found: list[Distributions] = []
    used: list[int] = []
    for block, run in groupby(columns, key=lambda column: blocks[column][0]):
        own = family.families[block]
        if block in used and not (own.independent_columns or isinstance(own, Categorical)):
            raise ValueError(
                f"the {own.name} columns of a product must stay side by side: name them one after the other"
            )
        used.append(block)
        found.append(marginal(own, parts[block], [blocks[column][1] for column in run]))
    return joined(found)


def joined(parts: Sequence[Distributions]) -> Distributions:
    """Independent blocks side by side; one alone is itself."""
    if len(parts) == 1:
        return parts[0]
    return Product(tuple(part[0] for part in parts)), np.concatenate([part[1] for part in parts], axis=-1)


def column_blocks(family: Product) -> list[tuple[int, int]]:
    """The block of each column, and its place there."""
    return [(block, place) for block, width in enumerate(family.widths) for place in range(width)]


def product_parts(family: Product, natural: Array) -> list[Array]:
    """The natural parameters of each block."""
    return np.split(natural, np.cumsum([own.n_statistics for own in family.families])[:-1], axis=-1)


def category_spans(family: Categorical, natural: Array) -> tuple[tuple[int, ...], list[slice]]:
    """The number of categories of each column, and where their natural parameters are."""
    levels = family.n_categories
    assert levels is not None  # the family has parameters
    counts = levels if isinstance(levels, tuple) else (levels,) * (natural.shape[-1] // levels)
    ends = np.cumsum(counts).tolist()
    return counts, [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]


def _trials(family: Multinomial) -> int:
    if family.trials is None:
        raise ValueError("these rows had different totals: use a Multinomial with `trials` set to one total")
    return family.trials


@singledispatch
def marginal_rows(family: ExponentialFamily, columns: Sequence[int], values: Array) -> Array:
    """Values (n, q) of these columns as rows of `marginal`: with the column of the rest, where there is one."""
    return values


@marginal_rows.register
def _(family: Dirichlet, columns: Sequence[int], values: Array) -> Array:
    return _with_rest(family, columns, values, 1.0)


@marginal_rows.register
def _(family: Multinomial, columns: Sequence[int], values: Array) -> Array:
    return values if len(columns) == family.n_features else _with_rest(family, columns, values, _trials(family))


@marginal_rows.register
def _(family: Product, columns: Sequence[int], values: Array) -> Array:
    blocks = column_blocks(family)
    parts, start = [], 0
    for block, run in groupby(columns, key=lambda column: blocks[column][0]):
        own = [blocks[column][1] for column in run]
        parts.append(marginal_rows(family.families[block], own, values[:, start : start + len(own)]))
        start += len(own)
    return np.concatenate(parts, axis=1)


def _with_rest(family: ExponentialFamily, columns: Sequence[int], values: Array, total: float) -> Array:
    if len(columns) in (1, family.n_features):
        return values
    return np.concatenate([values, total - values.sum(axis=1, keepdims=True)], axis=1)
