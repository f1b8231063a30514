"""The precise engine: for data and components whose packed scores would lose too many digits.

One extreme value, a narrow component or a collinear column is enough. Most scores of such data are still good, and the
kernels know which; they compute the others by differences to means, where the family has such a form. Labels are those
of scores by differences, whatever the instruction set. Other families leave it to their own densities.
"""

import numpy as np

from ..families import ExponentialFamily
from ..kernels import Centred, PackedRows
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .dense import DenseEngine
from .direct import DirectEngine
from .engine import Engine
from .partition import Partition
from .pruned import PrunedEngine
from .rows import Rows
from .skipping import SkippingEngine
from .sorted import SortedEngine


def centred_form(family: ExponentialFamily, natural: Array, log_weights: Array) -> Centred | None:
    """Components (k, D) with log-weights (k,) by their means; None where the family has no such form."""
    active = np.flatnonzero(np.isfinite(log_weights))
    with np.errstate(all="ignore"):
        form = family.centred(natural[active])
    if form is None:
        return None
    return form.with_constant(form.constant + log_weights[active]).spread_over(active, len(natural))


class PreciseEngine:
    """The passes of another engine on the same rows, with scores that are good to SCORE_ERROR."""

    def __init__(self, rows: Rows, engine: Engine | None = None) -> None:
        self.rows = rows
        self._engine = engine
        self._dense = engine if isinstance(engine, DenseEngine) else DenseEngine(rows)

    def hard_pass(self, natural: Array, bias: Array, log_weights: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        centred = centred_form(self.rows.family, natural, log_weights)
        if centred is None:
            return DirectEngine(self.rows).hard_pass(natural, log_weights)
        return self._dense.hard_pass(natural, bias, _finite(centred))

    def soft_pass(
        self, natural: Array, bias: Array, log_weights: Array, n_kept: int | None = None
    ) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        centred = centred_form(self.rows.family, natural, log_weights)
        if centred is None:
            return DirectEngine(self.rows).soft_pass(natural, log_weights, n_kept)
        return ClusterStatistics(*self._packed.soft_pass(natural, bias, n_kept, _finite(centred)))

    def evidence(self, natural: Array, bias: Array, log_weights: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        centred = centred_form(self.rows.family, natural, log_weights)
        if centred is None:
            return DirectEngine(self.rows).evidence(natural, log_weights)
        return self._packed.evidence(natural, bias, _finite(centred))

    @property
    def _packed(self) -> PackedRows:
        """The rows in whatever order the engine has them."""
        if isinstance(self._engine, SortedEngine | PrunedEngine | SkippingEngine):
            return self._engine.packed
        return self.rows.packed


def _finite(centred: Centred) -> Centred | None:
    """The form, unless a precision is so close to singular that it has no factor: packed scores are all there is."""
    return centred if centred.is_finite else None
