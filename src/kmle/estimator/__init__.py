"""The scikit-learn surface: `KMLE`, the hard clusterer, `ExponentialFamilyMixture`, the density model, and `select`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scikit_learn import KMLE, ExponentialFamilyMixture
    from .selecting import select

__all__ = ["KMLE", "ExponentialFamilyMixture", "select"]

# Where each name lives; fetched when first asked for, as what is without scikit-learn need not wait for it.
_HOMES = {"KMLE": "scikit_learn", "ExponentialFamilyMixture": "scikit_learn", "select": "selecting"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
