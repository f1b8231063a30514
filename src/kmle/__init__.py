"""kmle: learn mixtures of any exponential family, fast.

>>> from kmle import KMLE
>>> KMLE(n_components=2, family="poisson", random_state=0).fit([[1], [2], [30], [28]]).labels_.tolist() in (
...     [0, 0, 1, 1], [1, 1, 0, 0])
True
"""

from importlib.metadata import version

from . import divergences, families, inspection
from .estimator import KMLE, ExponentialFamilyMixture, select
from .mixture import Mixture
from .selection import Selection, certify, kernel_density, merge_path, simplify

__version__ = version("kmle")

__all__ = [
    "KMLE",
    "ExponentialFamilyMixture",
    "Mixture",
    "Selection",
    "__version__",
    "certify",
    "divergences",
    "families",
    "inspection",
    "kernel_density",
    "merge_path",
    "select",
    "simplify",
]
