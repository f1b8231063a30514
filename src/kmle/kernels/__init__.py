"""The hot loops: arrays in, arrays out; compiled where the C++ module was built, NumPy where it was not.

A row of statistics t(x) scores <t(x), natural_j> + bias_j with component j; for every exponential family that
is its log-density plus log-weight, up to a term of x alone. A dead component has bias -inf and never wins.
"""

import warnings
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kmle.kernels import reference
from kmle.kernels.checks import checked_components, checked_labels, checked_statistics, checked_weights

_serving: ModuleType = reference
try:
    from kmle.kernels import _compiled
except ImportError:
    pass
else:
    _serving = _compiled

__all__ = ["assign", "backend", "label_sums", "posterior_sums"]

Floats = NDArray[np.float64]


def backend() -> str:
    """Which version of the kernels serves: "compiled" or "numpy"."""
    return "numpy" if _serving is reference else "compiled"


def assign(statistics: ArrayLike, natural: ArrayLike, bias: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
    """The component of the highest score for each row, the lowest index on a tie, and that score.

    statistics (n, D) float32 or float64, natural (k, D), bias (k,) -> labels (n,), best (n,).

    >>> labels, best = assign([[1.0], [-2.0]], natural=[[0.0], [1.0]], bias=[0.0, 0.5])
    >>> labels, best
    (array([1, 0], dtype=int32), array([1.5, 0. ]))
    """
    statistics = checked_statistics(statistics)
    natural, bias = checked_components(natural, bias, order=statistics.shape[1])
    return _kernels().assign(statistics, natural, bias)


def label_sums(
    statistics: ArrayLike, labels: ArrayLike, n_labels: int, weights: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Weighted count and weighted sum of the statistics of the rows of each label.

    statistics (n, D) float32 or float64, labels (n,) in 0..k-1, weights (n,)
    -> counts (k,), sums (k, D), both float64.

    >>> counts, sums = label_sums([[1.0], [2.0], [5.0]], labels=[1, 1, 0], n_labels=3)
    >>> counts, sums.ravel()
    (array([1., 2., 0.]), array([5., 3., 0.]))
    """
    statistics = checked_statistics(statistics)
    labels = checked_labels(labels, len(statistics), n_labels)
    return _kernels().label_sums(statistics, labels, n_labels, checked_weights(weights, len(statistics)))


def posterior_sums(
    statistics: ArrayLike, natural: ArrayLike, bias: ArrayLike, weights: ArrayLike | None = None
) -> tuple[Floats, Floats, Floats]:
    """Like `label_sums`, each row shared by the softmax of its scores; their log-sum-exp is its log-evidence.

    statistics (n, D) float32 or float64, natural (k, D), bias (k,), weights (n,)
    -> counts (k,), sums (k, D), log_evidence (n,), all float64.
    Where every component is dead no row is counted and the log-evidence is -inf.

    >>> bias = np.log([0.5, 0.5])
    >>> counts, sums, log_evidence = posterior_sums([[2.0], [4.0]], natural=[[0.0], [0.0]], bias=bias)
    >>> counts, sums.ravel(), log_evidence
    (array([1., 1.]), array([3., 3.]), array([0., 0.]))
    """
    statistics = checked_statistics(statistics)
    natural, bias = checked_components(natural, bias, order=statistics.shape[1])
    return _kernels().posterior_sums(statistics, natural, bias, checked_weights(weights, len(statistics)))


def _kernels() -> ModuleType:
    if _serving is reference:
        _warn_once()
    return _serving


@cache
def _warn_once() -> None:
    warnings.warn(
        "kmle's compiled kernels are missing, so the NumPy versions serve: same results, slower; "
        "reinstall with a C++ compiler on PATH to get them.",
        RuntimeWarning,
        stacklevel=2,
    )
