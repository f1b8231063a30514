"""The direct engine: scores from the family's own densities in NumPy, without packed statistics.

Components very narrow for their distance from the center lose digits in packed scores. Gaussians are then scored by
differences to means in the kernels (see `precise.py`); the densities of other families (gamma, beta, counts) that keep
their digits are NumPy's business.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from .._kernels import RowScores, Work
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..numerics.arrays import Array, Labels
from .partition import Labelled, Partition
from .precision import SCORE_ERROR, centered_form, score_error
from .statistics import ClusterStatistics

__all__ = ["SCORE_ERROR", "DirectEngine", "Worst", "direct_fits", "score_error", "worst_of"]

# Rows examined together.
ROWS_A_BLOCK = 1 << 14


class DirectEngine:
    """The dense engine's passes on direct densities. It takes log-weights, whose digits a bias would not keep."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def hard_pass(self, natural: Array, log_weights: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        labels = np.empty(len(self.rows), dtype=np.int32)
        self.rows.meter.add(Work(passes=1))
        for block, _ in self.rows.blocks():
            labels[block] = self._joint(block, natural, log_weights)[0].argmax(axis=1)
        counts, sums = self.rows.packed.label_sums(labels, len(natural))
        return Labelled(labels), ClusterStatistics(counts, sums, 0.0)

    def soft_pass(self, natural: Array, log_weights: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        statistics = ClusterStatistics.zeros(len(natural), self.rows.n_statistics)
        self.rows.meter.add(Work(passes=1))
        for block, t in self.rows.blocks():
            joint, carrier = self._joint(block, natural, log_weights)
            if n_responsibilities is not None and n_responsibilities < len(natural):
                # A stable sort of the negated scores keeps the lowest indices among equals.
                dropped = np.argsort(-joint, axis=1, kind="stable")[:, n_responsibilities:]
                np.put_along_axis(joint, dropped, -np.inf, axis=1)
            log_likelihood = np.asarray(scipy.special.logsumexp(joint, axis=1))
            shares = np.exp(joint - log_likelihood[:, None])
            log_likelihood = log_likelihood - carrier
            weights = self.rows.weights_of(block)
            if weights is not None:
                shares *= weights[:, None]
            score = float(log_likelihood.sum() if weights is None else weights @ log_likelihood)
            statistics += ClusterStatistics(shares.sum(axis=0), shares.T @ t, score)
        return statistics

    def log_likelihood(self, natural: Array, log_weights: Array) -> tuple[float, float]:
        """The sum of the scores' log-sum-exp over the rows, and the sum of the entropies of the responsibilities."""
        total = np.zeros(2)
        self.rows.meter.add(Work(passes=1))
        for block, _ in self.rows.blocks():
            joint, carrier = self._joint(block, natural, log_weights)
            log_likelihood = np.asarray(scipy.special.logsumexp(joint, axis=1))
            posterior = np.exp(joint - log_likelihood[:, None])
            each = np.column_stack([log_likelihood - carrier, scipy.special.entr(posterior).sum(axis=1)])
            weights = self.rows.weights_of(block)
            total += each.sum(axis=0) if weights is None else weights @ each
        return float(total[0]), float(total[1])

    def _joint(self, block: slice, natural: Array, log_weights: Array) -> tuple[Array, Array]:
        """log p + log w (n, k), and k(x), by which they exceed the scores.

        Scores alone would do, but where k(x) is huge its digits would cover those that tell components apart.
        """
        family = self.rows.family
        X = self.rows.centered_rows(block)
        pairs = X.shape[0] * len(natural)
        self.rows.meter.add(Work(0, pairs, in_numpy=pairs))
        active = np.isfinite(log_weights)
        density = family.direct_log_density(X, natural[active])
        if density is None:
            raise ValueError(f"{family.name} has no direct densities: use packed scores")
        joint = np.full((len(X), len(natural)), -np.inf)
        joint[:, active] = density + log_weights[active]
        return joint, family.log_carrier(X)


def direct_fits(rows: Rows, natural: Array, labels: Labels) -> Array:
    """The weighted sum of log p(x) - k(x) over the rows of each component (k,), without products of columns."""
    form = centered_form(rows.family, natural, np.zeros(len(natural)))
    if form is not None and form.is_finite:
        return rows.packed.own_scores(labels, form)
    return own_fits(rows, natural, labels)


def own_fits(rows: Rows, natural: Array, labels: Labels) -> Array:
    """The same by the family's own densities, or by its statistics where it has none."""
    fits = np.zeros(len(natural))
    rows.meter.add(Work(1, len(labels), in_numpy=len(labels)))
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(len(natural) + 1))
    for j in np.flatnonzero(np.diff(ends)):
        for start in range(ends[j], ends[j + 1], ROWS_A_BLOCK):
            places = order[start : min(start + ROWS_A_BLOCK, ends[j + 1])]
            X = rows.centered_rows(places).astype(float, copy=False)
            density = rows.family.direct_log_density(X, natural[j : j + 1])
            if density is None:
                each = rows.family.sufficient_statistic(X) @ natural[j] - rows.family.log_normalizer(natural[j])
            else:
                each = density[:, 0] - rows.family.log_carrier(X)
            fits[j] += each.sum() if rows.weights is None else rows.weights[places] @ each
    return fits


@dataclass(frozen=True)
class Worst:
    """The lowest best log-density of some rows, and t(x) of the row that has it; the sum of two is the lower one."""

    density: float
    statistic: Array

    def __add__(self, other: "Worst") -> "Worst":
        return other if other.density < self.density else self


def worst_of(rows: Rows | SparseRows, first: int, natural: Array, bias: Array) -> Worst:
    """The row that these components explain worst; it does not matter where the rows begin."""
    worst = Worst(np.inf, np.zeros(rows.n_statistics))
    for start in range(0, len(rows), ROWS_A_BLOCK):
        block = slice(start, min(start + ROWS_A_BLOCK, len(rows)))
        density = _best_scores(rows.subset(np.arange(block.start, block.stop)), natural, bias) + rows.log_carrier(block)
        place = int(np.argmin(density))
        worst += Worst(float(density[place]), rows.take(np.array([start + place]))[0])
    return worst


def _best_scores(rows: Rows | SparseRows, natural: Array, bias: Array) -> Array:
    """The highest score of each row."""
    out = RowScores.wanting(["tops"], len(rows), len(bias))
    rows.packed.row_scores(natural, bias, out)
    assert out.tops is not None  # they were asked for
    return out.tops
