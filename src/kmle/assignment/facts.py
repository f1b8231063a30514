"""What the objective needs to know of the rows."""

from dataclasses import dataclass, replace

import numpy as np

from ..families.resolution import typical_rows
from ..numerics.arrays import Array
from .rows import Rows


@dataclass(frozen=True)
class Facts:
    """What the objective needs to know of the rows: one look at them tells it all."""

    total: float
    """How many there are, or what they weigh."""
    mean_statistic: Array
    largest_statistic: Array
    """The largest |t_i(x)| of each coordinate, or a bound on it: what bounds the rounding of a score."""
    sum_log_carrier: float


def without_extremes(facts: Facts, rows: Rows) -> Facts:
    """The facts with the mean statistic of the typical ones among some rows, where others are extreme.

    The prior stands at the mean statistic. One extreme value would make it so wide that no component could be narrow.
    Values are extreme as the family sees them: large ones are not where it takes their logarithms.
    """
    typical = typical_rows(rows.kernel_columns(slice(None))[0])
    if typical.all() or not typical.any():
        return facts
    return replace(facts, mean_statistic=rows.subset(np.flatnonzero(typical)).mean_statistic)
