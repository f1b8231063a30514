"""The best cuts of many sorted values into k intervals: coarse blocks first, finer ones where the optimum may lie.

Branch and bound (Land and Doig, 1960) over the places of the cuts. The values are divided into blocks. A dynamic
programme over blocks bounds, for each cut and block, what any partition with that cut in that block is worth; blocks
whose bound lies below a partition already known are discarded, the others are divided again. When blocks are single
places, a dynamic programme over what is left finds the optimum.

The bounds rest on two facts about worth(i, j) = n F*(S / n): dividing an interval never lowers it, and
worth(i, j) + worth(e, f) <= worth(i, f) + worth(e, j) for i <= e <= f <= j (the quadrangle inequality). With free
weights n log(n / N) is added, which is convex in n: less any line, it is largest at an end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .monotone import monotone_maxima

Indices = NDArray[np.intp]
Worth = Callable[[Indices, Indices], Array]

NONE: Indices = np.zeros(0, dtype=np.intp)
# Blocks at first, and places of a cut that are examined one by one. With free weights all pairs of blocks are tried:
# there are fewer.
BLOCKS, FREE_BLOCKS = 1024, 512
PLACES, FREE_PLACES = 1536, 768
# Limits on the rounds of dividing blocks, and on the blocks that are left for a cut.
ROUNDS = 16
MOST_BLOCKS = 2
# Sweeps over the cuts that move each to the best place near it.
SWEEPS = 50
# Intervals with a smaller share of the weight have this one when slopes are computed.
EMPTY = 1e-9
# Pairs of blocks that are examined together.
PAIRS = 1 << 19
# Relative rounding error of worths.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Intervals:
    """What intervals of m sorted values are worth: i..j-1 is worth `worth(i, j)`, and n log(n / N) if weights are free.

    `count` (m + 1,) holds prefix sums of weights, `single` (m + 1,) of the worths of single values.
    """

    worth: Worth
    count: Array
    single: Array
    free: bool

    @property
    def size(self) -> int:
        return len(self.count) - 1

    def value(self, i: Indices, j: Indices) -> Array:
        """What intervals add to the objective; nothing where they are empty."""
        value = self.worth(i, j)
        if not self.free:
            return value
        return np.asarray(value + _n_log(self.count[j] - self.count[i], self.count[-1]))


@dataclass(frozen=True)
class Cuts:
    """The best cuts found, 0 = c_0 < ... < c_k = m (none if nothing is better than what was known), and two objectives.

    No cuts have more than `highest`; where they are the optimum, or what was known is, that is their own.
    """

    places: Indices
    objective: float
    highest: float


@dataclass(frozen=True)
class _Blocks:
    """Blocks of places of one cut: start <= c < end, in order, disjoint."""

    start: Indices
    end: Indices

    def __len__(self) -> int:
        return len(self.start)

    def take(self, chosen: Indices | NDArray[np.bool_]) -> "_Blocks":
        return _Blocks(self.start[chosen], self.end[chosen])

    def divided(self, parts: int) -> "_Blocks":
        """Each block in parts of nearly equal size, or in single places."""
        sizes = self.end - self.start
        counts = np.minimum(sizes, parts)
        owner = np.repeat(np.arange(len(self)), counts)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        start = self.start[owner] + place * sizes[owner] // counts[owner]
        end = self.start[owner] + (place + 1) * sizes[owner] // counts[owner]
        return _Blocks(start, end)


def best_cuts(intervals: Intervals, k: int, known: float = -np.inf) -> Cuts:
    """The best cuts into k intervals that are better than what is `known`."""
    m = intervals.size
    if k == 1:
        objective = float(intervals.value(np.array([0]), np.array([m]))[0])
        return Cuts(np.array([0, m]), objective, objective) if objective > known else Cuts(NONE, known, known)
    blocks, places = (FREE_BLOCKS, FREE_PLACES) if intervals.free else (BLOCKS, PLACES)
    layers = [_Blocks(np.array([1]), np.array([m])).divided(blocks)] * (k - 1)
    best, highest = Cuts(NONE, known, known), np.inf
    for _ in range(ROUNDS):
        found = _at_starts(intervals, layers)
        if found is not None:
            found = _polished(intervals, found.places, 2 * m // blocks)
            best = found if found.objective > best.objective else best
        if max(int((layer.end - layer.start).max()) for layer in layers) == 1:
            highest = best.objective
            break
        bounds = _Bounds(intervals, layers, _slopes(intervals, found, k)).through()
        highest = max(float(bound.max()) for bound in bounds)
        least = best.objective - ROUNDING * (abs(best.objective) + intervals.count[-1])
        if highest < least:
            break
        layers = [layer.take(bound >= least) for layer, bound in zip(layers, bounds, strict=True)]
        widest = max(len(layer) for layer in layers)
        if widest > MOST_BLOCKS * blocks:
            break
        left = max(int((layer.end - layer.start).sum()) for layer in layers)
        parts = m if left <= places else max(2, blocks // widest)
        layers = [layer.divided(parts) for layer in layers]
    return Cuts(best.places, best.objective, max(highest, best.objective))


def _polished(intervals: Intervals, places: Indices, width: int) -> Cuts:
    """The cuts, each moved to its best place within `width` of it again and again until none moves."""
    cuts = places.copy()
    for _ in range(SWEEPS):
        before = cuts.copy()
        for place in range(1, len(cuts) - 1):
            low, here, high = cuts[place - 1 : place + 2]
            near = np.arange(max(low + 1, here - width), min(high, here + width + 1))
            values = intervals.value(np.full_like(near, low), near) + intervals.value(near, np.full_like(near, high))
            cuts[place] = near[values.argmax()]
        if np.array_equal(cuts, before):
            break
    return Cuts(cuts, float(intervals.value(cuts[:-1], cuts[1:]).sum()), np.inf)


def _slopes(intervals: Intervals, cuts: Cuts | None, k: int) -> Array:
    """The slopes of n log(n / N) at the sizes of these intervals (k,); of equal ones without them."""
    total = intervals.count[-1]
    sizes = np.full(k, total / k) if cuts is None else np.diff(intervals.count[cuts.places])
    return 1 + np.log(np.maximum(sizes, EMPTY * total) / total)


def _at_starts(intervals: Intervals, layers: list[_Blocks]) -> Cuts | None:
    """The best cuts at the first places of blocks: a dynamic programme."""
    ends = [np.array([0]), *(layer.start for layer in layers), np.array([intervals.size])]
    best: Array = np.zeros(1)
    came: list[Indices] = []
    for before, after in pairwise(ends):
        reach = np.searchsorted(before, after, side="left") - 1
        best, argument = _best_before(intervals.free, best, partial(_valued, intervals.value, before, after), reach)
        came.append(argument)
    if not np.isfinite(best[0]):
        return None
    place, places = 0, []
    for end, argument in zip(reversed(ends), reversed([np.zeros(1, dtype=np.intp), *came]), strict=True):
        places.append(int(end[place]))
        place = int(argument[place])
    return Cuts(np.array(places[::-1]), float(best[0]), np.inf)


def _valued(value: Worth, starts: Indices, ends: Indices, i: Indices, j: Indices) -> Array:
    return value(starts[i], ends[j])


def _best_before(free: bool, previous: Array, value: Worth, reach: Indices) -> tuple[Array, Indices]:
    """For each j the best previous[i] + value(i, j) over i = 0..reach[j], and the lowest best i."""
    possible = np.flatnonzero(np.isfinite(previous))
    best, argument = np.full(len(reach), -np.inf), np.zeros(len(reach), dtype=np.intp)
    # What can be reached at all begins at one place.
    first = int(possible[0]) if len(possible) else len(previous)
    some = np.flatnonzero(reach >= first)
    if len(some):
        found = _maxima(free, previous[first:], lambda i, j: value(first + i, some[j]), reach[some] - first)
        best[some], argument[some] = found[0], found[1] + first
    return best, argument


def _best_after(free: bool, following: Array, value: Worth, first: Indices) -> Array:
    """For each i the best value(i, j) + following[j] over j = first[i].. ."""
    last, top = len(first) - 1, len(following) - 1
    reach = (top - first)[::-1]
    return _best_before(free, following[::-1], lambda j, i: value(last - i, top - j), reach)[0][::-1]


def _maxima(
    free: bool, previous: Array, value: Callable[[Indices, Indices], Array], reach: Indices
) -> tuple[Array, Indices]:
    """The maxima over i = 0..reach[j]; with free weights the best i need not grow with j, and all pairs are tried."""
    if not free:
        return monotone_maxima(previous, value, reach)
    best, argument = np.empty(len(reach)), np.empty(len(reach), dtype=np.intp)
    size = max(1, PAIRS // len(previous))
    for start in range(0, len(reach), size):
        j = np.arange(start, min(start + size, len(reach)))
        every = np.arange(int(reach[j[-1]]) + 1)
        legal = every <= reach[j][:, None]
        row, i = np.nonzero(legal)
        values = np.full(legal.shape, -np.inf)
        values[row, i] = previous[i] + value(i, j[row])
        argument[j] = values.argmax(axis=1)
        best[j] = values.max(axis=1)
    return best, argument


class _Bounds:
    """Upper bounds on what partitions are worth whose cuts lie in given blocks.

    With free weights, values of a block that are part of an interval count `slopes` each, one for every interval; any
    slopes give bounds, and those of n log(n / N) at the best partition known give good ones.
    """

    def __init__(self, intervals: Intervals, layers: list[_Blocks], slopes: Array) -> None:
        self.intervals = intervals
        self.layers = layers
        self.slopes = slopes
        end = np.array([intervals.size])
        self.all = [_Blocks(np.array([0]), np.array([0])), *layers, _Blocks(end, end)]
        # At first all cuts have the same blocks: what is the same is computed once.
        self._gains: dict[tuple[float, ...], Array] = {}

    def through(self) -> list[Array]:
        """For each cut and block the bound on partitions with the cut in that block."""
        free, blocks, last = self.intervals.free, self.all, len(self.layers)
        own = [np.zeros(1), *(self._own(place) for place in range(1, last + 1)), np.zeros(1)]
        whole = [self._whole(layer) for layer in blocks]
        forward: list[Array] = [np.zeros(1)]
        backward: list[Array] = [np.zeros(1)]
        for place in range(last):
            reach = np.searchsorted(blocks[place].end, blocks[place + 1].start, side="right") - 1
            following = _best_before(free, forward[-1], partial(self._between, place), reach)[0] + own[place + 1]
            a, b = self._twins(place)
            following[b] = np.maximum(following[b], forward[-1][a] - own[place][a] + whole[place][a])
            forward.append(following)
        for place in range(last, 0, -1):
            first = np.searchsorted(blocks[place + 1].start, blocks[place].end, side="left")
            behind = _best_after(free, own[place + 1] + backward[0], partial(self._between, place), first)
            a, b = self._twins(place)
            behind[a] = np.maximum(behind[a], whole[place][a] - own[place][a] + backward[0][b])
            backward.insert(0, behind)
        return [ahead + behind for ahead, behind in zip(forward[1:], backward[:-1], strict=True)]

    def _between(self, place: int, i: Indices, j: Indices) -> Array:
        """What lies surely between the cuts in blocks i and j of two layers is worth, whatever is added at its ends."""
        intervals, before, after = self.intervals, self.all[place], self.all[place + 1]
        worth = intervals.worth(before.end[i], after.start[j])
        if not intervals.free:
            return worth
        count, total = intervals.count, intervals.count[-1]
        inner, outer = count[after.start[j]] - count[before.end[i]], count[after.end[j]] - count[before.start[i]]
        # n log(n / N) less a line is convex: it is largest with nothing added, or with all.
        most = np.maximum(_n_log(inner, total), _n_log(outer, total) - self.slopes[place] * (outer - inner))
        return np.asarray(worth + most)

    def _twins(self, place: int) -> tuple[Indices, Indices]:
        """The blocks that this cut and the next one share."""
        before, after = self.all[place], self.all[place + 1]
        shared = np.intersect1d(before.start, after.start, return_indices=True)[1:]
        return shared if 0 < place < len(self.layers) else (shared[0][:0], shared[1][:0])

    def _whole(self, blocks: _Blocks) -> Array:
        """The most that the values of each block are worth, however they are divided."""
        intervals = self.intervals
        worth = intervals.single[blocks.end] - intervals.single[blocks.start]
        if not intervals.free:
            return worth
        # Intervals within a block have n log(n / N) <= 0.
        highest = max(float(self.slopes.max()), 0.0)
        return np.asarray(worth + highest * (intervals.count[blocks.end] - intervals.count[blocks.start]))

    def _own(self, place: int) -> Array:
        """The most that the values of each block add to the intervals on both sides of one cut in it."""
        low, high = int(self.all[place - 1].end[-1]), int(self.all[place + 1].start[0])
        key = (id(self.all[place]), low, high, *self.slopes[place - 1 : place + 1])
        if key not in self._gains:
            self._gains[key] = self._most_added(place, low, high)
        return self._gains[key]

    def _most_added(self, place: int, low: int, high: int) -> Array:
        intervals, start, end = self.intervals, self.all[place].start, self.all[place].end
        sizes = end - start
        first = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) + np.repeat(start - first, sizes)
        left, right = np.minimum(low, start), np.maximum(high, end)
        added = intervals.worth(np.repeat(left, sizes), places) + intervals.worth(places, np.repeat(right, sizes))
        base = intervals.worth(left, start) + intervals.worth(end, right)
        if intervals.free:
            count, (lower, upper) = intervals.count, self.slopes[place - 1 : place + 1]
            added += lower * (count[places] - np.repeat(count[start], sizes))
            added += upper * (np.repeat(count[end], sizes) - count[places])
        return np.asarray(np.maximum.reduceat(added, first) - base)


def _n_log(n: Array, total: float) -> Array:
    """n log(n / total)."""
    return np.asarray(n * np.log(np.where(n > 0, n, 1.0) / total))
