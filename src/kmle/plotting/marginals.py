"""The distributions of some of the columns: what single panels of a plot draw."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..families import (
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    ExponentialFamily,
    FixedCovarianceGaussian,
    Gaussian,
    Product,
    SphericalGaussian,
    StudentT,
    VonMises,
)
from ..families.components import ComponentFamilies
from ..families.numeric_divergences import NumericDivergences
from ..families.support import Blocks, Integers, Interval, Support
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..queries import moments
from ..queries.marginals import marginal as closed_form

Marginals = tuple[ExponentialFamily, Array]


def marginal(mixture: Mixture, columns: Sequence[int]) -> Mixture | None:
    """The mixture of these columns alone, None where it has no closed form.

    >>> wide = Mixture.from_source("gaussian", [1.0], mean=[[0.0, 5.0]], covariance=[[[1.0, 0.5], [0.5, 2.0]]])
    >>> marginal(wide, [1]).source["mean"]
    array([[5.]])
    """
    found = _marginals(mixture.family, mixture.natural, tuple(columns))
    return None if found is None else Mixture(found[0], mixture.weights, found[1])


def _marginals(family: ExponentialFamily, natural: Array, columns: tuple[int, ...]) -> Marginals | None:
    width = family.n_features or 1
    if columns == tuple(range(width)):
        return family, natural
    if (parts := gaussian_parts(family, natural)) is not None:
        mean, covariance = parts
        source = {"mean": mean[:, columns], "covariance": covariance[:, columns][:, :, columns]}
        return Gaussian(n_features=len(columns)), Gaussian().natural_from_source(**source)
    if family.independent_columns:
        blocks = natural.reshape(len(natural), family.n_statistics_for(1), width)[:, :, columns]
        return replace(family, n_features=len(columns)), blocks.reshape(len(natural), -1)
    if isinstance(family, Categorical):
        return _categorical(family, natural, columns)
    if isinstance(family, Dirichlet) and len(columns) == 1:
        concentration = natural + 1
        alpha = concentration[:, columns]
        return Beta(n_features=1), Beta().natural_from_source(alpha=alpha, beta=concentration.sum(1)[:, None] - alpha)
    if isinstance(family, StudentT | ComponentFamilies):
        return _closed_form(family, natural, columns)
    return _product(family, natural, columns) if isinstance(family, Product) else None


def _closed_form(family: ExponentialFamily, natural: Array, columns: tuple[int, ...]) -> Marginals | None:
    try:
        return closed_form(family, natural, columns)
    except ValueError:
        return None  # a member has none


def _categorical(family: Categorical, natural: Array, columns: tuple[int, ...]) -> Marginals:
    levels = category_counts(family)
    spans = np.split(natural, np.cumsum(levels)[:-1], axis=1)
    chosen = tuple(levels[column] for column in columns)
    return Categorical(chosen), np.concatenate([spans[column] for column in columns], axis=1)


def category_counts(family: Categorical) -> tuple[int, ...]:
    """How many categories each column has."""
    counts = family.n_categories
    return counts if isinstance(counts, tuple) else (counts or 1,) * (family.n_features or 1)


def _product(family: Product, natural: Array, columns: tuple[int, ...]) -> Marginals | None:
    """The blocks that hold the columns, each reduced to them; None if a block would have to be cut in two."""
    starts = np.cumsum([0, *family.widths])
    spans = np.split(natural, np.cumsum([block.n_statistics for block in family.families])[:-1], axis=1)
    owners = [int(np.searchsorted(starts, column, side="right")) - 1 for column in columns]
    places = [owner for at, owner in enumerate(owners) if at == 0 or owners[at - 1] != owner]
    if len(set(places)) < len(places):
        return None
    parts = []
    for place in places:
        inside = tuple(int(c - starts[place]) for c, owner in zip(columns, owners, strict=True) if owner == place)
        parts.append(_marginals(family.families[place], spans[place], inside))
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    if len(found) == 1:
        return found[0]
    return Product(tuple(natural[0] for natural in found)), np.concatenate([natural[1] for natural in found], axis=1)


def gaussian_parts(family: ExponentialFamily, natural: Array) -> tuple[Array, Array] | None:
    """Means (k, d) and covariances (k, d, d) of Gaussian distributions of any kind; None for other families."""
    if not isinstance(family, Gaussian | DiagonalGaussian | SphericalGaussian | FixedCovarianceGaussian):
        return None
    source = family.source_from_natural(natural)
    mean = source["mean"]
    k, d = mean.shape
    if isinstance(family, Gaussian):
        return mean, source["covariance"]
    spread = np.asarray(source.get("variance", getattr(family, "covariance", None)), dtype=float)
    if isinstance(family, FixedCovarianceGaussian):
        square = spread if spread.ndim == 2 else np.diag(np.broadcast_to(spread, d))
        return mean, np.broadcast_to(square, (k, d, d))
    return mean, spread.reshape(k, -1)[:, :, None] * np.eye(d)


def column_supports(mixture: Mixture) -> list[Support]:
    """Where the numbers of each column may lie."""
    support, width = mixture.family.support, mixture.family.n_features or 1
    if isinstance(support, Blocks):
        return [own for own, count in zip(support.supports, support.widths, strict=True) for _ in range(count)]
    if isinstance(support, Integers) and isinstance(support.upper, tuple):
        return [Integers(support.lower, upper) for upper in support.upper]
    return [support] * width


def means(mixture: Mixture) -> Array | None:
    """The mean of every component in every column, (k, d), circular for angles; None where there is no formula."""
    family, natural = mixture.family, mixture.natural
    if (parts := gaussian_parts(family, natural)) is not None:
        return parts[0]
    if isinstance(family, VonMises):
        return family.source_from_natural(natural)["mean"]
    if isinstance(family, StudentT):
        return family.source_from_natural(natural)["location"]
    if isinstance(family, ComponentFamilies):
        members = [means(Mixture(own.family, np.ones(1), own.natural)) for own in mixture.members]
        return None if any(mean is None for mean in members) else np.concatenate([m for m in members if m is not None])
    if family.n_features == 1:
        return _quadrature_means(mixture) if isinstance(family.support, Interval | Integers) else None
    columns = [marginal(mixture, [column]) for column in range(family.n_features or 1)]
    each = [None if column is None else means(column) for column in columns]
    return None if any(mean is None for mean in each) else np.concatenate([m for m in each if m is not None], axis=1)


def _quadrature_means(mixture: Mixture) -> Array:
    values = []
    for natural in mixture.natural:
        x, mass = weighted_nodes(mixture.family, natural)
        values.append(mass @ x)
    return np.array(values)[:, None]


def weighted_nodes(family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
    """Points and the probability each stands for, of one univariate distribution (D,)."""
    if isinstance(family, NumericDivergences):
        family, natural = family.family_of(natural)
    return moments.weighted_nodes(family, natural)
