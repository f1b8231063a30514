"""How improbable rows are: under which components, on one scale for complete and incomplete rows, and from where on."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._kernels import has_missing
from ..data.holes import unique_patterns
from ..families.validation import issparse
from ..mixture import Mixture
from ..mixture.densities import of_rows
from ..numerics.arrays import Array
from .arguments import entropy_of

# The probability of rows beyond the threshold under the mixture itself, and the draws by which it is found.
AUTO_TAIL, AUTO_DRAWS = 1e-2, 100_000
# Draws for the threshold of each pattern of missing entries; all patterns together, and the fewest for each.
PATTERN_DRAWS, ALL_PATTERN_DRAWS, FEWEST_DRAWS = 10_000, 1_000_000, 1000
# The least share that a cluster of outliers has of the probability of its own rows, and the most rows to judge by.
APART, ROWS_SEEN = 0.99, 20_000


def clusters_of_outliers(mixture: Mixture, table: Any, share: float) -> list[int]:
    """The smallest components that together hold at most this share of the rows and lie apart from all others."""
    order = np.argsort(mixture.weights, kind="stable")
    few: list[int] = order[:-1][np.cumsum(mixture.weights[order])[:-1] <= share].tolist()
    if not few:
        return []
    posterior = mixture.posterior(_some_rows(table))
    while few:
        own, together = posterior[:, few], posterior[:, few].sum(axis=1)
        with np.errstate(invalid="ignore"):
            kept = (own.T @ together) / own.sum(axis=0) >= APART
        if kept.all():
            break
        few = [index for index, stays in zip(few, kept, strict=True) if stays]
    return sorted(few)


def _some_rows(table: Any) -> Any:
    n = table.shape[0]
    return table if n <= ROWS_SEEN else table[np.sort(np.random.default_rng(0).choice(n, ROWS_SEEN, replace=False))]


def without_components(mixture: Mixture, indices: list[int]) -> Mixture:
    """The mixture of the other components."""
    if not indices:
        return mixture
    left = [index for index in range(mixture.n_components) if index not in indices]
    parts = [mixture.component(index) for index in left]
    return Mixture.combine(parts, mixture.weights[left] / mixture.weights[left].sum())


def outlier_scores(
    mixture: Mixture, table: Any, n_threads: int | None = None, columns: list[str] | None = None
) -> Array:
    """The log-density of each row. That of the entries of an incomplete row is shifted, so that rows of each pattern
    of missing entries are below the 1 % threshold of complete rows as often.

    A row without any entry has the median of the mixture's own draws.
    """
    scores: Array = of_rows(mixture, "log_sums", table, n_threads, columns)
    if issparse(table) or not has_missing(np.asarray(table)):
        return scores
    patterns, place = unique_patterns(np.isnan(table))
    n_draws = int(np.clip(ALL_PATTERN_DRAWS // len(patterns), FEWEST_DRAWS, PATTERN_DRAWS))
    draws = mixture.sample(n_draws, 0)
    whole = mixture.log_density(draws, n_threads)
    threshold = np.quantile(whole, AUTO_TAIL)
    for index, pattern in enumerate(patterns):
        rows = place == index
        if pattern.all():
            scores[rows] = np.median(whole)
        elif pattern.any():
            seen = mixture.log_density(np.where(pattern, np.nan, draws), n_threads)
            scores[rows] += threshold - np.quantile(seen, AUTO_TAIL)
    return scores


def drawn_offset(mixture: Mixture, random_state: Any = None) -> float:
    """The log-density that all but one in a hundred draws of a mixture exceed."""
    seed = np.random.default_rng(entropy_of(random_state))
    return mixture.highest_density(1 - AUTO_TAIL, AUTO_DRAWS, seed).log_threshold


def quantile_offset(scores: Array, weights: Array | None, share: float) -> float:
    """The number below which this share of the scores lies, as NumPy interpolates it."""
    if weights is None:
        return float(np.quantile(scores, share))
    order = np.argsort(scores)
    reached = np.cumsum(weights[order])
    return float(np.interp(share * (reached[-1] - 1), reached - weights[order], scores[order]))


def note_on_clusters(mixture: Mixture, indices: list[int]) -> str:
    """What is said of components that are clusters of outliers."""
    listed = ", ".join(map(str, indices))
    which = f"Component {listed} lies" if len(indices) == 1 else f"Components {listed} lie"
    share = 100 * float(mixture.weights[indices].sum())
    return (
        f"{which} apart from all others and {'hold' if len(indices) > 1 else 'holds'} {share:.2g} % of the rows: these "
        "count as outliers; cluster_share=0 takes all components for normal."
    )
