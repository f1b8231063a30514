"""The identities that `check_family` tries on families that are no exponential families."""

from collections.abc import Callable

import numpy as np

from ..numerics.arrays import Array
from ..numerics.quadrature import integer_nodes, interval_nodes
from .coordinates import CoordinateFamily
from .support import Integers, Interval

DRAWS = 2000
# A mean over draws further away than this, in standard errors, is not chance.
SIX_SIGMA = 6.0
# Totals, parameters and likelihoods may be off by these.
TOTAL, RELATIVE, LIKELIHOOD = 1e-6, 1e-8, 1e-6


class NotCheckableError(Exception):
    """Why an identity cannot be tried on a family."""


def coordinate_checks(
    family: CoordinateFamily, points: Array, rng: np.random.Generator
) -> dict[str, Callable[[], str | None]]:
    """Each check by its name: it says what is wrong, or None."""
    return {
        "shapes": lambda: _shapes(family, points),
        "the density integrates to one": lambda: _normalised(family, points),
        "samples are legal and fit their distribution": lambda: _samples(family, points, rng),
        "usual parameters -> coordinates -> usual parameters is the identity": lambda: _source(family, points),
        "estimates are no worse than the truth": lambda: _estimates(family, points, rng),
        "better estimates never lower the likelihood": lambda: _ascent(family, points, rng),
    }


def _at(point: Array) -> str:
    return f"at {np.round(point, 6).tolist()}"


def _shapes(family: CoordinateFamily, points: Array) -> str | None:
    rows = np.tile(family.support.example(family.n_features or 1), (3, 1))
    got = np.shape(family.direct_log_density(rows, points))
    return None if got == (3, len(points)) else f"log-densities have shape {got} where {(3, len(points))} was expected"


def _nodes(family: CoordinateFamily, point: Array) -> tuple[Array, Array, Array]:
    """Rows of one column, their quadrature weights and log-densities."""
    support = family.support
    if family.n_features != 1:
        raise NotCheckableError("quadrature needs one column of numbers")

    def log_density(x: Array) -> Array:
        return family.direct_log_density(x[:, None], point[None])[:, 0]

    if isinstance(support, Integers) and not isinstance(support.upper, tuple):
        x, weights = integer_nodes(log_density, float(support.lower), float(support.upper))
    elif isinstance(support, Interval):
        x, weights = interval_nodes(log_density, support.lower, support.upper)
    else:
        raise NotCheckableError("quadrature needs one column of numbers")
    return x[:, None], weights, log_density(x)


def _normalised(family: CoordinateFamily, points: Array) -> str | None:
    for point in points:
        _, weights, density = _nodes(family, point)
        total = float(weights @ np.exp(density))
        if not abs(total - 1) <= TOTAL:
            return f"{_at(point)} the total is {total:.9g}"
    return None


def _samples(family: CoordinateFamily, points: Array, rng: np.random.Generator) -> str | None:
    """The mean log-density of draws is minus the entropy."""
    for point in points:
        _, weights, density = _nodes(family, point)
        p = weights * np.exp(density)
        expected = float(p @ np.where(p > 0, density, 0.0))
        rows = family.check(family.sample(point, DRAWS, rng))
        drawn = family.direct_log_density(rows, point[None])[:, 0]
        gap = abs(drawn.mean() - expected) / max(drawn.std() / np.sqrt(DRAWS), 1e-12)
        if not gap <= SIX_SIGMA:
            return f"{_at(point)} the mean log-density of draws is off by {gap:.1f} standard errors"
    return None


def _source(family: CoordinateFamily, points: Array) -> str | None:
    back = family.natural_from_source(**family.source_from_natural(points))
    off = np.abs(back - points) / np.maximum(np.abs(points), 1.0)
    return None if off.max() <= RELATIVE else f"it comes back off by {off.max():.3g}"


def _fit(family: CoordinateFamily, X: Array, natural: Array, shares: Array) -> Array:
    return np.einsum("nk,nk->k", shares, family.direct_log_density(X, natural))


def _estimates(family: CoordinateFamily, points: Array, rng: np.random.Generator) -> str | None:
    for point in points:
        X, ones = family.sample(point, DRAWS // 4, rng), np.ones((DRAWS // 4, 1))
        found = family.weighted_estimate(X, ones, None, None, None)
        worse = float((_fit(family, X, point[None], ones) - _fit(family, X, found, ones))[0])
        if not worse <= LIKELIHOOD * len(X):
            return f"for draws {_at(point)} the estimate {np.round(found[0], 6).tolist()} is {worse:.3g} nats worse"
    return None


def _ascent(family: CoordinateFamily, points: Array, rng: np.random.Generator) -> str | None:
    X = np.concatenate([family.sample(point, DRAWS // 8, rng) for point in points])
    shares = rng.dirichlet(np.ones(len(points) + 1), len(X))[:, : len(points)]
    after = family.weighted_estimate(X, shares, None, points, None)
    lost = _fit(family, X, points, shares) - _fit(family, X, after, shares)
    return None if (lost <= LIKELIHOOD).all() else f"{_at(points[int(np.argmax(lost))])} it loses {lost.max():.3g} nats"
