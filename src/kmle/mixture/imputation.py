"""Missing entries given the others of their rows: conditional means, or draws for multiple imputation (Rubin, 1987).

E[x_u | x_o] = sum_j r_j E_j[x_u | x_o], r_j being the posterior of component j given what the row has. A draw takes a
component by these, then the missing entries from its conditional distribution.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..engines.patterns.components import Components, GaussianForm
from ..engines.patterns.entries import tail_form
from ..engines.patterns.units import GaussianRows
from ..families import Categorical, ComponentFamilies, ExponentialFamily, Gaussian, StudentT, Uniform, VonMises
from ..families.units import Unit
from ..numerics.arrays import Array
from ..queries.moments import means

# Rows that are completed at a time.
ROWS_A_BLOCK = 1 << 12


def imputed(
    family: ExponentialFamily,
    components: tuple[Array, Array],
    X: Array,
    posterior: Array,
    rng: np.random.Generator | None,
) -> Array:
    """A copy of rows X (n, d) in float64 with conditional means, or draws of `rng`, at missing entries.

    Components are weights (k,) and natural parameters (k, D); the posterior (n, k) is that of what rows have.
    """
    completed = np.array(X, dtype=float)
    rows = np.flatnonzero(np.isnan(completed).any(axis=1))
    kinds = _kinds(family, *components)
    for block in _blocks(rows):
        share = posterior[block]
        chosen = None if rng is None else _drawn(share, rng)
        if chosen is None or rng is None:
            completed[block] = _with_means(kinds, completed[block], share)
            continue
        for kind in kinds:
            place = np.searchsorted(kind.own, chosen)
            own = np.flatnonzero(kind.own[np.minimum(place, len(kind.own) - 1)] == chosen)
            if len(own):
                completed[block[own]] = _filled_in(kind, completed[block[own]], None, place[own], rng)
    return completed


@dataclass(frozen=True)
class Kind:
    """The components of one family: their places among all, and their parameters as given and seen from a center."""

    own: NDArray[np.intp]
    natural: Array
    center: Array | None
    components: Components


def _kinds(family: ExponentialFamily, weights: Array, natural: Array) -> list[Kind]:
    listed = [(family, np.arange(len(weights)), natural)]
    if isinstance(family, ComponentFamilies):
        kinds = family.kind_of(natural)
        each = [(place, kind, np.flatnonzero(kinds == place)) for place, kind in enumerate(family.kinds)]
        listed = [(kind, own, natural[own][:, family.block(place)]) for place, kind, own in each if len(own)]
    found = []
    for kind, own, theta in listed:
        center = kind.center(theta, weights[own])
        (seen,) = kind.centered(center, theta)
        with np.errstate(divide="ignore"):
            found.append(Kind(own, theta, center, Components(kind, seen, np.log(weights[own]))))
    return found


def _with_means(kinds: list[Kind], X: Array, share: Array) -> Array:
    """Rows with the posterior means of what is missing."""
    if len(kinds) == 1:
        return _filled_in(kinds[0], X, share, None, None)
    total = np.zeros(X.shape)
    for kind in kinds:
        own = share[:, kind.own]
        sums = own.sum(axis=1, keepdims=True)
        there = np.flatnonzero(sums[:, 0] > 0)
        total[there] += sums[there] * _filled_in(kind, X[there], own[there] / sums[there], None, None)
    return np.where(np.isnan(X), total, X)


def _blocks(rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    for start in range(0, len(rows), ROWS_A_BLOCK):
        yield rows[start : start + ROWS_A_BLOCK]


def _drawn(share: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """A component for each row (n,), drawn by its posterior (n, k)."""
    reached = np.cumsum(share, axis=1)
    below = rng.random((len(share), 1)) * reached[:, -1:]
    return np.minimum((reached <= below).sum(axis=1), share.shape[1] - 1)


def _filled_in(
    kind: Kind,
    X: Array,
    share: Array | None,
    chosen: NDArray[np.intp] | None,
    rng: np.random.Generator | None,
) -> Array:
    """The rows with values for missing entries, unit by unit: means by shares (n, k), or draws of chosen components."""
    family, center, hole, X = kind.components.family, kind.center, np.isnan(X), X.copy()
    legal = np.where(hole, family.support.example(X.shape[1]) if center is None else center, X)
    for unit in family.units():
        columns = list(unit.columns)
        missing = hole[:, columns]
        if not missing.any():
            continue
        form, degrees = _form_of(kind.components, unit)
        if form is not None:
            offset: Array = np.zeros(len(columns)) if center is None else center[columns]
            rows = GaussianRows(replace(unit, family=_gaussian(unit)), legal, missing, center)
            if share is not None:
                values: Array = rows.mean(form, share) + offset
            else:
                assert chosen is not None
                assert rng is not None
                values = rows.draw(form, chosen, rng, degrees) + offset
        else:
            lacking, own = np.flatnonzero(missing[:, 0]), kind.natural[:, list(unit.statistics)]
            values = X[:, columns]
            if share is not None:
                values[lacking] = _expected(unit, own, share[lacking])
            else:
                assert chosen is not None
                assert rng is not None
                values[lacking] = _sampled(unit, own, chosen[lacking], rng)
        X[:, columns] = np.where(missing, values, X[:, columns])
    return X


def _form_of(components: Components, unit: Unit) -> tuple[GaussianForm | None, Array | None]:
    """The Gaussians of a unit, and for t distributions with these locations and scale matrices their degrees (k,)."""
    if isinstance(unit.family, StudentT):
        parts = unit.family.parts(components.of(unit))
        return tail_form(parts), parts.degrees
    return components.form(unit) if unit.family.is_gaussian else None, None


def _gaussian(unit: Unit) -> ExponentialFamily:
    """The family that says how rows of a unit are centered."""
    return Gaussian(n_features=len(unit.columns)) if isinstance(unit.family, StudentT) else unit.family


def _expected(unit: Unit, natural: Array, share: Array) -> Array:
    """The mean of a unit in each row (n, c); the most probable category, and the mean direction of angles."""
    if isinstance(unit.family, Categorical):
        return np.argmax(share @ unit.family.moment_from_natural(natural), axis=1)[:, None].astype(float)
    if isinstance(unit.family, VonMises):
        cosine, sine = (share @ unit.family.moment_from_natural(natural)).T
        return np.arctan2(sine, cosine)[:, None]
    # Noise over all rows is taken to be in its box.
    family = replace(unit.family, everywhere=False) if isinstance(unit.family, Uniform) else unit.family
    middle = means(family, natural)
    infinite = np.isinf(middle)
    if not infinite.any():
        return share @ middle
    # An infinite mean is infinite for the rows that may be of its component, and nothing to others.
    finite = share @ np.where(infinite, 0.0, middle)
    return np.where((share > 0) @ infinite, np.inf, finite)


def _sampled(unit: Unit, natural: Array, chosen: NDArray[np.intp], rng: np.random.Generator) -> Array:
    """Draws of a unit (n, c), each of its component."""
    values = np.empty((len(chosen), len(unit.columns)))
    for j in np.unique(chosen):
        own = np.flatnonzero(chosen == j)
        values[own] = unit.family.sample(natural[j], len(own), rng)
    return values
