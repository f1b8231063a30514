"""How many components: merge paths, and simpler mixtures near a given one."""

from .kernel_density import kernel_density
from .merging import merge_path_from_fit, merge_path_from_labels, refit_path
from .path import Level, MergePath, merge_path
from .simplification import Simplification, simplify

__all__ = [
    "Level",
    "MergePath",
    "Simplification",
    "kernel_density",
    "merge_path",
    "merge_path_from_fit",
    "merge_path_from_labels",
    "refit_path",
    "simplify",
]
