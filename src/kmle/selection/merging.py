"""Merge paths from rows and from fits, and learning again at chosen numbers of components."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ..algorithms import Algorithm, Fit, KMLELloyd, run
from ..families import ExponentialFamily, resolve
from ..families.resolution import Asked
from ..families.sparse import check_sparse
from ..families.validation import check_sample_weight, issparse
from ..numerics.arrays import Array
from ..problem.problem import Problem
from .path import MergePath, merge_path


def merge_path_from_labels(
    X: ArrayLike,
    labels: ArrayLike,
    family: str | ExponentialFamily,
    *,
    sample_weight: ArrayLike | None = None,
    weights: str = "free",
    prior_strength: float = 0.0,
    resolution: Asked = None,
) -> MergePath:
    """Returns the merge path of clusters given by labels; `leaves` of the path are the labels that occur.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    labels : array of int (n,)
        The cluster of each row.
    family : str or ExponentialFamily
        The family.
    sample_weight : array (n,), default=None
        The weights of the rows.
    weights : "free" or "fixed", default="free"
        Whether weights are shares of the rows or 1/k each.
    prior_strength : float, default=0.0
        Pseudo-observations at the mean of the data in every component.
    resolution : "auto", None, float or array (d,), default=None
        The rounding steps of the columns, as in `KMLE`: no component is narrower than they allow.

    Returns
    -------
    MergePath
        The mixture and the objective at every number of components.

    Examples
    --------
    >>> X = [[1], [2], [1], [3], [30], [28], [90], [85]]
    >>> path = merge_path_from_labels(X, [0, 0, 1, 1, 2, 2, 3, 3], "poisson")
    >>> path.best, path.at(3).labels
    (3, array([0, 0, 1, 2]))
    """
    data = _legal(X, resolve(family), sample_weight)
    n_rows, given = len(data.seen), np.asarray(labels)
    if given.shape != (n_rows,) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"labels must be one whole number per row, shape ({n_rows},)")
    leaves, places = np.unique(given[data.seen], return_inverse=True)
    kind = data.family
    problem = Problem(kind, data.rows, data.weights, prior_strength, resolution=resolution)
    return merge_path(
        problem.gather(places.astype(np.int32), len(leaves)),
        kind,
        weights=weights,
        prior_strength=prior_strength,
        prior_moment=problem.prior_moment,
        center=problem.rows.center,
        resolution=problem.resolution,
        sum_log_carrier=problem.sum_log_carrier,
        leaves=leaves.astype(np.intp),
    )


def merge_path_from_fit(fit: Any, X: ArrayLike, **options: Any) -> MergePath:
    """Returns the merge path of a fitted estimator or a Fit, by its labels.

    Parameters
    ----------
    fit : fitted estimator or Fit
        The fit.
    X : array (n, d)
        The rows of the fit.
    **options
        Options of `merge_path_from_labels`. `prior_strength` and `resolution` are those of the fit unless given.

    Returns
    -------
    MergePath
        The mixture and the objective at every number of components.

    Examples
    --------
    >>> from kmle import KMLE
    >>> X = [[1], [2], [1], [3], [30], [28], [90], [85]]
    >>> model = KMLE(n_components=4, family="poisson", random_state=0).fit(X)
    >>> merge_path_from_fit(model, X).at(2).mixture.n_components
    2
    """
    outcome = fit if isinstance(fit, Fit) else getattr(fit, "result_", None)
    if not isinstance(outcome, Fit):
        raise ValueError(f"fit is a {type(fit).__name__}: give a fitted estimator, or its result_")
    options = {"prior_strength": outcome.prior_strength, "resolution": outcome.resolution} | options
    return merge_path_from_labels(X, outcome.labels, outcome.mixture.family, **options)


def refit_path(
    X: ArrayLike,
    path: MergePath,
    ks: Iterable[int],
    *,
    sample_weight: ArrayLike | None = None,
    algorithm: Algorithm | None = None,
    prior_strength: float | None = None,
    max_iter: int = 300,
    tol: float = 0.0,
) -> dict[int, Fit]:
    """Fits again from the mixtures of a merge path.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    path : MergePath
        The path.
    ks : iterable of int
        The numbers of components to fit.
    sample_weight : array (n,), default=None
        The weights of the rows.
    algorithm : Algorithm, default=None
        The algorithm; None is k-MLE.
    prior_strength : float, default=None
        Pseudo-observations; None takes those of the path.
    max_iter : int, default=300
        The maximum number of iterations.
    tol : float, default=0.0
        The gain per row and step at which to stop.

    Returns
    -------
    dict of int to Fit
        The fit at each number of components.

    Examples
    --------
    >>> X = [[1], [2], [1], [3], [30], [28], [90], [85]]
    >>> path = merge_path_from_labels(X, [0, 0, 1, 1, 2, 2, 3, 3], "poisson")
    >>> {k: round(fit.objective, 2) for k, fit in refit_path(X, path, [2, 3]).items()}
    {2: -53.49, 3: -25.51}
    """
    data = _legal(X, path.family, sample_weight)
    strength = path.criterion.model.prior_strength if prior_strength is None else prior_strength
    resolution = path.criterion.model.resolution
    fits = {}
    for k in ks:
        mixture = path.at(k).mixture
        held = None if path.criterion.free_weights else mixture.weights
        problem = Problem(
            data.family, data.rows, data.weights, strength, held, path.center, n_components=k, resolution=resolution
        )
        fit = run(algorithm or KMLELloyd(), problem, problem.from_mixture(mixture), max_iter=max_iter, tol=tol)
        fits[int(k)] = fit if data.seen.all() else replace(fit, labels=fit.mixture.predict(X))
    return fits


@dataclass(frozen=True)
class _Data:
    """The rows of positive weight."""

    family: ExponentialFamily
    rows: Array | csr_array
    weights: Array | None
    seen: NDArray[np.bool_]


def _legal(X: ArrayLike, family: ExponentialFamily, sample_weight: ArrayLike | None) -> _Data:
    kind = family.for_data(X)
    rows = check_sparse(kind, X) if issparse(X) else kind.check(X)
    weights = check_sample_weight(sample_weight, rows.shape[0])
    if weights is None or weights.all():
        return _Data(kind, rows, weights, np.ones(rows.shape[0], dtype=bool))
    return _Data(kind, rows[weights > 0], weights[weights > 0], weights > 0)
