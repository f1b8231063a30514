"""Rows that belong together: passes that score a component only where it may have caught up since the last pass.

For a row with label z the lead over component j changes by <t, d(theta_z - theta_j)> + d(b_z - b_j). With t written as
centre + scale u, and |u| known for all rows of a stretch, that is bounded for all of them at once; no triangle
inequality is needed, so any family will do. Stretches share the centre of the component they started in. What is used
up of leads is therefore added up once for all stretches of a component: most of them cost one comparison a pass.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import skipping_reference
from .certain import Balls, Certain, Step
from .packed import Clusters, Floats, PackedRows, Singles
from .serving import compiled_module

# Rows the kernel looks at together; a stretch is so many or a multiple.
LOOK_ROWS = 64
# Lines of leads are multiples of this, so that whole registers are filled.
WIDTH_STEP = 16
# Leads are to take no more than this share of the memory of the rows.
LEADS_SHARE = 0.25
# What is said of a lead never counts on more than this, so that sums of it stay numbers.
LONGEST_LEAD = 1e38
# Margins between which the order is by margin.
LEAST_MARGIN, MOST_MARGIN = 1e-30, 1e30
EPSILON = float(np.finfo(float).eps)


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
    >>> changed, scored, strayed = rows.hard_pass(natural, np.array([0.0, -4.5]), clusters)
    >>> changed, clusters.labels
    (1, array([0, 0, 0, 1], dtype=int32))
    """

    def __init__(self, packed: PackedRows, margins: Singles) -> None:
        self._packed = packed
        self.margins = margins
        self._largest = packed.largest()
        self._used: Used | None = None

    def hard_pass(self, natural: ArrayLike, bias: ArrayLike, clusters: Clusters) -> tuple[int, int, int]:
        """A pass from clusters in which every row has a label; returns what `PackedRows.skipping_pass` does.

        The clusters must be as the last pass left them, if that was with as many components.
        """
        theta, b = self._packed.components(natural, bias)
        if self._used is None or len(self._used.bias) != len(b):
            self._certain = self._measured(clusters)
            self._used = None
        elif np.any(np.isfinite(b) != np.isfinite(self._used.bias)):
            # Nothing is certain of components that come to life, nor of the rows of those that die.
            self._certain.forget(len(b))
            self._used = None
        if self._used is None:
            balls, width = self._certain.balls, self._certain.leads.shape[1]
            self._used = Used(theta, b, balls, self._largest, width, self._packed.n_threads)
        self._labels, self._step = clusters.labels, self._used.step(theta, b)
        return self._packed.skipping_pass(theta, b, clusters, self.margins, self._certain, self._step)

    def evidence(self, natural: ArrayLike, bias: ArrayLike) -> tuple[float, float]:
        """What `PackedRows.evidence` returns; less has to be scored after a pass with the same components."""
        theta, b = self._packed.components(natural, bias)
        if self._used is None or not self._used.is_at(theta, b) or not np.isfinite(b).any():
            return self._packed.evidence(theta, b)
        return self._packed.skipping_evidence(theta, b, self._labels, self._certain, self._step)

    def _measured(self, clusters: Clusters) -> Certain:
        """Room for leads over so many components, and balls around stretches as long as they must be for that."""
        k = len(clusters.counts)
        width = -(-k // WIDTH_STEP) * WIDTH_STEP
        room = LEADS_SHARE * self._packed.n_columns * self._packed.dtype.itemsize
        rows_each = LOOK_ROWS * max(1, int(np.ceil(4 * width / LOOK_ROWS / room)))
        homes = clusters.labels[::rows_each].copy()
        # Any centres will do; those of the clusters are near their rows.
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.nan_to_num(clusters.sums / clusters.counts[:, None])
        balls = self._packed.balls(rows_each, np.clip(means, -self._largest, self._largest), homes)
        leads = np.full((len(homes), width), LONGEST_LEAD, dtype=np.float32)
        certain = Certain(leads, np.empty(len(homes)), balls)
        certain.forget(k)
        return certain


class Used:
    """What is used up of leads, at most, as components make one step after the other.

    All of it is rounded so that no change looks smaller than it is.
    """

    def __init__(
        self, natural: Floats, bias: Floats, balls: Balls, largest: Floats, width: int, n_threads: int
    ) -> None:
        k = len(bias)
        self.natural, self.bias = natural.copy(), bias.copy()
        self._balls, self._largest, self._n_threads = balls, largest, n_threads
        self._lines = [np.zeros((k, width), dtype=np.float32) for _ in range(4)]
        self._most = np.zeros(k), np.zeros(k)
        self._last_size = self._size(natural, bias)
        self._serving: Any = compiled_module() or skipping_reference

    def is_at(self, natural: Floats, bias: Floats) -> bool:
        """Whether the last step was to these components."""
        return np.array_equal(bias, self.bias) and np.array_equal(natural, self.natural, equal_nan=True)

    def step(self, natural: Floats, bias: Floats) -> Step:
        """The step to these components, and all so far; it holds until the next."""
        alive, order = np.isfinite(bias), natural.shape[1]
        moved = np.where(alive[:, None], natural - self.natural, 0.0)
        with np.errstate(invalid="ignore"):
            lifted = np.where(alive, bias - self.bias, 0.0)
        size = self._size(natural, bias)
        rounding = 16 * EPSILON * (order + 4) * max(size, self._last_size)
        self.natural, self.bias, self._last_size = natural.copy(), bias.copy(), size
        change, apart, gained, reached = self._lines
        steps = np.ascontiguousarray(moved.T), lifted
        around = self._balls.centres, self._balls.scale
        self._serving.use_up(*steps, *around, rounding, *self._lines, *self._most, self._n_threads)
        return Step(change, apart, 1.000001 * rounding, gained, reached, *self._most)

    def _size(self, natural: Floats, bias: Floats) -> float:
        """How large the terms of a score can be."""
        alive = np.isfinite(bias)
        return float((np.abs(natural[alive]) @ self._largest + np.abs(bias[alive])).max(initial=0.0))


def lead_order(labels: NDArray[np.int32], margins: Singles, n_components: int, n_threads: int = 1) -> NDArray[np.int32]:
    """Which row comes at each place in an order by label and, nearly, by margin among those of one label.

    >>> lead_order(np.array([1, 0, 1, 1], np.int32), np.array([3.0, 1.0, 0.0, 9.0], np.float32), 3)
    array([1, 2, 0, 3], dtype=int32)
    """
    # So few steps of the margin that the numbers are sorted without comparisons; components beyond that share some.
    steps = max(1, (1 << 16) // n_components)
    typical = np.clip(np.median(margins[:: max(1, len(margins) // 1000)]), LEAST_MARGIN, MOST_MARGIN)
    places = np.empty(len(labels), dtype=np.int32)
    serving: Any = compiled_module() or skipping_reference
    serving.lead_order(labels, margins, steps, float(typical), MOST_MARGIN, places, n_threads)
    return places
