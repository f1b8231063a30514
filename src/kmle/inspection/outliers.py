"""Rows that are improbable under a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._kernels import has_missing
from ..data.holes import unique_patterns
from ..data.intervals import as_intervals
from ..families.validation import issparse
from ..numerics.arrays import Array
from ..numerics.options import whole_number
from .rows import legal_rows, mixture_and_data

# Log-densities this close, relatively, are equal: those of equal rows may differ by rounding.
ROUNDING = 1e-10
# With more than FEW_PATTERNS patterns of missing entries the draws are divided among them, at least FEWEST_DRAWS each.
FEW_PATTERNS, FEWEST_DRAWS = 32, 200


@dataclass(frozen=True)
class OutlierScores:
    """How improbable rows are under a mixture.

    Attributes
    ----------
    scores : array (n,)
        -log density of each row.
    tail : array (n,)
        The share of the mixture's own draws that are no more probable.
    """

    scores: Array
    tail: Array


def outlier_scores(model: Any, X: ArrayLike, n_draws: int = 10_000, random_state: Any = None) -> OutlierScores:
    """Scores how improbable each row is, calibrated by samples of the mixture.

    For rows that follow the mixture `tail` is uniform on (0, 1), so one row in a hundred is below 0.01. Rows with
    missing entries are compared with samples that lack the same entries; a row without any entry has a tail of one.

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
    whole_number("n_draws", n_draws, 1)
    mixture, X = mixture_and_data(model, X)
    density = mixture.log_density(X)
    draws = mixture.sample(n_draws, random_state)
    if issparse(X) or as_intervals(X) is not None or not has_missing(rows := legal_rows(mixture, X)):
        return OutlierScores(-density, tail_probabilities(density, mixture.log_density(draws)))
    patterns, pattern = unique_patterns(np.isnan(rows))
    # Rows are compared with draws that lack the same entries; the more patterns, the fewer draws for each.
    draws = draws[: max(FEWEST_DRAWS, n_draws * FEW_PATTERNS // max(FEW_PATTERNS, len(patterns)))]
    tail = np.ones(len(rows))
    for place, missing in enumerate(patterns):
        own = np.flatnonzero(pattern == place)
        tail[own] = tail_probabilities(density[own], mixture.log_density(np.where(missing, np.nan, draws)))
    return OutlierScores(-density, tail)


def tail_probabilities(density: Array, drawn: Array) -> Array:
    """The share of drawn log-densities that are no larger than each log-density.

    >>> tail_probabilities(np.array([-2.0, -0.5]), np.array([-1.0, -3.0, -2.0, -1.5]))
    array([0.5, 1. ])
    """
    reach = density + ROUNDING * np.maximum(1.0, np.abs(density))
    return np.asarray(np.searchsorted(np.sort(drawn), reach, side="right") / len(drawn))
