"""kmle: learn mixtures of any exponential family, fast.

>>> from kmle import KMLE
>>> KMLE(n_components=2, family="poisson", random_state=0).fit([[1], [2], [30], [28]]).labels_.tolist() in (
...     [0, 0, 1, 1], [1, 1, 0, 0])
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import divergences, families, inspection
    from .data.batches import Batches
    from .data.intervals import Intervals
    from .estimators import (
        KMLE,
        ExponentialFamilyMixture,
        MixtureClassifier,
        MixtureOutlierDetector,
        MixtureRegressor,
        select,
    )
    from .explorer import explore
    from .mixture import Mixture
    from .selection import Selection, certify, merge_path, simplify
    from .selection.kernel_density import kernel_density

    __version__: str

__all__ = [
    "KMLE",
    "Batches",
    "ExponentialFamilyMixture",
    "Intervals",
    "Mixture",
    "MixtureClassifier",
    "MixtureImputer",
    "MixtureOutlierDetector",
    "MixtureRegressor",
    "Selection",
    "__version__",
    "certify",
    "divergences",
    "explore",
    "families",
    "inspection",
    "kernel_density",
    "merge_path",
    "select",
    "simplify",
]

# Packages that users import from, beside those of `__all__`.
_PACKAGES = ("images", "io", "plotting", "report", "selection")
# Where each public name lives. Names and submodules are fetched when first asked for, so that `kmle --help` need not
# load SciPy and scikit-learn.
_MODULES = {
    "Batches": "data.batches",
    "KMLE": "estimators",
    "ExponentialFamilyMixture": "estimators",
    "Intervals": "data.intervals",
    "Mixture": "mixture",
    "MixtureClassifier": "estimators",
    "MixtureImputer": "estimators",
    "MixtureOutlierDetector": "estimators",
    "MixtureRegressor": "estimators",
    "Selection": "selection",
    "certify": "selection",
    "explore": "explorer",
    "kernel_density": "selection",
    "merge_path": "selection",
    "select": "estimators",
    "simplify": "selection",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version(__name__)
    elif name in _MODULES:
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    else:
        value = _submodule(name)
    globals()[name] = value
    return value


def _submodule(name: str) -> Any:
    if not name.startswith("_"):
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
