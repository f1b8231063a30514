"""Missing entries from those that rows have: conditional means, or draws for multiple imputation (Rubin, 1987).

E[x_u | x_o] = sum_j r_j E_j[x_u | x_o], r_j being the posterior of component j given what the row has. A draw takes a
component by these, then the missing entries from its conditional distribution.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..engines.patterns.components import Components
from ..engines.patterns.units import GaussianRows
from ..families import Categorical, ExponentialFamily, VonMises
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
    weights, natural = components
    rows = np.flatnonzero(np.isnan(completed).any(axis=1))
    center = family.center(natural, weights)
    (seen,) = family.centered(center, natural)
    with np.errstate(divide="ignore"):
        own = Components(family, seen, np.log(weights))
    for block in _blocks(rows):
        share = posterior[block]
        chosen = None if rng is None else _drawn(share, rng)
        completed[block] = _filled_in(own, natural, completed[block], share, chosen, center, rng)
    return completed


def _blocks(rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    for start in range(0, len(rows), ROWS_A_BLOCK):
        yield rows[start : start + ROWS_A_BLOCK]


def _drawn(share: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """A component for each row (n,), drawn by its posterior (n, k)."""
    reached = np.cumsum(share, axis=1)
    below = rng.random((len(share), 1)) * reached[:, -1:]
    return np.minimum((reached <= below).sum(axis=1), share.shape[1] - 1)


def _filled_in(
    components: Components,
    natural: Array,
    X: Array,
    share: Array,
    chosen: NDArray[np.intp] | None,
    center: Array | None,
    rng: np.random.Generator | None,
) -> Array:
    """The rows with values for missing entries, unit by unit."""
    family, hole = components.family, np.isnan(X)
    legal = np.where(hole, family.support.example(X.shape[1]) if center is None else center, X)
    for unit in family.units():
        columns = list(unit.columns)
        missing = hole[:, columns]
        if not missing.any():
            continue
        if unit.family.is_gaussian:
            rows = GaussianRows(unit, legal, missing, center)
            drawn = None if chosen is None or rng is None else rows.draw(components, chosen, rng)
            values = rows.mean(components, share) if drawn is None else drawn
            values += 0.0 if center is None else center[columns]
        else:
            lacking, own = np.flatnonzero(missing[:, 0]), natural[:, list(unit.statistics)]
            values = X[:, columns]
            values[lacking] = (
                _expected(unit, own, share[lacking])
                if chosen is None or rng is None
                else _sampled(unit, own, chosen[lacking], rng)
            )
        X[:, columns] = np.where(missing, values, X[:, columns])
    return X


def _expected(unit: Unit, natural: Array, share: Array) -> Array:
    """The mean of a unit in each row (n, c); the most probable category, and the mean direction of angles."""
    if isinstance(unit.family, Categorical):
        return np.argmax(share @ unit.family.moment_from_natural(natural), axis=1)[:, None].astype(float)
    if isinstance(unit.family, VonMises):
        cosine, sine = (share @ unit.family.moment_from_natural(natural)).T
        return np.arctan2(sine, cosine)[:, None]
    return share @ means(unit.family, natural)


def _sampled(unit: Unit, natural: Array, chosen: NDArray[np.intp], rng: np.random.Generator) -> Array:
    """Draws of a unit (n, c), each of its component."""
    values = np.empty((len(chosen), len(unit.columns)))
    for j in np.unique(chosen):
        own = np.flatnonzero(chosen == j)
        values[own] = unit.family.sample(natural[j], len(own), rng)
    return values
