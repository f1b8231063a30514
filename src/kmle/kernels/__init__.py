"""The hot loops: arrays in, arrays out; compiled where the C++ module was built, NumPy where it was not.

A row of statistics t(x) scores <t(x), natural_j> + bias_j with component j; for every exponential family that is its
log-density plus log-weight, up to a term of x alone.
"""

from .centred import Centred, side_by_side
from .columns import Survey, look_up, looking_once, squares, survey, tabulate
from .gaussian import gaussian_has_spread, gaussian_log_normalizer, gaussian_natural
from .packed import Clusters, PackedRows
from .products import product_sums
from .pruned import GroupLabels, Level, PrunedRows, spatial_order, spread_labels
from .row_scores import RowScores
from .serving import backend, instruction_set, use, versions
from .skipping import SkippingRows, lead_order
from .sorted import Runs, SortedRows, locate
from .sparse import CompressedRows
from .wide import WideRows
from .work import Meter, Work

__all__ = [
    "Centred",
    "Clusters",
    "CompressedRows",
    "GroupLabels",
    "Level",
    "Meter",
    "PackedRows",
    "PrunedRows",
    "RowScores",
    "Runs",
    "SkippingRows",
    "SortedRows",
    "Survey",
    "WideRows",
    "Work",
    "backend",
    "gaussian_has_spread",
    "gaussian_log_normalizer",
    "gaussian_natural",
    "instruction_set",
    "lead_order",
    "locate",
    "look_up",
    "looking_once",
    "product_sums",
    "side_by_side",
    "spatial_order",
    "spread_labels",
    "squares",
    "survey",
    "tabulate",
    "use",
    "versions",
]
