"""Rows that belong together: passes that score a component only where it may have caught up since the last pass.

For a row with label z the margin over component j changes by <t, d(theta_z - theta_j)> + d(b_z - b_j). With t written
as center + scale u, and |u| known for all rows of a span, that is bounded for all of them at once; no triangle
inequality is needed, so any family will do. Spans share the center of the component they started in. The drift
is therefore added up once for all spans of a component: most of them cost one comparison per pass.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._kernels.backend import compiled_module
from ..._kernels.margin_bounds import Balls, MarginBounds, Step
from ..._kernels.packed import Floats, PackedRows, Singles
from ..._kernels.statistics import Clusters
from . import reference

# Rows the kernel examines together; the length of a span is a multiple of it.
BATCH_ROWS = 64
# Lines of margins are multiples of this, so that whole registers are filled.
WIDTH_STEP = 16
# Margins are to take no more than this share of the memory of the rows.
BOUNDS_SHARE = 0.25
# What is said of a margin never counts on more than this, so that sums of it stay numbers.
LARGEST_MARGIN = 1e38
# Margins between which the order is by margin.
LEAST_MARGIN, MOST_MARGIN = 1e-30, 1e30
EPSILON = float(np.finfo(float).eps)


class BoundsRows:
    """Packed rows, neighbours among which belong together, with what is certain of their margins.

    Labels are those of `PackedRows.hard_pass`, whatever was skipped. The first pass examines everything. `margins` (n,)
    are of every row the best score minus the second best of those it was last compared with: a pass writes them.

    >>> packed = PackedRows(4, 1)
    >>> packed.load(0, np.array([[1.0], [2.0], [3.0], [8.0]]))
    >>> clusters, natural = Clusters.empty(4, 2, 1), np.array([[0.0], [1.0]])
    >>> packed.hard_pass(natural, np.array([0.0, -2.5]), clusters)
    4
    >>> rows = BoundsRows(packed, np.empty(4, np.float32))
    >>> changed, scored, strayed = rows.hard_pass(natural, np.array([0.0, -4.5]), clusters)
    >>> changed, clusters.labels
    (1, array([0, 0, 0, 1], dtype=int32))
    """

    def __init__(self, packed: PackedRows, margins: Singles) -> None:
        self._packed = packed
        self.margins = margins
        self._largest = packed.largest()
        self._drift: Drift | None = None

    def hard_pass(self, natural: ArrayLike, bias: ArrayLike, clusters: Clusters) -> tuple[int, int, int]:
        """A pass from clusters in which every row has a label; returns what `PackedRows.bounds_pass` does.

        The clusters must be as the last pass left them, if that was with as many components.
        """
        theta, b = self._packed.components(natural, bias)
        if self._drift is None or len(self._drift.bias) != len(b):
            self._bounds = self._measured(clusters)
            self._drift = None
        elif np.any(np.isfinite(b) != np.isfinite(self._drift.bias)):
            # Nothing is certain of components that become active, nor of the rows of those that become inactive.
            self._bounds.forget(len(b))
            self._drift = None
        if self._drift is None:
            balls, width = self._bounds.balls, self._bounds.margin_bounds.shape[1]
            self._drift = Drift(theta, b, balls, self._largest, width, self._packed.n_threads)
        self._labels, self._step = clusters.labels, self._drift.step(theta, b)
        return self._packed.bounds_pass(theta, b, clusters, self.margins, self._bounds, self._step)

    def log_likelihood(self, natural: ArrayLike, bias: ArrayLike) -> tuple[float, float]:
        """What `PackedRows.log_likelihood` returns; less has to be scored after a pass with the same components."""
        theta, b = self._packed.components(natural, bias)
        if self._drift is None or not self._drift.is_at(theta, b) or not np.isfinite(b).any():
            return self._packed.log_likelihood(theta, b)
        return self._packed.bounds_log_likelihood(theta, b, self._labels, self._bounds, self._step)

    def _measured(self, clusters: Clusters) -> MarginBounds:
        """Room for the margins over all components, and balls around spans that are long enough for them."""
        k = len(clusters.counts)
        width = -(-k // WIDTH_STEP) * WIDTH_STEP
        room = BOUNDS_SHARE * self._packed.n_columns * self._packed.dtype.itemsize
        rows_each = BATCH_ROWS * max(1, int(np.ceil(4 * width / BATCH_ROWS / room)))
        anchors = clusters.labels[::rows_each].copy()
        # Any centers will do; those of the clusters are near their rows.
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.nan_to_num(clusters.sums / clusters.counts[:, None])
        balls = self._packed.balls(rows_each, np.clip(means, -self._largest, self._largest), anchors)
        margin_bounds = np.full((len(anchors), width), LARGEST_MARGIN, dtype=np.float32)
        bounds = MarginBounds(margin_bounds, np.empty(len(anchors)), balls)
        bounds.forget(k)
        return bounds


class Drift:
    """Upper bound on the drift of score differences since the bounds were computed.

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
        self._module: Any = compiled_module()

    def is_at(self, natural: Floats, bias: Floats) -> bool:
        """Whether the last step was to these components."""
        return np.array_equal(bias, self.bias) and np.array_equal(natural, self.natural, equal_nan=True)

    def step(self, natural: Floats, bias: Floats) -> Step:
        """The step to these components, and all so far; it holds until the next."""
        active, n_statistics = np.isfinite(bias), natural.shape[1]
        moved = np.where(active[:, None], natural - self.natural, 0.0)
        with np.errstate(invalid="ignore"):
            lifted = np.where(active, bias - self.bias, 0.0)
        size = self._size(natural, bias)
        rounding = 16 * EPSILON * (n_statistics + 4) * max(size, self._last_size)
        self.natural, self.bias, self._last_size = natural.copy(), bias.copy(), size
        change, apart, gained, reached = self._lines
        step = Step(change, apart, rounding, gained, reached, *self._most)
        steps = np.ascontiguousarray(moved.T), lifted
        if self._module is None:
            reference.add_drift(*steps, self._balls, step, self._n_threads)
        else:
            given = self._balls.compiled(self._module), step.compiled(self._module)
            self._module.add_drift(*steps, *given, self._n_threads)
        return step

    def _size(self, natural: Floats, bias: Floats) -> float:
        """How large the terms of a score can be."""
        active = np.isfinite(bias)
        return float((np.abs(natural[active]) @ self._largest + np.abs(bias[active])).max(initial=0.0))


def margin_order(
    labels: NDArray[np.int32], margins: Singles, n_components: int, n_threads: int = 1
) -> NDArray[np.int32]:
    """Which row comes at each place in an order by label and, nearly, by margin among those of one label.

    >>> margin_order(np.array([1, 0, 1, 1], np.int32), np.array([3.0, 1.0, 0.0, 9.0], np.float32), 3)
    array([1, 2, 0, 3], dtype=int32)
    """
    # So few steps of the margin that the numbers are sorted without comparisons; components beyond that share some.
    steps = max(1, (1 << 16) // n_components)
    typical = np.clip(np.median(margins[:: max(1, len(margins) // 1000)]), LEAST_MARGIN, MOST_MARGIN)
    places = np.empty(len(labels), dtype=np.int32)
    backend: Any = compiled_module() or reference
    backend.margin_order(labels, margins, steps, float(typical), MOST_MARGIN, places, n_threads)
    return places
