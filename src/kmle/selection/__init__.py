"""How many components: merge paths, and simpler mixtures near a given one."""

from .merging import merge_path_from_fit, merge_path_from_labels, refit_path
from .path import Level, MergePath, merge_path

__all__ = [
    "Level",
    "MergePath",
    "merge_path",
    "merge_path_from_fit",
    "merge_path_from_labels",
    "refit_path",
]
