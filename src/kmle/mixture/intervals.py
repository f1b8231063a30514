"""What a mixture says of values that are known to lie in intervals: probabilities where they are not exact."""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ..data.intervals import Intervals, within_support
from ..data.partly_known import PartlyKnownRows
from ..families import ExponentialFamily
from ..families.blocks import blocks_of
from ..families.shaped import Shaped
from ..families.shaped_product import ShapedProduct
from ..numerics.arrays import Array


def interval_scores(
    family: ExponentialFamily, weights: Array, natural: Array, X: Intervals, columns: list[str] | None = None
) -> Array:
    """log(weights_j P_j(row)) (n, k): densities of exact values, probabilities of intervals."""
    if X.shape[1] != family.n_features:
        raise ValueError(f"X has {X.shape[1]} columns, but the mixture has {family.n_features}")
    rows = within_support(family, X, columns)
    if isinstance(family, ShapedProduct):
        blocks = blocks_of(family)
        parts = [Intervals(rows.lower[:, block.columns], rows.upper[:, block.columns]) for block in blocks]
        none = np.ones(len(weights))
        scores = np.asarray(
            sum(
                interval_scores(block.family, none, natural[:, block.statistics], part)
                for block, part in zip(blocks, parts, strict=True)
            )
        )
        with np.errstate(divide="ignore"):
            return scores + np.log(weights)
    exact = rows.exact.all(axis=1)
    scores = np.empty((len(rows), len(weights)))
    if exact.any():
        family.check(rows.lower[exact], columns)
        scores[exact] = family.log_density(rows.lower[exact], natural)
    if not exact.all() and isinstance(family, Shaped):
        scores[~exact] = shaped_scores(family, natural, rows[~exact])
    elif not exact.all():
        places = np.flatnonzero(~exact)
        table = PartlyKnownRows(family, rows.lower[places], rows.upper[places], None, with_carrier=True)
        for place, part in enumerate(table.slices()):
            scores[places[part]] = table.scored(place, natural)[0]
    with np.errstate(divide="ignore"):
        return scores + np.log(weights)


def shaped_scores(family: Shaped, natural: Array, rows: Intervals) -> Array:
    """log p_j or log P_j (n, k) of rows some of whose values are intervals."""
    scores = np.zeros((len(rows), len(natural)))
    for column in range(rows.shape[1]):
        values, exact = family.column_values(natural, column), rows.exact[:, column]
        lower, upper = rows.lower[:, column], rows.upper[:, column]
        scores[exact] += family.column_log_density(lower[exact], values)
        if not exact.all():
            scores[~exact] += family.column_log_probability(lower[~exact], upper[~exact], values)
    return scores


def reported(scores: Array, name: str) -> NDArray[Any]:
    """What log-joints (n, k) say of rows: their "labels" or one of the fields of `RowScores`."""
    if name == "labels":
        return scores.argmax(axis=1).astype(np.intp)
    if name == "scores":
        return scores
    if name == "tops":
        return np.asarray(scores.max(axis=1))
    sums = scipy.special.logsumexp(scores, axis=1)
    return np.asarray(sums if name == "log_sums" else np.exp(scores - sums[:, None]))
