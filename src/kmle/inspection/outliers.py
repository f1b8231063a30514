"""Rows a mixture finds improbable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array
from .rows import mixture_of

# Log-densities this close, relatively, are equal: those of equal rows may differ by rounding.
ROUNDING = 1e-10


@dataclass(frozen=True)
class OutlierScores:
    """`scores` (n,) are -log density; `tail` (n,) is the share of the mixture's own draws that are no more probable."""

    scores: Array
    tail: Array


def outlier_scores(model: Any, X: ArrayLike, n_draws: int = 10_000, random_state: Any = None) -> OutlierScores:
    """Scores how improbable each row is, calibrated by samples of the mixture.

    For rows that follow the mixture `tail` is uniform on (0, 1), so one row in a hundred is below 0.01.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.
    X : array (n, d)
        The rows.
    n_draws : int, default=10000
        The number of samples.
    random_state : int, Generator or None, default=None
        The seed of the samples.

    Returns
    -------
    OutlierScores
        `scores` and `tail`, each (n,).

    Examples
    --------
    >>> from kmle import Mixture
    >>> bell = Mixture.from_source("diagonal-gaussian", [1.0], mean=[[0.0]], variance=[[1.0]])
    >>> bool(abs(outlier_scores(bell, [[1.96]], random_state=0).tail[0] - 0.05) < 0.01)
    True
    """
    if n_draws < 1:
        raise ValueError(f"n_draws is {n_draws}: at least one is needed")
    mixture = mixture_of(model)
    density = mixture.log_density(X)
    draws = mixture.sample(n_draws, random_state)
    return OutlierScores(-density, tail_probabilities(density, mixture.log_density(draws)))


def tail_probabilities(density: Array, drawn: Array) -> Array:
    """The share of drawn log-densities that are no larger than each log-density.

    >>> tail_probabilities(np.array([-2.0, -0.5]), np.array([-1.0, -3.0, -2.0, -1.5]))
    array([0.5, 1. ])
    """
    reach = density + ROUNDING * np.maximum(1.0, np.abs(density))
    return np.asarray(np.searchsorted(np.sort(drawn), reach, side="right") / len(drawn))
