"""Moves between optima of mixtures with estimated shapes: one component is cut in two and takes the place of another.

Split-and-merge EM (Ueda, Nakano, Ghahramani and Hinton, 2000) on the shares of the rows, since such components have no
sums of statistics. What a removal costs and what a cut gains is estimated without learning, and the most promising
pairs are tried first.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from ..families import ComponentFamilies
from ..families.coordinates import CoordinateFamily
from ..families.parameterless import Parameterless
from ..numerics.arrays import Array
from ..problem.problem import Parameters
from ..problem.shaped import ShapedProblem

# Ways to cut a component: at the median of an axis, and in core and shell.
AXIS, SHELL = 0, 1


@dataclass(frozen=True)
class Cut:
    """The halves (2, D) of a component, their weights (2,), and what the cut gains."""

    component: int
    natural: Array
    weights: Array
    gain: float


def moved(problem: ShapedProblem, parameters: Parameters, count: int) -> list[Parameters]:
    """The mixtures after the `count` most promising moves."""
    movable = _movable(problem, parameters)
    if len(movable) < 2:
        return []
    densities = problem.log_densities(parameters.natural)
    with np.errstate(invalid="ignore"):
        scores = densities + parameters.log_weights
    shares = scipy.special.softmax(np.where(np.isfinite(scores), scores, -np.inf), axis=1)
    costs = -problem.row_weights @ np.log(np.maximum(1 - np.nan_to_num(shares), 1e-12))
    kinds = problem.kind_of(parameters.natural)
    inactive = np.flatnonzero(~parameters.active)
    moves: list[tuple[float, int, Cut]] = []
    for way in (AXIS, SHELL):
        for cut in _cuts(problem, parameters, np.nan_to_num(shares), densities, way):
            alike = [j for j in movable.tolist() if kinds[j] == kinds[cut.component] and j != cut.component]
            empty = [j for j in inactive.tolist() if j in alike]
            moves += [(cut.gain - costs[j], j, cut) for j in empty[:1] or alike]
    moves.sort(key=lambda move: -move[0])
    return [_after_move(problem, parameters, removed, cut) for _, removed, cut in moves[:count]]


def _movable(problem: ShapedProblem, parameters: Parameters) -> NDArray[np.intp]:
    """Components that have parameters of their own."""
    kinds = problem.kind_of(parameters.natural)
    families = problem.family.kinds if isinstance(problem.family, ComponentFamilies) else (problem.family,)
    fixed = [
        isinstance(family, Parameterless) or (isinstance(family, CoordinateFamily) and family.n_shared > 0)
        for family in families
    ]
    return np.flatnonzero(~np.array(fixed)[kinds])


def _cuts(problem: ShapedProblem, parameters: Parameters, shares: Array, densities: Array, way: int) -> list[Cut]:
    """Every component in two: its share of each row goes to one half."""
    k = shares.shape[1]
    weighted = shares * problem.row_weights[:, None]
    upper = np.stack([_upper(problem.rows.X, weighted[:, j], densities[:, j], way) for j in range(k)], axis=1)
    halves = np.concatenate([np.where(upper, 0.0, weighted), np.where(upper, weighted, 0.0)], axis=1)
    counts = halves.sum(axis=0).reshape(2, k)
    natural = problem.estimates_of_shares(np.asfortranarray(halves), np.tile(parameters.natural, (2, 1)))
    found = problem.rows.log_densities(problem.family, natural)
    cuts = []
    for j in np.flatnonzero(counts.min(axis=0) > 0).tolist():
        own = counts[:, j] / counts[:, j].sum()
        both = np.logaddexp(found[:, j] + np.log(own[0]), found[:, k + j] + np.log(own[1]))
        held = weighted[:, j] > 0
        gain = float(weighted[held, j] @ (both[held] - densities[held, j]))
        weights = np.exp(parameters.log_weights[j]) * own
        if np.isfinite(gain):
            cuts.append(Cut(j, natural[[j, k + j]], weights, gain))
    return cuts


def _upper(X: Array, weights: Array, density: Array, way: int) -> NDArray[np.bool_]:
    """Which rows are in the second half of a component: above its median, or where its density is low."""
    line = density if way == SHELL else X @ _longest_axis(X, weights)
    order = np.argsort(line, kind="stable")
    cumulative = np.cumsum(weights[order])
    middle = line[order[min(np.searchsorted(cumulative, 0.5 * cumulative[-1]), len(line) - 1)]]
    return np.asarray(line > middle)


def _longest_axis(X: Array, weights: Array) -> Array:
    if X.shape[1] == 1:
        return np.ones(1)
    total = max(float(weights.sum()), 1e-300)
    centered = X - weights @ X / total
    return np.asarray(np.linalg.eigh((centered * weights[:, None]).T @ centered / total)[1][:, -1])


def _after_move(problem: ShapedProblem, parameters: Parameters, removed: int, cut: Cut) -> Parameters:
    """The mixture with the halves in the places of the component cut and of the one removed."""
    natural, weights = parameters.natural.copy(), np.exp(parameters.log_weights)
    natural[[cut.component, removed]] = cut.natural
    weights[[cut.component, removed]] = cut.weights
    return Parameters(natural, problem.log_weights(weights / weights.sum()))
