"""Rows packed for the passes."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import reference
from .backend import compiled_module
from .centered import Centered
from .columns import ColumnSummary
from .margin_bounds import Balls, MarginBounds, Step
from .mixture_step import Mixtures, Pace, Progress
from .row_scores import RowScores
from .statistics import FEATURES, Clusters, Meter, Totals, Work, bounds_on_statistics, n_statistics_of

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
# Number of spans of rows that are sampled to see how wide spans are.
SAMPLED_SPANS = 1000


class PackedRows:
    """Rows (n, d), float32 or float64, in the layout the passes want; t(x) follows from their columns.

    `features` is "identity" (t = x), "diagonal" (x and its squares) or "quadratic" (x and all products x_a x_b with
    a <= b). Rows are given once, in any number of pieces, by `load`. Scores are <t(x), natural_j> + bias_j; a component
    with a bias of -inf is inactive, never wins and may have any natural parameter.

    >>> rows = PackedRows(3, 1)
    >>> rows.load(0, np.array([[1.0], [-2.0], [3.0]]))
    >>> clusters = Clusters.empty(3, 2, rows.n_statistics)
    >>> rows.hard_pass(np.array([[0.0], [1.0]]), np.array([0.0, 0.5]), clusters)
    3
    >>> clusters.labels, clusters.sums.ravel()
    (array([1, 0, 1], dtype=int32), array([-2.,  4.]))
    """

    def __init__(
        self,
        n_rows: int,
        n_columns: int,
        features: str = "identity",
        weights: ArrayLike | None = None,
        dtype: Any = np.float64,
        n_threads: int = 1,
        meter: Meter | None = None,
    ) -> None:
        self._meter = meter
        self._counted = (0, 0)
        kind = FEATURES[features]
        self.n_rows, self.n_columns = n_rows, n_columns
        self.n_statistics = n_statistics_of(kind, n_columns)
        self.n_values = n_rows * self.n_statistics
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise TypeError(f"rows must be float32 or float64, got {self.dtype}: convert by astype(float).")
        row_weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        if row_weights is not None and row_weights.shape != (n_rows,):
            raise ValueError(f"weights must have shape ({n_rows},), one per row, got {row_weights.shape}.")
        self.module: Any = compiled_module()
        self.n_threads = n_threads
        self.features = features
        self.native: Any
        if self.module is None:
            self.native = reference.PackedRows(n_rows, n_columns, kind, row_weights, self.dtype)
        else:
            packed = self.module.PackedRows32 if self.dtype == np.float32 else self.module.PackedRows64
            self.native = packed(n_rows, n_columns, kind, row_weights, n_threads)

    def load(self, first: int, rows: NDArray[Any]) -> None:
        """Takes rows (m, d) as those from `first` on."""
        if rows.ndim != 2 or rows.shape[1] != self.n_columns or first < 0 or first + len(rows) > self.n_rows:
            raise ValueError(f"rows of shape {rows.shape} do not fit at {first} of ({self.n_rows}, {self.n_columns}).")
        if len(rows):
            self.native.load(first, np.asarray(rows, dtype=self.dtype))

    def load_shifted(self, table: NDArray[Any], shift: ArrayLike, places: NDArray[np.int32] | None = None) -> None:
        """Takes all rows (n, d), each column less its shift (d,); `places` (n,) says which row comes at each place."""
        self._load_shifted(table, shift, places, None, None)

    def load_and_summarize(self, table: NDArray[Any], shift: ArrayLike) -> ColumnSummary:
        """Takes all rows likewise, and says what was seen of the table on the way; totals are not added up."""
        lowest, highest = np.full(self.n_columns, np.inf), np.full(self.n_columns, -np.inf)
        finite, whole = self._load_shifted(table, shift, None, lowest, highest)
        return ColumnSummary(lowest, highest, np.full(self.n_columns, np.nan), finite, whole)

    def _load_shifted(
        self,
        table: NDArray[Any],
        shift: ArrayLike,
        places: NDArray[np.int32] | None,
        lowest: Floats | None,
        highest: Floats | None,
    ) -> tuple[bool, bool]:
        less = np.ascontiguousarray(shift, dtype=np.float64)
        if table.shape != (self.n_rows, self.n_columns) or less.shape != (self.n_columns,):
            raise ValueError(f"rows of shape {table.shape} are not all of ({self.n_rows}, {self.n_columns}).")
        if self.n_rows == 0:
            return True, True
        given = table if table.dtype == np.float32 else np.asarray(table, dtype=np.float64)
        finite, whole = self.native.load_shifted(given, less, places, lowest, highest)
        return bool(finite), bool(whole)

    def column(self) -> NDArray[Any]:
        """The only column (n,) where it lies, to be written to and sorted without a copy; `measure` then loads it."""
        if self.n_columns != 1:
            raise ValueError(f"rows of {self.n_columns} columns do not lie as one: use load.")
        return np.asarray(self.native.column())

    def measure(self) -> None:
        """Takes what was written into `column` as loaded."""
        self.native.measure()

    def hard_pass(
        self,
        natural: ArrayLike,
        bias: ArrayLike,
        clusters: Clusters,
        margins: Singles | None = None,
        centered: Centered | None = None,
    ) -> int:
        """Gives every row its best component, the lowest index on a tie; returns how many labels changed.

        `margins` (n,) receives best score minus second best: 0 where they nearly tie. With `centered`, the same
        components by their means, labels are those of its scores.
        """
        theta, b = self.components(natural, bias)
        if clusters.labels.shape != (self.n_rows,) or clusters.sums.shape != theta.shape:
            raise ValueError(f"clusters of shape {clusters.sums.shape} do not fit components of shape {theta.shape}.")
        if clusters.labels.max(initial=-1) >= len(theta):
            raise ValueError(f"labels must lie below {len(theta)}, got {clusters.labels.max()}.")
        form = self._form(centered, len(theta))
        changed = self.native.hard_pass(theta, b, self._given(clusters), margins, form)
        self.count()
        clusters.clear_empty()
        return int(changed)

    def balls(self, rows_each: int, centers: Floats, anchors: NDArray[np.int32]) -> Balls:
        """Balls that hold t(x) of each span of rows, each around one of the given centers."""
        radii = np.empty(len(anchors), np.float32)
        every = max(1, len(anchors) // SAMPLED_SPANS)
        squares = np.zeros(self.n_statistics)
        unscaled = Balls(rows_each, centers, anchors, radii, np.ones(self.n_statistics))
        self.native.measure_balls(self._given(unscaled), every, squares)
        scale = np.sqrt(squares)
        balls = replace(unscaled, scale=np.where((scale > 0) & np.isfinite(scale), scale, 1.0))
        self.native.measure_balls(self._given(balls), 1, None)
        return balls

    def bounds_pass(
        self,
        natural: ArrayLike,
        bias: ArrayLike,
        clusters: Clusters,
        margins: Singles,
        bounds: MarginBounds,
        step: Step,
    ) -> tuple[int, int, int]:
        """A hard pass over spans whose margins may be gone, after the `step`; it writes what is certain then.

        `margins` (n,) receives best score minus second best, of those computed. Returns how many labels changed, how
        many scores it took, and how many rows were examined in spans with rows of several components.
        """
        theta, b = self.components(natural, bias)
        given = self._given(bounds), self._given(step)
        changed, scored, strayed = self.native.bounds_pass(theta, b, self._given(clusters), margins, *given)
        clusters.clear_empty()
        self.count(0 if self.module is None else int(scored))
        return int(changed), int(scored), int(strayed)

    def bounds_log_likelihood(
        self, natural: ArrayLike, bias: ArrayLike, labels: NDArray[np.int32], bounds: MarginBounds, step: Step
    ) -> tuple[float, float]:
        """What `log_likelihood` returns, of components with which a bounds pass has just been made."""
        theta, b = self.components(natural, bias)
        given = self._given(bounds), self._given(step)
        score, entropy = self.native.bounds_log_likelihood(theta, b, labels, *given)
        self.count()
        return float(score), float(entropy)

    def soft_pass(
        self,
        natural: ArrayLike,
        bias: ArrayLike,
        n_responsibilities: int | None = None,
        centered: Centered | None = None,
    ) -> tuple[Floats, Floats, float]:
        """Counts (k,) and sums (k, D) by responsibility, and the weighted sum of the rows' log-sum-exp of scores.

        With `n_responsibilities` only the largest responsibilities of a row count, rescaled to one, the lowest index on
        a tie. With `centered`, the same components by their means, no score has a rounding error above SCORE_ERROR for
        that of the products of columns.
        """
        theta, b = self.components(natural, bias)
        counts, sums, scores = self.soft_passes(theta[np.newaxis], b[np.newaxis], n_responsibilities, centered)
        return counts[0], sums[0], float(scores[0])

    def soft_passes(
        self,
        natural: NDArray[Any],
        bias: NDArray[Any],
        n_responsibilities: int | None = None,
        centered: Centered | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """The soft passes of m mixtures of k components at once: natural (m, k, D), bias (m, k), centered (m k, c).

        Returns counts (m, k), sums (m, k, D) and scores (m,); a mixture without active components scores -inf.
        """
        mixtures, k = bias.shape
        if mixtures == 0:
            return np.zeros(bias.shape), np.zeros(natural.shape), np.zeros(0)
        theta, b = self.components(natural.reshape(mixtures * k, -1), bias.reshape(-1))
        totals, scores = Totals.zeros(*theta.shape), np.zeros(mixtures)
        kept = k if n_responsibilities is None else min(n_responsibilities, k)
        form = self._form(centered, len(theta))
        self.native.soft_passes(theta, b, mixtures, kept, self._given(totals), scores, form)
        self.count(passes=mixtures)
        counts, sums = totals.counts.reshape(mixtures, k), totals.sums.reshape(mixtures, k, -1)
        none = ~np.isfinite(bias).any(axis=1)
        if none.any():
            counts[none], sums[none], scores[none] = 0.0, 0.0, -np.inf
        return counts, sums, scores

    def gaussian_steps(self, mixtures: Mixtures, setting: Any, pace: Pace, work: float) -> Progress:
        """Steps of Gaussian mixtures, which change in place, with a compiled setting; see `gaussian.gaussian_steps`."""
        given = self._given(mixtures), setting, self._given(pace)
        progress = Progress(*self.native.gaussian_steps(*given, work))
        self.count(passes=round((progress.work - work) / pace.cost))
        return progress

    def log_likelihood(
        self, natural: ArrayLike, bias: ArrayLike, centered: Centered | None = None
    ) -> tuple[float, float]:
        """The weighted sums of the rows' log-sum-exp of scores and of the entropies of their responsibilities."""
        theta, b = self.components(natural, bias)
        if not np.isfinite(b).any():
            return -np.inf, 0.0
        score, entropy = self.native.log_likelihood(theta, b, self._form(centered, len(theta)))
        self.count()
        return float(score), float(entropy)

    def row_scores(
        self,
        natural: ArrayLike,
        bias: ArrayLike,
        out: RowScores,
        centered: Centered | None = None,
        by_differences: bool = False,
    ) -> None:
        """Fills in what is wanted of each row.

        With `centered`, the same components by their means, no score has a rounding error above 1e-9 for that of the
        products of columns; `by_differences` asks for the scores of `centered` themselves, for all rows.
        """
        theta, b = self.components(natural, bias)
        out.check(self.n_rows, len(b))
        form = self._form(centered, len(theta))
        self.native.row_scores(theta, b, form, by_differences and form is not None, self._given(out))
        self.count()

    def label_rows(
        self, natural: ArrayLike, bias: ArrayLike, labels: NDArray[np.int32], centered: Centered | None = None
    ) -> None:
        """Writes the best component of every row (n,), the label that a hard pass gives it; nothing is added up."""
        theta, b = self.components(natural, bias)
        _check_labels(labels, self.n_rows)
        self.native.label_rows(theta, b, labels, self._form(centered, len(theta)))
        self.count()

    def label_table(
        self,
        table: NDArray[Any],
        shift: ArrayLike,
        natural: ArrayLike,
        bias: ArrayLike,
        labels: NDArray[np.int32],
        centered: Centered | None = None,
    ) -> ColumnSummary:
        """Writes the best component of every row of a table (m, d), and says what was seen of it; totals are not.

        The rows take the place of those that were loaded, as many at a time as there is room for, each column less its
        shift (d,). With `centered`, labels are those of its scores where rounding may spoil the others.
        """
        theta, b = self.components(natural, bias)
        less = np.ascontiguousarray(shift, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.n_columns or less.shape != (self.n_columns,):
            raise ValueError(f"rows of shape {table.shape} do not have {self.n_columns} columns.")
        _check_labels(labels, len(table))
        lowest, highest = np.full(self.n_columns, np.inf), np.full(self.n_columns, -np.inf)
        given = table if table.dtype == np.float32 else np.asarray(table, dtype=np.float64)
        form = self._form(centered, len(theta))
        finite, whole = self.native.label_table(given, less, theta, b, labels, form, lowest, highest)
        self.count()
        return ColumnSummary(lowest, highest, np.full(self.n_columns, np.nan), bool(finite), bool(whole))

    def own_scores(self, labels: ArrayLike, centered: Centered) -> Floats:
        """The weighted sums (k,) of the scores of rows with the components of their labels; -1 is none."""
        k = len(centered.mean)
        totals: Floats = np.zeros(k)
        self.native.own_scores(labels_for(self.n_rows, labels, k), self._form(centered, k), totals)
        self.count()
        return totals

    def count(self, scored: int = 0, passes: int = 1) -> None:
        """Adds what the latest passes did to the meter."""
        if self._meter is None:
            return
        before, self._counted = self._counted, self.native.work()
        scored += self._counted[0] - before[0]
        rescored = self._counted[1] - before[1]
        self._meter.add(Work(passes, scored, rescored, scored + rescored if self.module is None else 0))

    @property
    def work(self) -> tuple[int, int]:
        """How many scores hard and soft passes have computed so far, and how many once more in better precision."""
        scored, rescored = self.native.work()
        return int(scored), int(rescored)

    def _form(self, centered: Centered | None, n_components: int) -> Any:
        if centered is None:
            return None
        if len(centered.mean) != n_components or centered.n_columns > self.n_columns:
            raise ValueError(
                f"means of shape {centered.mean.shape} do not fit {n_components} components on these rows."
            )
        return self._given(centered)

    def _given(self, value: Any) -> Any:
        """An object as the passes take it: in NumPy as it is."""
        return value if self.module is None else value.compiled(self.module)

    def totals(self) -> tuple[float, Floats]:
        """The weight of all rows and their weighted sum of t(x), (D,)."""
        totals = Totals.zeros(1, self.n_statistics)
        self.native.label_sums(None, self._given(totals))
        return float(totals.counts[0]), totals.sums[0]

    def largest(self) -> Floats:
        """A bound on |t(x)|, coordinate by coordinate (D,): exact for the columns themselves."""
        columns = np.zeros(self.n_columns)
        self.native.largest(columns)
        return bounds_on_statistics(columns, self.features)

    def label_sums(self, labels: ArrayLike, n_labels: int) -> tuple[Floats, Floats]:
        """Counts (k,) and sums (k, D) of given labels in 0..k-1; rows labelled -1 are no one's."""
        given = labels_for(self.n_rows, labels, n_labels)
        totals = Totals.zeros(n_labels, self.n_statistics)
        self.native.label_sums(given, totals if self.module is None else totals.compiled(self.module))
        return totals.counts, totals.sums

    def components(self, natural: ArrayLike, bias: ArrayLike) -> tuple[Floats, Floats]:
        """Natural parameters and biases as arrays that fit the rows."""
        return components_for(self.n_statistics, natural, bias)


def components_for(n_statistics: int, natural: ArrayLike, bias: ArrayLike) -> tuple[Floats, Floats]:
    """Natural parameters (k, D) and biases (k,) as arrays that fit rows of D statistics."""
    theta, b = np.asarray(natural, dtype=np.float64), np.asarray(bias, dtype=np.float64)
    if theta.ndim != 2 or len(theta) == 0 or theta.shape[1] != n_statistics:
        raise ValueError(f"natural must have shape (k, {n_statistics}), got {theta.shape}.")
    if b.shape != (len(theta),):
        raise ValueError(f"bias must have shape ({len(theta)},), one per component, got {b.shape}.")
    return theta, b


def _check_labels(labels: NDArray[np.int32], n_rows: int) -> None:
    """Whether labels can be written where they lie."""
    if labels.shape != (n_rows,) or labels.dtype != np.int32 or not labels.flags.c_contiguous:
        raise ValueError(f"labels must be {n_rows} contiguous int32, got {labels.dtype} of {labels.shape}.")


def labels_for(n_rows: int, labels: ArrayLike, n_labels: int) -> NDArray[np.int32]:
    """Labels in -1..k-1, one per row, as the kernels take them."""
    given = np.asarray(labels)
    if given.shape != (n_rows,) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"labels must be {n_rows} whole numbers, got {given.dtype} of shape {given.shape}.")
    if n_rows and (given.min() < -1 or given.max() >= n_labels):
        raise ValueError(f"labels must lie in -1..{n_labels - 1}, got {given.min()}..{given.max()}.")
    return np.ascontiguousarray(given, dtype=np.int32)
