"""The scikit-learn surface: `KMLE`, the hard clusterer, `ExponentialFamilyMixture`, the density model, and `select`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .kmle import KMLE
    from .mixture_model import ExponentialFamilyMixture
    from .selecting import select

__all__ = ["KMLE", "ExponentialFamilyMixture", "select"]

# Where each name lives; fetched when first asked for, as what is without scikit-learn need not wait for it.
_MODULES = {"KMLE": "kmle", "ExponentialFamilyMixture": "mixture_model", "select": "selecting"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
