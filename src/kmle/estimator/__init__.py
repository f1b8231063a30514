"""The scikit-learn surface: `KMLE`, the hard clusterer, `ExponentialFamilyMixture`, the density model, and `select`."""

from .hard import KMLE
from .selecting import select
from .soft import ExponentialFamilyMixture

__all__ = ["KMLE", "ExponentialFamilyMixture", "select"]
