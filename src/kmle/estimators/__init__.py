"""The scikit-learn surface: `KMLE`, the hard clusterer, `ExponentialFamilyMixture`, the density model, `select`, and
estimators that use a mixture: `MixtureClassifier`, `MixtureRegressor`, `MixtureOutlierDetector`,
`MixtureImputer`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .classifier import MixtureClassifier
    from .imputer import MixtureImputer
    from .kmle import KMLE
    from .mixture_model import ExponentialFamilyMixture
    from .outlier_detector import MixtureOutlierDetector
    from .regressor import MixtureRegressor
    from .selecting import select

__all__ = [
    "KMLE",
    "ExponentialFamilyMixture",
    "MixtureClassifier",
    "MixtureImputer",
    "MixtureOutlierDetector",
    "MixtureRegressor",
    "select",
]

# Where each name lives; fetched when first asked for, as what is without scikit-learn need not wait for it.
_MODULES = {
    "ExponentialFamilyMixture": "mixture_model",
    "KMLE": "kmle",
    "MixtureClassifier": "classifier",
    "MixtureImputer": "imputer",
    "MixtureOutlierDetector": "outlier_detector",
    "MixtureRegressor": "regressor",
    "select": "selecting",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
