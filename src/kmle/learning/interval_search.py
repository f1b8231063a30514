"""The best cuts of many sorted values into k intervals: coarse blocks first, finer ones where the optimum may lie.

Branch and bound (Land and Doig, 1960) over the places of the cuts. The values are divided into blocks. A dynamic
programme over blocks bounds, for each cut and block, what any partition with that cut in that block is worth; blocks
whose bound lies below a partition already known are discarded, the others are divided again. When blocks are single
places, a dynamic programme over what is left finds the optimum.

The bounds rest on two facts about worth(i, j) = n F*(S / n): dividing an interval never lowers it, and
worth(i, j) + worth(e, f) <= worth(i, f) + worth(e, j) for i <= e <= f <= j (the quadrangle inequality). With free
weights n log(n / N) is added, which is convex in n and so below its tangent at the largest n.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .monotone import monotone_maxima

Indices = NDArray[np.intp]
Worth = Callable[[Indices, Indices], Array]

# Blocks at first, and places of a cut that are looked at one by one.
BLOCKS = 1024
PLACES = 1536
# Rounds of dividing blocks.
ROUNDS = 12
# Pairs of blocks that are looked at together.
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
        share = (self.count[j] - self.count[i]) / self.count[-1]
        return np.asarray(value + self.count[-1] * share * np.log(np.where(share > 0, share, 1.0)))


@dataclass(frozen=True)
class Cuts:
    """The best cuts found, 0 = c_0 < ... < c_k = m, their objective, and how much better others may be at most."""

    places: Indices
    objective: float
    gap: float


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
        """Each block in so many parts of nearly equal size, or in single places."""
        sizes = self.end - self.start
        counts = np.minimum(sizes, parts)
        owner = np.repeat(np.arange(len(self)), counts)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        start = self.start[owner] + place * sizes[owner] // counts[owner]
        end = self.start[owner] + (place + 1) * sizes[owner] // counts[owner]
        return _Blocks(start, end)


def best_cuts(intervals: Intervals, k: int, known: float = -np.inf) -> Cuts | None:
    """The best cuts into k intervals; None where none can be better than what is `known`."""
    m = intervals.size
    if k == 1:
        ends = np.array([0]), np.array([m])
        objective = float(intervals.value(*ends)[0])
        return Cuts(np.array([0, m]), objective, 0.0) if objective > known else None
    layers = [_Blocks(np.array([1]), np.array([m])).divided(BLOCKS)] * (k - 1)
    best: Cuts | None = None
    for _ in range(ROUNDS):
        found = _at_starts(intervals, layers)
        if found is not None and (best is None or found.objective > best.objective):
            best = found
        if max(int((layer.end - layer.start).max()) for layer in layers) == 1:
            return best if best is not None and best.objective > known else None
        least = max(known, -np.inf if best is None else best.objective)
        least -= ROUNDING * (abs(least) + intervals.count[-1]) if np.isfinite(least) else 0.0
        bounds = _Bounds(intervals, layers).through()
        if max(float(bound.max()) for bound in bounds) < least:
            return best if best is not None and best.objective > known else None
        layers = [layer.take(bound >= least) for layer, bound in zip(layers, bounds, strict=True)]
        left = max(int((layer.end - layer.start).sum()) for layer in layers)
        widest = max(len(layer) for layer in layers)
        parts = m if left <= PLACES else max(2, BLOCKS // widest)
        if widest * parts > 4 * BLOCKS and left > PLACES:
            break
        layers = [layer.divided(parts) for layer in layers]
    assert best is not None  # the first round has found some
    gap = max(float(bound.max()) for bound in bounds) - best.objective
    return Cuts(best.places, best.objective, max(gap, 0.0)) if best.objective > known else None


def _at_starts(intervals: Intervals, layers: list[_Blocks]) -> Cuts | None:
    """The best cuts at the first places of blocks: a dynamic programme."""
    ends = [np.array([0]), *(layer.start for layer in layers), np.array([intervals.size])]
    best, came = np.zeros(1), []
    for before, after in zip(ends[:-1], ends[1:], strict=True):
        best, argument = _best_before(intervals, best, before, after, least=1)
        came.append(argument)
    if not np.isfinite(best[0]):
        return None
    place, places = 0, []
    for end, argument in zip(reversed(ends), reversed([np.zeros(1, dtype=np.intp), *came]), strict=True):
        places.append(int(end[place]))
        place = int(argument[place])
    return Cuts(np.array(places[::-1]), float(best[0]), 0.0)


def _best_before(
    intervals: Intervals, previous: Array, starts: Indices, ends: Indices, least: int
) -> tuple[Array, Indices]:
    """For each end the best previous[i] + value of start i to that end, no shorter than `least`, and the lowest i."""
    reach = np.searchsorted(starts, ends - least, side="right") - 1
    possible = np.flatnonzero(np.isfinite(previous))
    best, argument = np.full(len(ends), -np.inf), np.zeros(len(ends), dtype=np.intp)
    if len(possible) == 0:
        return best, argument
    first = int(possible[0])
    some = np.flatnonzero(reach >= first)
    if len(some) == 0:
        return best, argument
    # What can be reached at all begins at one place.
    found = _maxima(
        intervals.free,
        previous[first:],
        lambda i, j: intervals.value(starts[first + i], ends[some[j]]),
        reach[some] - first,
    )
    best[some], argument[some] = found[0], found[1] + first
    return best, argument


def _best_after(intervals: Intervals, following: Array, starts: Indices, ends: Indices) -> Array:
    """For each start the best following[j] + value of that start to end j, which may be empty."""
    reach = len(ends) - 1 - np.searchsorted(ends, starts, side="left")[::-1]
    backwards, last, top = following[::-1], len(starts) - 1, len(ends) - 1
    best = np.full(len(starts), -np.inf)
    some = np.flatnonzero(reach >= 0)
    if len(some):
        best[some] = _maxima(
            intervals.free,
            backwards,
            lambda j, i: intervals.value(starts[last - some[i]], ends[top - j]),
            reach[some],
        )[0]
    return best[::-1]


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
    """Upper bounds on what partitions are worth whose cuts lie in given blocks."""

    def __init__(self, intervals: Intervals, layers: list[_Blocks]) -> None:
        self.intervals = intervals
        m = intervals.size
        self.first, self.last = _Blocks(np.array([0]), np.array([0])), _Blocks(np.array([m]), np.array([m]))
        self.layers = layers
        # At first all cuts have the same blocks: what is the same is computed once.
        self._gains: dict[tuple[int, ...], Array] = {}

    def through(self) -> list[Array]:
        """For each cut and block the bound on partitions with the cut in that block."""
        layers, intervals = self.layers, self.intervals
        own = [self._own(place) for place in range(len(layers))]
        whole = [self._whole(layer) for layer in layers]
        twins = self._twins()
        forward = [intervals.value(np.zeros_like(layers[0].start), layers[0].start) + own[0]]
        for place, (a, b) in enumerate(twins):
            before, after = layers[place], layers[place + 1]
            following = _best_before(intervals, forward[-1], before.end, after.start, least=0)[0] + own[place + 1]
            following[b] = np.maximum(following[b], forward[-1][a] - own[place][a] + whole[place][a])
            forward.append(following)
        backward = [intervals.value(layers[-1].end, np.full_like(layers[-1].end, intervals.size))]
        for place in range(len(layers) - 2, -1, -1):
            before, after = layers[place], layers[place + 1]
            behind = _best_after(intervals, own[place + 1] + backward[0], before.end, after.start)
            a, b = twins[place]
            behind[a] = np.maximum(behind[a], whole[place][a] - own[place][a] + backward[0][b])
            backward.insert(0, behind)
        return [ahead + behind for ahead, behind in zip(forward, backward, strict=True)]

    def _twins(self) -> list[tuple[Indices, Indices]]:
        """The blocks that two cuts in a row share."""
        pairs = zip(self.layers[:-1], self.layers[1:], strict=True)
        return [np.intersect1d(a.start, b.start, return_indices=True)[1:] for a, b in pairs]

    def _whole(self, blocks: _Blocks) -> Array:
        """The most that the values of each block are worth, however they are divided."""
        intervals = self.intervals
        worth = intervals.single[blocks.end] - intervals.single[blocks.start]
        return worth + (intervals.count[blocks.end] - intervals.count[blocks.start]) if intervals.free else worth

    def _own(self, place: int) -> Array:
        """The most that the values of each block add to the intervals on both sides of one cut in it."""
        blocks = self.layers[place]
        before = self.layers[place - 1] if place else self.first
        after = self.layers[place + 1] if place + 1 < len(self.layers) else self.last
        reach = int(before.start[0]), int(before.end[-1]), int(after.start[0]), int(after.end[-1])
        key = (id(blocks), *reach)
        if key not in self._gains:
            self._gains[key] = self._most_added(blocks, *reach)
        return self._gains[key]

    def _most_added(self, blocks: _Blocks, lowest: int, low: int, high: int, highest: int) -> Array:
        intervals, sizes = self.intervals, blocks.end - blocks.start
        first = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) + np.repeat(blocks.start - first, sizes)
        start, end = blocks.start, blocks.end
        left_from, right_to = np.minimum(low, start), np.maximum(high, end)
        ends = (np.repeat(array, sizes) for array in (left_from, right_to))
        left, right = next(ends), next(ends)
        added = intervals.worth(left, places) + intervals.worth(places, right)
        base = intervals.worth(left_from, start) + intervals.worth(end, right_to)
        if intervals.free:
            count = intervals.count
            # Slopes of n log(n / N) at the largest n there can be.
            slopes = (
                1 + np.log(np.maximum(count[end] - count[lowest], 1e-300) / count[-1]),
                1 + np.log(np.maximum(count[highest] - count[start], 1e-300) / count[-1]),
            )
            lower, upper = (np.repeat(slope, sizes) for slope in slopes)
            added += lower * (count[places] - np.repeat(count[start], sizes))
            added += upper * (np.repeat(count[end], sizes) - count[places])
        return np.asarray(np.maximum.reduceat(added, first) - base)
