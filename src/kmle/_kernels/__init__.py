"""The hot loops: arrays in, arrays out; compiled where the C++ module was built, NumPy where it was not.

A row of statistics t(x) scores <t(x), natural_j> + bias_j with component j; for every exponential family that is its
log-density plus log-weight, up to a term of x alone.
"""

from .backend import backend, instruction_set, use, versions
from .centered import Centered, side_by_side
from .columns import ColumnSummary, has_missing, locate, look_up, squares, summarize_columns, tabulate
from .gaussian import (
    COVARIANCE_MODELS,
    GaussianLimits,
    gaussian_has_spread,
    gaussian_log_normalizer,
    gaussian_natural,
    gaussian_step,
    gaussian_steps,
    location_steps,
    structured_natural,
)
from .mixture_step import DONE, NOT_SAFE, Mixtures, MixtureStep, Pace, Progress, StepSetting
from .packed import PackedRows
from .row_scores import RowScores
from .sparse import CompressedRows
from .statistics import Clusters, Meter, Work, bounds_on_statistics
from .table import score_table
from .tails import Tailed, TailedRows

__all__ = [
    "COVARIANCE_MODELS",
    "DONE",
    "NOT_SAFE",
    "Centered",
    "Clusters",
    "ColumnSummary",
    "CompressedRows",
    "GaussianLimits",
    "Meter",
    "MixtureStep",
    "Mixtures",
    "Pace",
    "PackedRows",
    "Progress",
    "RowScores",
    "StepSetting",
    "Tailed",
    "TailedRows",
    "Work",
    "backend",
    "bounds_on_statistics",
    "gaussian_has_spread",
    "gaussian_log_normalizer",
    "gaussian_natural",
    "gaussian_step",
    "gaussian_steps",
    "has_missing",
    "instruction_set",
    "locate",
    "location_steps",
    "look_up",
    "score_table",
    "side_by_side",
    "squares",
    "structured_natural",
    "summarize_columns",
    "tabulate",
    "use",
    "versions",
]
