"""The precise engine: for data and components whose packed scores would lose too many digits.

One extreme value, a narrow component or a collinear column is enough. Most scores of such data are still good, and the
kernels know which; they compute the others by differences to means, where the family has such a form. Labels are those
of scores by differences, whatever the instruction set. Other families leave such rows to their own densities.
"""

from functools import cached_property

import numpy as np

from .._kernels import PackedRows, RowScores
from ..data.table import Rows
from ..numerics.arrays import Array, Labels
from .apart import ApartEngine
from .base import Engine
from .bounds.engine import BoundsEngine
from .boxes.engine import BoxesEngine
from .dense import DenseEngine
from .direct import direct_fits
from .partition import Partition
from .precision import centered_form, finite
from .sorted.engine import SortedEngine
from .statistics import ClusterStatistics


class PreciseEngine:
    """The passes of another engine on the same rows, with scores that are good to SCORE_ERROR."""

    def __init__(self, rows: Rows, engine: Engine | None = None) -> None:
        self.rows = rows
        self._engine = engine
        self._dense = engine if isinstance(engine, DenseEngine) else DenseEngine(rows)

    def hard_pass(self, natural: Array, bias: Array, log_weights: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        centered = centered_form(self.rows.family, natural, log_weights)
        if centered is None:
            return self._apart.hard_pass(natural, log_weights)
        return self._dense.hard_pass(natural, bias, finite(centered))

    def soft_pass(
        self, natural: Array, bias: Array, log_weights: Array, n_responsibilities: int | None = None
    ) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        centered = centered_form(self.rows.family, natural, log_weights)
        if centered is None:
            return self._apart.soft_pass(natural, log_weights, n_responsibilities)
        return ClusterStatistics(*self._packed.soft_pass(natural, bias, n_responsibilities, finite(centered)))

    def log_likelihood(self, natural: Array, bias: Array, log_weights: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        centered = centered_form(self.rows.family, natural, log_weights)
        if centered is None:
            return self._apart.log_likelihood(natural, log_weights)
        return self._packed.log_likelihood(natural, bias, finite(centered))

    def fits(self, natural: Array, labels: Labels) -> Array:
        """The weighted sum of log p(x) - k(x) over the rows of each component (k,)."""
        if centered_form(self.rows.family, natural, np.zeros(len(natural))) is None:
            return self._apart.fits(natural, labels)
        return direct_fits(self.rows, natural, labels)

    def scores(self, natural: Array, bias: Array, log_weights: Array) -> Array:
        """<t(x), natural_j> + bias_j of every row and component, (n, k)."""
        out = RowScores.wanting(["scores"], len(self.rows), len(bias))
        self.rows.packed.row_scores(natural, bias, out, finite(centered_form(self.rows.family, natural, log_weights)))
        assert out.scores is not None  # they were asked for
        return out.scores

    @cached_property
    def _apart(self) -> ApartEngine:
        """The passes of families without scores by differences."""
        return ApartEngine(self.rows)

    @property
    def _packed(self) -> PackedRows:
        """The rows in whatever order the engine has them."""
        if isinstance(self._engine, SortedEngine | BoxesEngine | BoundsEngine):
            return self._engine.packed
        return self.rows.packed
