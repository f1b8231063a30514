"""Rows that belong together: passes that score a component only where it may have caught up since the last pass.

For a row with label z the lead over component j changes by <t, d(theta_z - theta_j)> + d(b_z - b_j). With t written as
centre + scale u, and |u| known for all rows of a stretch, that is bounded for all of them at once; no triangle
inequality is needed, so any family will do.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import reference
from .packed import Clusters, Floats, PackedRows, Singles, Step
from .serving import compiled_module

# Rows the kernel looks at together; a stretch is so many or a multiple.
LOOK_ROWS = 64
# Lines of leads are multiples of this, so that whole registers are filled.
WIDTH_STEP = 16
# Leads are to take no more than this share of the memory of the rows.
LEADS_SHARE = 0.25
# Distances of so many components from all are found at once.
LINES_AT_ONCE = 256


class SkippingRows:
    """Packed rows, neighbours among which belong together, with what is certain of their leads.

    Labels are those of `PackedRows.hard_pass`, whatever was skipped. The first pass looks at everything. `margins` (n,)
    are of every row the best score minus the second best of those it was last compared with: a pass writes them.

    >>> packed = PackedRows(4, 1)
    >>> packed.load(0, np.array([[1.0], [2.0], [3.0], [8.0]]))
    >>> clusters, natural = Clusters.empty(4, 2, 1), np.array([[0.0], [1.0]])
    >>> packed.hard_pass(natural, np.array([0.0, -2.5]), clusters)
    4
    >>> rows = SkippingRows(packed, np.empty(4, np.float32))
    >>> rows.hard_pass(natural, np.array([0.0, -4.5]), clusters), clusters.labels
    ((1, 8, 4), array([0, 0, 0, 1], dtype=int32))
    """

    def __init__(self, packed: PackedRows, margins: Singles) -> None:
        self._packed = packed
        self.margins = margins
        self._largest = packed.largest()
        self._leads: Singles | None = None
        self._last: tuple[Floats, Floats] | None = None

    def hard_pass(self, natural: ArrayLike, bias: ArrayLike, clusters: Clusters) -> tuple[int, int, int]:
        """A pass from clusters in which every row has a label; returns what `PackedRows.skipping_pass` does.

        The clusters must be as the last pass left them, if that was with as many components.
        """
        theta, b = self._packed.components(natural, bias)
        known = self._last is not None and len(self._last[1]) == len(b)
        if not known:
            self._measure(len(b))
        assert self._leads is not None
        if self._last is None or not known or np.any(np.isfinite(b) != np.isfinite(self._last[1])):
            # Nothing is certain of components that come to life, nor of the rows of those that die.
            self._leads[:, : len(b)] = -np.inf
            self._last = theta, b
        step = self._step(theta, b, *self._last)
        found = self._packed.skipping_pass(theta, b, clusters, self.margins, self._leads, self._balls, step)
        self._last = theta.copy(), b.copy()
        return found

    def _measure(self, n_components: int) -> None:
        """Room for leads over so many components, and balls around stretches as long as they must be for that."""
        width = -(-n_components // WIDTH_STEP) * WIDTH_STEP
        room = LEADS_SHARE * self._packed.n_columns * self._packed.dtype.itemsize
        self._balls = self._packed.balls(LOOK_ROWS * max(1, int(np.ceil(4 * width / LOOK_ROWS / room))))
        self._leads = np.full((len(self._balls.radii), width), np.inf, dtype=np.float32)

    def _step(self, natural: Floats, bias: Floats, before: Floats, bias_before: Floats) -> Step:
        """From the components before to those now, rounded so that no change looks smaller than it is."""
        assert self._leads is not None
        alive, width = np.isfinite(bias), self._leads.shape[1]
        k, order = natural.shape
        moved, lifted = np.zeros((k, order)), np.zeros(k)
        moved[alive] = natural[alive] - before[alive]
        lifted[alive] = bias[alive] - bias_before[alive]
        scaled = moved * self._balls.scale
        magnitude = np.abs(natural[alive]) @ self._largest + np.abs(bias[alive])
        rounding = 16 * np.finfo(float).eps * (order + 4) * magnitude.max(initial=0.0)
        # A change is rounded with every term of its sum, as is the one it is compared with, and a few times more.
        each = 4 * (order + 8) * float(np.finfo(np.float32).eps)
        rounding_each = each * float(np.linalg.norm(np.abs(scaled).max(axis=0)))
        with np.errstate(over="ignore"):
            return Step(
                _padded(moved.T, width),
                _padded(lifted, width),
                _apart(scaled, width),
                1.000001 * (rounding + each * float(np.abs(lifted).max())),
                1.000001 * rounding_each,
            )


def ranks(numbers: NDArray[np.uint16]) -> NDArray[np.int32]:
    """Where each number goes when they are put in order; equals stay in theirs.

    >>> ranks(np.array([5, 2, 5, 0], np.uint16))
    array([2, 1, 3, 0], dtype=int32)
    """
    out = np.empty(len(numbers), dtype=np.int32)
    serving: Any = compiled_module() or reference
    serving.ranks(numbers, out)
    return out


def _apart(steps: Floats, width: int) -> Singles:
    """How far apart any two steps (k, D) are, rounded up (k, width); some rows at a time, as there may be many."""
    k, order = steps.shape
    squares = (steps**2).sum(axis=1)
    # What the difference of squares loses by rounding, as a share of its terms.
    lost = np.sqrt((order + 4) * np.finfo(float).eps)
    out = np.zeros((k, width), dtype=np.float32)
    for first in range(0, k, LINES_AT_ONCE):
        some = slice(first, first + LINES_AT_ONCE)
        terms = squares[some, None] + squares
        apart = np.sqrt(np.maximum(terms - 2 * steps[some] @ steps.T, 0.0))
        out[some, :k] = 1.000001 * (apart + lost * np.sqrt(terms))
    np.fill_diagonal(out, 0.0)
    return out


def _padded(values: Floats, width: int) -> Singles:
    """In single precision, with zeros up to a width."""
    out = np.zeros((*values.shape[:-1], width), dtype=np.float32)
    out[..., : values.shape[-1]] = values
    return out
