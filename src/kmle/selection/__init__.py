"""How many components, of which family; simpler mixtures near a given one; what is certain about a fit."""

from .candidates import Candidate, Selection
from .certificates import SeedingCertificate, certify, seeding_certificate
from .kernel_density import kernel_density
from .merging import merge_path_from_fit, merge_path_from_labels, refit_path
from .path import Level, MergePath, merge_path
from .simplification import Simplification, simplify

__all__ = [
    "Candidate",
    "Level",
    "MergePath",
    "SeedingCertificate",
    "Selection",
    "Simplification",
    "certify",
    "kernel_density",
    "merge_path",
    "merge_path_from_fit",
    "merge_path_from_labels",
    "refit_path",
    "seeding_certificate",
    "simplify",
]
