"""Integrals of densities over many intervals at once.

For each density the bounds of all intervals and a few points of its own, between which it changes little, cut the line
into cells. Every cell is integrated by Gauss-Legendre points, and an interval is a run of cells. Runs are added up from
the tail they lie in, so that small probabilities keep their digits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from .arrays import Array

Indices = NDArray[np.intp]
# Log-densities (k, ...) of the places (k, ...) of each density on a line.
Heights = Callable[[Array], Array]

# Gauss-Legendre points of cells, by their share of a cell in which the density changes: from, to, points.
_RULES = ((0.1, np.inf, 8), (0.005, 0.1, 3), (0.0, 0.005, 2))
# A log-density this far below its peak, or below its value at the outermost bound, adds nothing that a float can see.
_NEGLIGIBLE = 45.0
# Cells of each density on either side of its mode, and cells ever closer to the mode, where there may be a cusp.
_CELLS, _CLOSER = 40, 2.0 ** -np.arange(3, 20)
# Up to this many whole numbers are summed one by one.
_MOST_WHOLE = 1 << 18
# Runs of up to this many cells are added up one by one.
_SHORT_RUN = 64
_COARSE, _FINE, _ROUNDS = 1201, 101, 8
# The smallest probability, relative to the peak of the density, that is integrated.
_SMALLEST = 1e-290


@dataclass(frozen=True)
class Densities:
    """The densities of k distributions of one number, and their statistics t.

    ``each(x)`` is the log-densities (n, k) of numbers (n,) under all of them and t (n, s); ``own(x, which)`` the
    log-densities (n,) of numbers under the distribution of each, and t.
    """

    each: Callable[[Array], tuple[Array, Array]]
    own: Callable[[Array, Indices], tuple[Array, Array]]


@dataclass(frozen=True)
class Line:
    """Numbers between two bounds, mapped one to one onto the whole line."""

    lower: float
    upper: float

    def x(self, w: Array) -> Array:
        """The numbers at places on the line."""
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            x = self.lower + (self.upper - self.lower) * scipy.special.expit(w)
            return np.clip(x, np.nextafter(self.lower, self.upper), np.nextafter(self.upper, self.lower))
        if np.isfinite(self.lower):
            return np.maximum(self.lower + np.exp(w), np.nextafter(self.lower, np.inf))
        return np.minimum(self.upper - np.exp(-w), np.nextafter(self.upper, -np.inf)) if self.upper < np.inf else w

    def log_slope(self, w: Array) -> Array:
        """log(dx/dw) there."""
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            return np.log(self.upper - self.lower) - np.logaddexp(0, w) - np.logaddexp(0, -w)
        if np.isfinite(self.lower):
            return w
        return -w if self.upper < np.inf else np.zeros_like(w)

    def w(self, x: Array) -> Array:
        """The places of numbers; infinite at the bounds."""
        with np.errstate(divide="ignore", invalid="ignore"):
            above, below = np.log(np.maximum(x - self.lower, 0.0)), np.log(np.maximum(self.upper - x, 0.0))
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            return above - below
        if np.isfinite(self.lower):
            return above
        return -below if self.upper < np.inf else x

    @property
    def reach(self) -> float:
        """How far out on the line densities may lie."""
        return 1e12 if np.isinf(self.lower) and np.isinf(self.upper) else 700.0


def integrals(densities: Densities, line: Line, lower: Array, upper: Array) -> tuple[Array, Array]:
    """log P_j(lower_i < X < upper_i) (m, k), and E_j[t(X) | ...] (m, k, s), for k densities that have one mode each.

    >>> exponential = Densities(lambda x: (-x[:, None], x[:, None]), lambda x, which: (-x, x[:, None]))
    >>> found = integrals(exponential, Line(0.0, np.inf), np.ones(1), np.array([np.inf]))
    >>> [part.round(9).item() for part in found]
    [-1.0, 2.0]
    """

    def height(w: Array) -> Array:
        """The log-densities (k, ...) of places of their own (k, ...) on the line."""
        which = np.repeat(np.arange(len(w)), w[0].size)
        with np.errstate(all="ignore"):
            value = densities.own(line.x(w.ravel()), which)[0].reshape(w.shape) + line.log_slope(w)
        return np.where(np.isnan(value), -np.inf, value)

    below, above = line.w(lower), line.w(upper)
    bounds = np.unique(np.concatenate([below, above]))
    bounds = bounds[np.isfinite(bounds)]
    extremes = (bounds[0], bounds[-1]) if len(bounds) else (0.0, 0.0)
    modes = _modes(densities, height, line)
    own = _edges(height, modes, line.reach, extremes)
    peaks = height(modes[:, None])[:, 0]
    edges, share = _cut(bounds, own)
    sums = _cells(densities, line, edges, share, peaks)
    places = np.searchsorted(bounds, below), np.searchsorted(bounds, above)
    found = np.empty((len(below), *sums.shape[::2]))
    for j, mode in enumerate(modes):
        # Where bounds are among the edges; infinite ones are the ends.
        rank = np.append(np.arange(len(bounds)) + np.searchsorted(own[j], bounds), edges.shape[1] - 1)
        first, last = np.where(below == -np.inf, 0, rank[places[0]]), rank[places[1]]
        found[:, j] = _runs(sums[j], first, last, int(np.searchsorted(edges[j], mode)))
    with np.errstate(all="ignore"):
        log_p: Array = np.log(found[..., 0]) + peaks
        means: Array = found[..., 1:] / found[..., :1]
    far = ~(found[..., 0] > _SMALLEST)
    if far.any():
        log_p, means = _far_tails(densities, line, (below, above), modes, far, (log_p, means))
    return log_p, means


def _cut(bounds: Array, own: Array) -> tuple[Array, Array]:
    """The edges of the cells of each density (k, c + 1), and the shares they have of its own cells (k, c)."""
    edges = np.empty((len(own), len(bounds) + own.shape[1]))
    share = np.empty((len(own), edges.shape[1] - 1))
    for j, parts in enumerate(own):
        edges[j] = np.insert(bounds, np.searchsorted(bounds, parts, side="right"), parts)
        around = np.clip(np.searchsorted(parts, edges[j, :-1], side="right"), 1, len(parts) - 1)
        share[j] = np.diff(edges[j]) / np.maximum(parts[around] - parts[around - 1], np.finfo(float).tiny)
    return edges, share


def _cells(densities: Densities, line: Line, edges: Array, share: Array, peaks: Array) -> Array:
    """The integrals of (1, t) times each density over its cells, relative to its peak: (k, c, 1 + s)."""
    width = np.diff(edges)
    found: Array = np.empty(0)
    for least, most, n_points in _RULES:
        which, cells = np.nonzero((share >= least) & (share < most) & (width > 0))
        if not len(which):
            continue
        points, weights = np.polynomial.legendre.leggauss(n_points)
        half = 0.5 * width[which, cells]
        w = ((edges[which, cells] + half)[:, None] + half[:, None] * points).ravel()
        with np.errstate(all="ignore"):
            values, t = densities.own(line.x(w), np.repeat(which, len(points)))
            values = values.reshape(-1, len(points)) + line.log_slope(w).reshape(-1, len(points))
            values = np.exp(values - peaks[which, None])
        mass = np.where(np.isnan(values), 0.0, values) * (half[:, None] * weights)
        if not found.size:
            found = np.zeros((*width.shape, 1 + t.shape[1]))
        found[which, cells, 0] = mass.sum(axis=1)
        found[which, cells, 1:] = np.einsum("cp,cps->cs", mass, t.reshape(*mass.shape, -1))
    return found


def sums(densities: Densities, lower: Array, upper: Array, ends: tuple[float, float]) -> tuple[Array, Array]:
    """The same for whole numbers from lower_i to upper_i, both included; `ends` are those of the support."""
    finite = np.concatenate([lower, upper])
    finite = finite[np.isfinite(finite)]
    first = max(ends[0], lower.min())
    highest = float(finite.max()) if len(finite) else first
    last = _last(densities, first, highest, ends[1])
    if last - first > _MOST_WHOLE:
        # Sums this long are integrals.
        line = Line(first - 0.5, last + 0.5)
        low, high = np.maximum(lower, first) - 0.5, np.minimum(upper, last) + 0.5
        return integrals(densities, line, low, high)
    x = np.arange(first, last + 1)
    with np.errstate(all="ignore"):
        values, t = densities.each(x)
    peak = values.max(axis=0)
    mass = np.exp(values - peak)
    start = (np.maximum(lower, first) - first).astype(np.intp)
    stop = (np.minimum(upper, last) - first + 1).astype(np.intp)
    found = np.stack(
        [
            _runs(np.column_stack([own, own[:, None] * t]), start, stop, mode)
            for own, mode in zip(mass.T, values.argmax(axis=0), strict=True)
        ],
        axis=1,
    )
    with np.errstate(all="ignore"):
        log_p, means = np.log(found[..., 0]) + peak, found[..., 1:] / found[..., :1]
    far = np.argwhere(~(found[..., 0] > _SMALLEST))
    for i, j in far:
        inside = slice(int(max(lower[i], first) - first), int(min(upper[i], last) - first + 1))
        log_p[i, j] = scipy.special.logsumexp(values[inside, j])
        means[i, j] = t[inside][values[inside, j].argmax()]
    return log_p, means


def _last(densities: Densities, first: float, highest: float, end: float) -> float:
    """The whole number beyond which no density has anything left."""
    if np.isfinite(end) and end - first <= _MOST_WHOLE:
        return end
    x = np.unique(np.concatenate([[first, highest], np.floor(highest + 2.0 ** np.arange(0.0, 50.0))]))
    x = x[x <= end]
    with np.errstate(all="ignore"):
        values = densities.each(x)[0]
    start = np.searchsorted(x, highest)
    limit = np.minimum(values.max(axis=0), values[start:].max(axis=0)) - _NEGLIGIBLE
    left = np.flatnonzero((values > limit).any(axis=1))
    return float(x[min(left.max() + 1, len(x) - 1)])


def _runs(sums: Array, first: Indices, last: Indices, mode: int) -> Array:
    """Sums (m, 1 + s) over the cells first..last - 1 of m runs, of one density."""
    short = last - first <= _SHORT_RUN
    found = np.empty((len(first), sums.shape[1]))
    none = np.zeros((1, sums.shape[1]))
    if short.any():
        # An empty run would be one cell to `reduceat`; intervals have positive width, and so one cell at least.
        places = np.stack([first[short], last[short]], axis=1).ravel()
        found[short] = np.add.reduceat(np.concatenate([sums, none]), places, axis=0)[::2]
    if not short.all():
        left = np.concatenate([none, np.cumsum(sums, axis=0)])
        right = np.concatenate([np.cumsum(sums[::-1], axis=0)[::-1], none])
        start, stop = first[~short], last[~short]
        # Below the mode sums from the left are small where densities are, above it those from the right.
        low = left[np.minimum(stop, mode)] - left[np.minimum(start, mode)]
        high = right[np.maximum(start, mode)] - right[np.maximum(stop, mode)]
        found[~short] = low + high
    return found


def _modes(densities: Densities, height: Heights, line: Line) -> Array:
    """The modes (k,) on the line: a coarse grid for all, then ever finer ones for each."""
    grid = np.sinh(np.linspace(-np.arcsinh(line.reach), np.arcsinh(line.reach), _COARSE))
    with np.errstate(all="ignore"):
        values = densities.each(line.x(grid))[0] + line.log_slope(grid)[:, None]
    top = np.clip(np.where(np.isnan(values), -np.inf, values).argmax(axis=0), 1, len(grid) - 2)
    low, modes, high = grid[top - 1], grid[top], grid[top + 1]
    index, share = np.arange(len(top)), np.linspace(0.0, 1.0, _FINE)
    for _ in range(_ROUNDS):
        near = low[:, None] + (high - low)[:, None] * share
        top = np.clip(height(near).argmax(axis=1), 1, _FINE - 2)
        low, modes, high = near[index, top - 1], near[index, top], near[index, top + 1]
    return modes


def _edges(height: Heights, modes: Array, reach: float, extremes: tuple[float, float]) -> Array:
    """Points (k, e) in order between which each density does not change much, out to where it is negligible."""
    share = np.linspace(0.0, 1.0, _FINE)
    parts = [modes[:, None]]
    for side, outermost in ((-1.0, extremes[0]), (1.0, extremes[1])):
        far = _falls_off(height, modes, side, reach)
        shares = np.append(np.arange(1, _CELLS + 1) / _CELLS, _CLOSER)
        parts.append(modes[:, None] + (far - modes)[:, None] * shares)
        beyond = side * outermost > side * far
        if beyond.any():
            start = np.where(beyond, outermost, far)
            further = _falls_off(height, start, side, reach)
            parts.append(start[:, None] + (further - start)[:, None] * share[1:] ** 2)
            parts.append(far[:, None] + (start - far)[:, None] * share)
    return np.sort(np.concatenate(parts, axis=1), axis=1)


def _falls_off(height: Heights, start: Array, side: float, reach: float) -> Array:
    """Where on one side of places (k,) densities have fallen by what is negligible, found by doubling and halving."""
    base = height(start[:, None]) - _NEGLIGIBLE
    steps = side * 2.0 ** np.arange(-60.0, np.log2(reach) + 1)
    with np.errstate(invalid="ignore"):
        below = height(start[:, None] + steps) < base
    first = np.where(below.any(axis=1), below.argmax(axis=1), len(steps) - 1)
    low, high = np.where(first > 0, steps[first - 1], 0.0), steps[first]
    share = np.linspace(0.0, 1.0, 9)
    near = low[:, None] + (high - low)[:, None] * share
    with np.errstate(invalid="ignore"):
        gone = height(start[:, None] + near) < base
    place = np.where(gone.any(axis=1), gone.argmax(axis=1), len(share) - 1)
    return start + near[np.arange(len(start)), place]


def _far_tails(
    densities: Densities,
    line: Line,
    bounds: tuple[Array, Array],
    modes: Array,
    far: NDArray[np.bool_],
    found: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Where probabilities are too small for a float: a distribution concentrated at the bound next to the mode."""
    log_p, means = found[0].copy(), found[1].copy()
    for j in np.flatnonzero(far.any(axis=0)):
        rows = np.flatnonzero(far[:, j])
        low, high = bounds[0][rows], bounds[1][rows]
        at = np.where(low > modes[j], low, high)
        step = 1e-6 * (1 + np.abs(at)) * np.where(low > modes[j], 1.0, -1.0)
        which = np.full(len(rows), j)
        with np.errstate(all="ignore"):
            here, t = densities.own(line.x(at), which)
            there, _ = densities.own(line.x(at + step), which)
            here, there = here + line.log_slope(at), there + line.log_slope(at + step)
        slope = np.maximum(here - there, 1e-12) / np.abs(step)
        with np.errstate(all="ignore"):
            log_p[rows, j] = here - np.log(slope) + np.log(-np.expm1(-slope * (high - low)))
        means[rows, j] = t
    return log_p, means
