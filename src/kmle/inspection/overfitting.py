"""Whether a mixture has more components than its rows support: then components that look well separated say little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._kernels import has_missing
from ..families import ComponentFamilies
from ..merging import Likelihood
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..problem.model import Model
from .rows import dense, row_blocks

# Fewer rows than this for each free parameter say little.
ROWS_PER_PARAMETER = 3
# Pairs of components that are compared, times their statistics.
MOST_COMPARED = 1 << 20
# Pseudo-rows of the mean row: they keep clusters of few rows regular.
PRIOR = 1e-3


def overfitting(mixture: Mixture, rows: Array, labels: NDArray[np.integer]) -> str | None:
    """Returns the reason why the rows do not support this number of components, or None.

    It checks rows per component, rows per parameter, and whether merging two components would lower the ICL.

    Parameters
    ----------
    mixture : Mixture
        The mixture.
    rows : array (n, d)
        The rows.
    labels : array of int (n,)
        The component of each row.

    Returns
    -------
    str or None
        The reason, as the end of a sentence.

    Examples
    --------
    >>> two = Mixture.from_source("poisson", [0.5, 0.5], rate=[2.0, 3.0])
    >>> overfitting(two, np.array([[1.0], [2.0], [3.0]]), np.array([0, 0, 1]))
    'component 1 has fewer than 2 rows'
    """
    k, n = mixture.n_components, rows.shape[0]
    if k == 1:
        return None
    counts = np.bincount(labels, minlength=k)
    needed = _needed_rows(mixture)
    few = np.flatnonzero(counts < needed)
    if len(few) == 1:
        return f"component {few[0]} has fewer than {needed} rows"
    if len(few):
        return f"{_listed(few)} have fewer than {needed} rows"
    if mixture.n_parameters * ROWS_PER_PARAMETER > n:
        return f"there are {mixture.n_parameters} free parameters for {n} rows"
    if mixture.family.joint or not mixture.family.exponential or k * k * mixture.family.n_statistics > MOST_COMPARED:
        return None
    return _merge_that_pays(mixture, rows, labels, counts.astype(float))


def _needed_rows(mixture: Mixture) -> int:
    """One more than the parameters of a component, or of a column of it where columns are independent."""
    family, k = mixture.family, mixture.n_components
    if isinstance(family, ComponentFamilies):
        return 1 + max(own.n_statistics_for(1) if own.independent_columns else own.n_statistics for own in family.kinds)
    if family.joint:
        return 1 + family.n_parameters_for(k) - family.n_parameters_for(k - 1)
    return 1 + (family.n_statistics_for(1) if family.independent_columns else family.n_statistics)


def _merge_that_pays(mixture: Mixture, rows: Array, labels: NDArray[np.integer], counts: Array) -> str | None:
    """The two components whose merge lowers the ICL most, if any does."""
    k, n, family = mixture.n_components, rows.shape[0], mixture.family
    # Clusters far from zero differ by less than the rounding of sums that are measured from there.
    center = family.center(mixture.natural)
    sums = np.zeros((k, family.n_statistics))
    for block in row_blocks(rows, family.n_statistics):
        x = dense(rows[block])
        # What is missing is taken to be what the mixture expects.
        x = mixture.impute(x) if has_missing(x) else x
        x = x if center is None else family.centered_rows(x, center)
        np.add.at(sums, labels[block], family.sufficient_statistic(x))
    worth = Likelihood(Model(family, n, sums.sum(axis=0) / n, center, PRIOR), free_weights=True)
    with np.errstate(all="ignore"):
        alone = worth.value(counts, sums)
        one, other = np.triu_indices(k, 1)
        loss = alone[one] + alone[other] - worth.value(counts[one] + counts[other], sums[one] + sums[other])
    # A merge saves the parameters of one component and its weight.
    gain = 0.5 * np.log(n) * (family.n_statistics + 1) - loss
    best = int(np.argmax(np.where(np.isfinite(gain), gain, -np.inf)))
    if not gain[best] > 0:
        return None
    return f"merging components {one[best]} and {other[best]} would lower the ICL by about {2 * gain[best]:.0f}"


def _listed(components: NDArray[np.intp]) -> str:
    if len(components) > 6:
        return f"{len(components)} components"
    names = [str(component) for component in components]
    return f"components {', '.join(names[:-1])} and {names[-1]}"
