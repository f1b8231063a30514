"""How many components, of which family; simpler mixtures near a given one; what is certain about a fit."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .candidates import Candidate, Selection
from .kernel_density import kernel_density

if TYPE_CHECKING:
    from .certificates import SeedingCertificate, certify, seeding_certificate
    from .combining import Combination, combine
    from .merging import merge_path_from_fit, merge_path_from_labels, refit_path
    from .path import Level, MergePath, merge_path
    from .simplification import Simplification, simplify

__all__ = [
    "Candidate",
    "Combination",
    "Level",
    "MergePath",
    "SeedingCertificate",
    "Selection",
    "Simplification",
    "certify",
    "combine",
    "kernel_density",
    "merge_path",
    "merge_path_from_fit",
    "merge_path_from_labels",
    "refit_path",
    "seeding_certificate",
    "simplify",
]

# Where each name lives; fetched when first asked for, as certificates load SciPy, which comparing candidates does not.
_MODULES = {
    "Combination": "combining",
    "combine": "combining",
    "Level": "path",
    "MergePath": "path",
    "SeedingCertificate": "certificates",
    "Simplification": "simplification",
    "certify": "certificates",
    "merge_path": "path",
    "merge_path_from_fit": "merging",
    "merge_path_from_labels": "merging",
    "refit_path": "merging",
    "seeding_certificate": "certificates",
    "simplify": "simplification",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
