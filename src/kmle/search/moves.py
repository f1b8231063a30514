"""Moves that leave a local optimum: one component is removed, another one cut in two or a new one put elsewhere.

Split-and-merge EM (Ueda, Nakano, Ghahramani and Hinton, 2000), with all trials of a round learned together. What a
removal costs and what a cut gains is estimated without learning, and the most promising pairs are tried first. Where
components are of different families, those removed and inserted are of the same; two of different families may also
exchange their rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..engines.statistics import ClusterStatistics
from ..families import ComponentFamilies, ExponentialFamily
from ..families.parameterless import Parameterless
from ..numerics.arrays import Array, Labels
from ..problem.problem import Parameters
from ..seeding.partitions import Table
from .batch import Batch, Learner

# Ways to cut each component: at the median of its longest axis, in core and shell, and at other places of other axes.
CUTS = 4
# Rows around which new components are tried, and on how many different numbers of rows near them.
CENTERS, SIZES = 16, 4
# Numbers that stay in a nearby cache while gains are computed from them.
CACHED_NUMBERS = 1 << 15
# No component of fewer rows is cut.
FEWEST_TO_CUT = 4


@dataclass(frozen=True)
class Insertion:
    """A component more: those that take the place of an old one (or none), with their weights, and what that gains."""

    replaced: int | None
    natural: Array
    weights: Array
    gain: float
    kind: int = 0
    """The kind of the component more, where components are of different families."""


@dataclass(frozen=True)
class Move:
    """A component removed and another one inserted, and the gain that is expected."""

    removed: int
    insertion: Insertion
    gain: float


class Moves:
    """The moves from one mixture, the most promising ones first; each is handed out once."""

    def __init__(self, learner: Learner, table: Table, parameters: Parameters, rng: np.random.Generator) -> None:
        self._learner = learner
        self._problem = learner.problem
        self._table = table
        self._parameters = parameters
        self._rng = rng
        self._joint = joint = self._problem.scores(parameters)
        self._log_carrier = self._problem.rows.log_carrier(slice(None))
        highest = joint.max(axis=1)
        exponentials = np.exp(joint - highest[:, None])
        total = exponentials.sum(axis=1)
        self._log_density = highest + np.log(total)
        self._own_score = highest if learner.hard else self._log_density
        self._responsibilities = exponentials / total[:, None]
        self._labels: Labels = joint.argmax(axis=1).astype(np.int32)
        self._given_out = 0
        self._kinds = kinds_of(self._problem.family, parameters.natural)
        self._movable = np.flatnonzero([kind not in parameterless(self._problem.family) for kind in self._kinds])
        learner.work += learner.cost(joint.shape[1])

    def next(self, count: int) -> Batch | None:
        """The next trials, after a pass with each; None when all were made."""
        moves = self._in_order[self._given_out : self._given_out + count]
        self._given_out += len(moves)
        if not moves:
            return None
        moved = [self._moved(move) for move in moves]
        natural = np.stack([parameters.natural for parameters in moved])
        return self._learner.expected(natural, np.stack([parameters.log_weights for parameters in moved]))

    @cached_property
    def _in_order(self) -> list[Move]:
        """All moves by expected gain; repeats of a pair of components come after all first ones."""
        moves = sorted(self._moves(), key=lambda move: -move.gain)
        seen: set[tuple[int, int | None]] = set()
        first: list[Move] = []
        later: list[Move] = []
        for move in moves:
            pair = move.removed, move.insertion.replaced
            (later if pair in seen and move.insertion.replaced is not None else first).append(move)
            seen.add(pair)
        return first + later

    def _moves(self) -> Iterator[Move]:
        costs = self._removal_costs()
        removals: dict[int, list[int]] = {}
        for kind in sorted(set(self._kinds[self._movable].tolist())):
            own = self._movable[self._kinds[self._movable] == kind]
            inactive = own[~self._parameters.active[own]]
            removals[kind] = (inactive[:1] if len(inactive) else own).tolist()
        for insertion in (*self._cuts(), *self._neighbourhoods(list(removals))):
            for removed in removals[insertion.kind]:
                if removed != insertion.replaced:
                    yield Move(removed, insertion, insertion.gain - costs[removed])
        if len(removals) > 1:
            yield from self._exchanges()

    def _removal_costs(self) -> Array:
        """What the log-likelihood loses without each component, all else unchanged (k,)."""
        if self._learner.hard:
            own = np.arange(len(self._labels)), self._labels
            others = self._responsibilities.copy()
            others[own] = 0.0
            margin = np.log(self._responsibilities[own]) - np.log(np.maximum(others.max(axis=1), 1e-12))
            return np.bincount(self._labels, self._table.weights * margin, len(self._parameters.natural)).astype(float)
        return -self._table.weights @ np.log(np.maximum(1 - self._responsibilities, 1e-12))

    def _cuts(self) -> Iterator[Insertion]:
        """Every component in two: its rows are cut along an axis. One pass over the rows for each way of cutting."""
        k = len(self._parameters.natural)
        members = [np.flatnonzero(self._labels == j) for j in range(k)]
        ways = [self._problem.gather(self._halved(members, number), 2 * k) for number in range(CUTS)]
        counts, sums = np.concatenate([way.counts for way in ways]), np.concatenate([way.sums for way in ways])
        kinds = np.tile(self._kinds, CUTS)
        natural, gains = self._values_of(ClusterStatistics(counts, sums, 0.0), kinds)
        both = counts.reshape(-1, 2)
        share = both / np.maximum(both.sum(axis=1), 1e-300)[:, None]
        weights = np.tile(np.exp(self._parameters.log_weights), CUTS)[:, None] * share
        for place in np.flatnonzero((both.min(axis=1) > 0) & np.isin(np.arange(len(both)) % k, self._movable)).tolist():
            halves = slice(2 * place, 2 * place + 2)
            yield Insertion(place % k, natural[halves], weights[place], float(gains[place]), int(kinds[place]))

    def _exchanges(self) -> Iterator[Move]:
        """Two components of different families in each other's place: each is estimated from the rows of the other."""
        k = len(self._kinds)
        statistics = self._problem.gather(self._labels, k)
        active = self._movable[statistics.counts[self._movable] > 0]
        pairs = np.array([(i, j) for i in active for j in active if self._kinds[i] < self._kinds[j]]).reshape(-1, 2)
        if len(pairs) == 0:
            return
        both, other = pairs.ravel(), pairs[:, ::-1].ravel()
        own = ClusterStatistics(statistics.counts[both], statistics.sums[both], 0.0)
        natural, values = _estimated(self._learner, own, self._kinds[other])
        gains = (values - _estimated(self._learner, own, self._kinds[both])[1]).reshape(-1, 2).sum(axis=1)
        weights = np.exp(self._parameters.log_weights)
        for place, (i, j) in enumerate(pairs.tolist()):
            exchanged = natural[[2 * place + 1, 2 * place]]
            insertion = Insertion(i, exchanged, weights[[j, i]], float(gains[place]), int(self._kinds[j]))
            yield Move(j, insertion, insertion.gain)

    def _halved(self, members: list[NDArray[np.intp]], number: int) -> Labels:
        """Labels of the halves, 2 j and 2 j + 1, of every component j after one way of cutting."""
        labels = 2 * self._labels
        for component, own in enumerate(members):
            if len(own) >= FEWEST_TO_CUT:
                labels[own] += self._shell(own, component) if number == 1 else self._upper(own, number)
        return labels

    def _upper(self, members: NDArray[np.intp], number: int) -> NDArray[np.bool_]:
        """Which rows lie above a cut of a component: the first way halves the longest axis, others are random."""
        columns, weights = self._table.columns[members], self._table.weights[members]
        axis: Array = self._rng.standard_normal((columns.shape[1],))
        share = 0.5 if number == 0 else self._rng.uniform(0.2, 0.8)
        if number == 0 and len(axis) > 1:
            centered = columns - weights @ columns / weights.sum()
            for _ in range(4):
                axis = centered.T @ (centered @ axis)
                axis = axis / max(float(np.linalg.norm(axis)), 1e-300)
        line = columns @ axis
        return line > _quantile(line, weights, share)

    def _shell(self, members: NDArray[np.intp], component: int) -> NDArray[np.bool_]:
        """Which rows of a component lie far out: the half that it explains worst."""
        density = self._joint[members, component] + self._log_carrier[members]
        return density < _quantile(density, self._table.weights[members], 0.5)

    def _values_of(self, halves: ClusterStatistics, kinds: NDArray[np.intp]) -> tuple[Array, Array]:
        """The estimates of pairs of halves, and what each pair gains over the whole, which is of some kind."""
        both = halves.counts.reshape(-1, 2)
        k = len(both)
        whole = ClusterStatistics(both.sum(axis=1), halves.sums.reshape(k, 2, -1).sum(axis=1), 0.0)
        counts, sums = np.append(halves.counts, whole.counts), np.concatenate([halves.sums, whole.sums])
        each = np.concatenate([np.repeat(kinds, 2), kinds])
        natural, values = _estimated(self._learner, ClusterStatistics(counts, sums, 0.0), each)
        gains = values[: 2 * k].reshape(k, 2).sum(axis=1) - values[2 * k :]
        if self._problem.weights is None:
            shares = both / np.maximum(both.sum(axis=1), 1e-300)[:, None]
            gains += (both * np.log(np.maximum(shares, 1e-300))).sum(axis=1)
        return natural[: 2 * k], gains

    def _neighbourhoods(self, kinds: list[int]) -> Iterator[Insertion]:
        """New components on rows near each other: of each size the one that gains most, of some around drawn rows.

        Optima that few starts lead to often differ from others by a small component where rows happen to be dense.
        """
        n = len(self._labels)
        largest, smallest = n // (2 * int(self._parameters.active.sum())), 2 * (self._table.columns.shape[1] + 2)
        if largest < smallest:
            return
        sizes = np.unique(np.geomspace(smallest, largest, SIZES).astype(int))
        statistics = self._around(self._drawn_rows(), sizes)
        weights = statistics.counts / self._problem.total
        for kind in kinds:
            natural = _estimated(self._learner, statistics, np.full(len(weights), kind))[0]
            gains = self._insertion_gains(natural, weights).reshape(-1, len(sizes))
            for place, best in enumerate(gains.argmax(axis=0)):
                own = [best * len(sizes) + place]
                yield Insertion(None, natural[own], weights[own], float(gains[best, place]), kind)

    def _drawn_rows(self) -> NDArray[np.intp]:
        """Rows drawn by weight, half of them also by how badly the mixture explains them."""
        density = self._log_density + self._log_carrier
        badly = self._table.weights * np.exp(np.clip(density.max() - density, 0.0, 8.0))
        count = min(CENTERS // 2, len(density))
        chances = (chance / chance.sum() for chance in (badly, self._table.weights))
        return np.concatenate([self._rng.choice(len(density), count, replace=False, p=chance) for chance in chances])

    def _around(self, rows: NDArray[np.intp], sizes: NDArray[np.intp]) -> ClusterStatistics:
        """The statistics of the rows nearest to each of some, for several numbers of them: (rows x sizes)."""
        found = []
        for distances in self._table.distances(self._table.columns[rows]):
            nearest = np.argpartition(distances, sizes - 1)[: sizes[-1]]
            labels = np.full(len(self._labels), -1, dtype=np.int32)
            labels[nearest] = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
            found.append(self._problem.gather(labels, len(sizes)))
        counts = np.cumsum([each.counts for each in found], axis=1)
        sums = np.cumsum([each.sums for each in found], axis=1)
        return ClusterStatistics(counts.ravel(), sums.reshape(counts.size, -1), 0.0)

    def _insertion_gains(self, natural: Array, weights: Array) -> Array:
        """What each of some further components gains (m,) when the weights of the others shrink to make room for it."""
        self._learner.work += self._learner.cost(len(weights))
        with np.errstate(all="ignore"):
            log_weights = np.log(weights)
            ratio = self._problem.scores(Parameters(natural, log_weights))
            rest = np.log1p(-weights)
            gains = np.zeros(len(weights))
            # Some rows at a time, in place: fetching memory for all takes longer than the logarithms.
            size = max(1, CACHED_NUMBERS // len(weights))
            for start in range(0, len(ratio), size):
                rows = slice(start, start + size)
                above = np.subtract(ratio[rows], self._own_score[rows, None], out=ratio[rows])
                joined = np.maximum(above, rest)
                if not self._learner.hard:
                    np.abs(np.subtract(above, rest, out=above), out=above)
                    np.exp(np.negative(above, out=above), out=above)
                    above += 1.0
                    joined += np.log(above, out=above)
                gains += self._table.weights[rows] @ joined
        return np.nan_to_num(gains, nan=-np.inf)

    def _moved(self, move: Move) -> Parameters:
        insertion = move.insertion
        natural, log_weights = self._parameters.natural.copy(), self._parameters.log_weights.copy()
        natural[move.removed] = insertion.natural[-1]
        weights = np.exp(log_weights)
        weights[move.removed] = insertion.weights[-1]
        if insertion.replaced is not None:
            natural[insertion.replaced] = insertion.natural[0]
            weights[insertion.replaced] = insertion.weights[0]
        return self._problem.within_model(Parameters(natural, self._problem.log_weights(weights / weights.sum())))


def kinds_of(family: ExponentialFamily, natural: Array) -> NDArray[np.intp]:
    """The kinds of components (k,): all the same, but for components of different families."""
    return family.kind_of(natural) if isinstance(family, ComponentFamilies) else np.zeros(len(natural), dtype=np.intp)


def parameterless(family: ExponentialFamily) -> list[int]:
    """The kinds of components that cannot move, since they have no parameters."""
    kinds = family.kinds if isinstance(family, ComponentFamilies) else ()
    return [place for place, kind in enumerate(kinds) if isinstance(kind, Parameterless)]


def _estimated(learner: Learner, statistics: ClusterStatistics, kinds: NDArray[np.intp]) -> tuple[Array, Array]:
    """Estimates of clusters as components of some kinds, and the log-likelihood of their rows at them, without k(x)."""
    problem = learner.problem
    moments = statistics.moments(problem.prior_strength, problem.prior_moment)
    if isinstance(problem.family, ComponentFamilies):
        before: Array = np.zeros(moments.shape)
        before[np.arange(len(kinds)), before.shape[1] - len(problem.family.kinds) + kinds] = 1.0
        natural = problem.estimates(statistics.counts, moments, before)
    else:
        natural = problem.estimate(moments)
    value = np.einsum("kd,kd->k", statistics.sums, natural) - statistics.counts * problem.family.log_normalizer(natural)
    return natural, value


def _quantile(line: Array, weights: Array, share: float) -> float:
    if weights.min() == weights.max():
        place = max(0, int(np.ceil(share * len(line))) - 1)
        return float(np.partition(line, place)[place])
    order = np.argsort(line, kind="stable")
    cumulative = np.cumsum(weights[order])
    return float(line[order[min(np.searchsorted(cumulative, share * cumulative[-1]), len(line) - 1)]])
