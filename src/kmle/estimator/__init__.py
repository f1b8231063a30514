"""The scikit-learn surface: `KMLE`, the hard clusterer, and `ExponentialFamilyMixture`, the density model."""

from .hard import KMLE
from .soft import ExponentialFamilyMixture

__all__ = ["KMLE", "ExponentialFamilyMixture"]
