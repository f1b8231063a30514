"""Integrals of densities over many intervals at once.

The bounds of all intervals and a few points of each density, between which it changes little, cut the line into cells.
Every cell is integrated by Gauss-Legendre points, which are the same for all densities, and an interval is a run of
cells. Runs are added up from the tail they lie in, so that small probabilities keep their digits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from .arrays import Array

# Log-densities (n, k) of numbers (n,) under k distributions, and their statistics t (n, s).
Densities = Callable[[Array], tuple[Array, Array]]
# Log-densities (..., k) of places (...) on a line.
Heights = Callable[[Array], Array]

# Points of cells in which densities change, and of those that are this share of such a cell.
_RULE, _SHORT_RULE, _SHORT_CELL = (*np.polynomial.legendre.leggauss(8),), (*np.polynomial.legendre.leggauss(3),), 0.1
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

    >>> found = integrals(lambda x: (-x[:, None], x[:, None]), Line(0.0, np.inf), np.ones(1), np.array([np.inf]))
    >>> [part.round(9).item() for part in found]
    [-1.0, 2.0]
    """

    def height(w: Array) -> Array:
        """The log-densities (..., k) of places on the line."""
        with np.errstate(all="ignore"):
            value = densities(line.x(w.ravel()))[0].reshape(*w.shape, -1) + line.log_slope(w)[..., None]
        return np.where(np.isnan(value), -np.inf, value)

    below, above = line.w(lower), line.w(upper)
    bounds = np.unique(np.concatenate([below, above]))
    bounds = bounds[np.isfinite(bounds)]
    extremes = (bounds[0], bounds[-1]) if len(bounds) else (0.0, 0.0)
    modes, own = _edges(height, line.reach, extremes)
    edges = np.unique(np.concatenate([bounds, own]))
    peak = np.diagonal(height(modes))
    sums = _cells(densities, line, edges, np.unique(own), peak)
    first, last = (np.minimum(np.searchsorted(edges, ends), len(edges) - 1) for ends in (below, above))
    found = _runs(sums, first, last, np.searchsorted(edges, modes))
    with np.errstate(all="ignore"):
        log_p: Array = np.log(found[..., 0]) + peak
        means: Array = found[..., 1:] / found[..., :1]
    far = ~(found[..., 0] > _SMALLEST)
    if far.any():
        log_p, means = _far_tails(height, densities, line, (below, above), modes, far, (log_p, means))
    return log_p, means


def _cells(densities: Densities, line: Line, edges: Array, own: Array, peak: Array) -> Array:
    """The integrals of (1, t) times the densities over the cells between edges, relative to peaks: (c, k, 1 + s)."""
    width = np.diff(edges)
    around = np.clip(np.searchsorted(own, edges[:-1], side="right"), 1, len(own) - 1)
    short = width < _SHORT_CELL * (own[around] - own[around - 1])
    found: Array = np.empty(0)
    for chosen, (points, weights) in ((short, _SHORT_RULE), (~short, _RULE)):
        places = np.flatnonzero(chosen)
        if not len(places):
            continue
        half = 0.5 * width[places]
        w = (edges[places] + half)[:, None] + half[:, None] * points
        with np.errstate(all="ignore"):
            values, t = densities(line.x(w.ravel()))
            values = np.exp(values + line.log_slope(w.ravel())[:, None] - peak)
        mass = np.where(np.isnan(values), 0.0, values).reshape(*w.shape, -1) * (half[:, None] * weights)[..., None]
        sums = mass.transpose(0, 2, 1) @ np.concatenate([np.ones((len(t), 1)), t], axis=1).reshape(*w.shape, -1)
        if not found.size:
            found = np.empty((len(width), *sums.shape[1:]))
        found[places] = sums
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
        values, t = densities(x)
    peak = values.max(axis=0)
    mass = np.exp(values - peak)
    found = _runs(
        np.concatenate([mass[..., None], mass[..., None] * t[:, None]], axis=-1),
        (np.maximum(lower, first) - first).astype(np.intp),
        (np.minimum(upper, last) - first + 1).astype(np.intp),
        values.argmax(axis=0),
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
        values = densities(x)[0]
    start = np.searchsorted(x, highest)
    limit = np.minimum(values.max(axis=0), values[start:].max(axis=0)) - _NEGLIGIBLE
    left = np.flatnonzero((values > limit).any(axis=1))
    return float(x[min(left.max() + 1, len(x) - 1)])


def _runs(sums: Array, first: NDArray[np.intp], last: NDArray[np.intp], modes: NDArray[np.intp]) -> Array:
    """Sums (m, k, 1 + s) over the cells first..last - 1 of m runs."""
    short = last - first <= _SHORT_RUN
    found = np.empty((len(first), *sums.shape[1:]))
    # An empty run would be one cell to `reduceat`; intervals have positive width, and so one cell at least.
    padded = np.concatenate([sums, np.zeros((1, *sums.shape[1:]))])
    if short.any():
        places = np.stack([first[short], last[short]], axis=1).ravel()
        found[short] = np.add.reduceat(padded, places, axis=0)[::2]
    if not short.all():
        left = np.concatenate([np.zeros((1, *sums.shape[1:])), np.cumsum(sums, axis=0)])
        right = np.concatenate([np.cumsum(sums[::-1], axis=0)[::-1], np.zeros((1, *sums.shape[1:]))])
        start, stop = first[~short], last[~short]
        for j, mode in enumerate(modes):
            # Below the mode sums from the left are small where densities are, above it those from the right.
            low = left[np.minimum(stop, mode), j] - left[np.minimum(start, mode), j]
            high = right[np.maximum(start, mode), j] - right[np.maximum(stop, mode), j]
            found[~short, j] = low + high
    return found


def _edges(height: Heights, reach: float, extremes: tuple[float, float]) -> tuple[Array, Array]:
    """The modes (k,) on the line, and points between which no density changes much, out to where all are negligible."""
    grid = np.sinh(np.linspace(-np.arcsinh(reach), np.arcsinh(reach), _COARSE))
    values = height(grid)
    k = values.shape[1]
    index = np.arange(k)
    top = np.clip(values.argmax(axis=0), 1, len(grid) - 2)
    low, modes, high = grid[top - 1], grid[top], grid[top + 1]
    share = np.linspace(0.0, 1.0, _FINE)
    for _ in range(_ROUNDS):
        near = low[:, None] + (high - low)[:, None] * share
        inner = _own(height, near)
        top = np.clip(inner.argmax(axis=1), 1, _FINE - 2)
        low, modes, high = near[index, top - 1], near[index, top], near[index, top + 1]
    parts = [modes]
    for side, outermost in ((-1.0, extremes[0]), (1.0, extremes[1])):
        far = _falls_off(height, modes, side, reach)
        shares = np.append(np.arange(1, _CELLS + 1) / _CELLS, _CLOSER)
        parts.append((modes[:, None] + (far - modes)[:, None] * shares).ravel())
        beyond = side * outermost > side * far
        if beyond.any():
            start = np.where(beyond, outermost, far)
            further = _falls_off(height, start, side, reach)
            parts.append((start[:, None] + (further - start)[:, None] * share[1:] ** 2).ravel())
            parts.append((far[:, None] + (start - far)[:, None] * share).ravel())
    return modes, np.concatenate(parts)


def _own(height: Heights, w: Array) -> Array:
    """For each of k densities its values at its own places (k, m)."""
    index = np.arange(len(w))
    return height(w)[index, :, index]


def _falls_off(height: Heights, start: Array, side: float, reach: float) -> Array:
    """Where on one side of places (k,) densities have fallen by what is negligible, found by doubling and halving."""
    base = _own(height, start[:, None])[:, 0] - _NEGLIGIBLE
    steps = side * 2.0 ** np.arange(-60.0, np.log2(reach) + 1)
    with np.errstate(invalid="ignore"):
        below = _own(height, start[:, None] + steps) < base[:, None]
    first = np.where(below.any(axis=1), below.argmax(axis=1), len(steps) - 1)
    low, high = np.where(first > 0, steps[first - 1], 0.0), steps[first]
    share = np.linspace(0.0, 1.0, 9)
    near = low[:, None] + (high - low)[:, None] * share
    with np.errstate(invalid="ignore"):
        gone = _own(height, start[:, None] + near) < base[:, None]
    place = np.where(gone.any(axis=1), gone.argmax(axis=1), len(share) - 1)
    return start + near[np.arange(len(start)), place]


def _far_tails(
    height: Heights,
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
        here, there = height(at)[:, j], height(at + step)[:, j]
        slope = np.maximum(here - there, 1e-12) / np.abs(step)
        with np.errstate(all="ignore"):
            log_p[rows, j] = here - np.log(slope) + np.log(-np.expm1(-slope * (high - low)))
        means[rows, j] = densities(line.x(at))[1]
    return log_p, means
