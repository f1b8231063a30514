"""How sure the parameters of a mixture are: standard errors from the Fisher information.

With the component of each row known, the information on natural parameters is n_j times the Fisher information of
component j ("complete"). Not knowing it costs information: by Louis' identity the Hessian of the log-likelihood is the
complete information minus the covariance of the complete scores given the rows ("observed"). "empirical" is the sum of
outer products of the rows' scores, which is never negative. Errors of the usual parameters follow by the delta method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._kernels import has_missing
from ..data.intervals import Intervals, as_intervals, within_support
from ..families.validation import check_sample_weight, issparse
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.differentiation import jacobian, natural_steps
from .member_information import MemberInformation, by_members, takes_intervals
from .partial_information import incomplete_information, interval_information
from .rows import dense, legal_rows, mixture_and_data, row_blocks
from .sources import SourceLayout

METHODS = ("observed", "empirical", "complete")
# Eigenvalues of the information, its diagonal scaled to one, below this are not told from zero.
SMALLEST_EIGENVALUE = 1e-10


@dataclass(frozen=True)
class StandardErrors:
    """Standard errors of the parameters of a mixture.

    Attributes
    ----------
    weights : array (k,)
        Those of the weights.
    source : dict of arrays
        Those of the usual parameters, by the names and shapes of `mixture.source`.
    method : str
        How they were computed.
    """

    weights: Array
    source: dict[str, Array]
    method: str


def standard_errors(
    model: Any,
    X: ArrayLike,
    sample_weight: ArrayLike | None = None,
    method: str = "observed",
    *,
    weights_held: bool = False,
) -> StandardErrors:
    """Returns standard errors of the weights and the usual parameters.

    The pseudo-observations of the prior do not enter.

    Parameters
    ----------
    model : fitted estimator, Fit or Mixture
        The mixture.
    X : array (n, d)
        The rows of the fit.
    sample_weight : array (n,), default=None
        The weights given to `fit`.
    method : "observed", "empirical" or "complete", default="observed"
        "observed" and "empirical" suit soft fits. "complete" suits hard fits: it treats labels as known.
    weights_held : bool, default=False
        Whether the weights were prescribed and have no error.

    Returns
    -------
    StandardErrors
        `weights` (k,) and `source`, with the names and shapes of `mixture.source`.

    Examples
    --------
    >>> rate = Mixture.from_source("poisson", [1.0], rate=[4.0])
    >>> standard_errors(rate, [[2], [3], [5], [6]]).source["rate"]  # sqrt(4 / 4)
    array([[1.]])
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}: it must be one of {', '.join(METHODS)}")
    mixture, X = mixture_and_data(model, X)
    intervals = as_intervals(X)
    if by_members(mixture):
        known = _rows_of_members(mixture, X, intervals, method)
        return _of_members(mixture, known, check_sample_weight(sample_weight, len(known)), method, weights_held)
    if intervals is not None:
        return _of_intervals(mixture, intervals, sample_weight, method, weights_held)
    rows = legal_rows(mixture, X)
    weights = check_sample_weight(sample_weight, rows.shape[0])
    if not issparse(rows) and has_missing(rows):
        _check_observed(method, "rows with missing entries")
        partial = incomplete_information(mixture, rows.astype(float, copy=False), weights)
        return _of_information(mixture, *partial, weights_held)
    scores = _Scores(mixture, rows, weights)
    information = scores.complete_by_labels() if method == "complete" else scores.information(method == "observed")
    if weights_held:
        information = information[mixture.n_components :, mixture.n_components :]
    covariance = _inverse(information, mixture, weights_held)
    return _delta(mixture, scores.natural, covariance, method, weights_held)


def _of_intervals(
    mixture: Mixture, X: Intervals, sample_weight: ArrayLike | None, method: str, weights_held: bool
) -> StandardErrors:
    _check_observed(method, "intervals")
    partial = interval_information(mixture, X, check_sample_weight(sample_weight, len(X)))
    return _of_information(mixture, *partial, weights_held)


def _check_observed(method: str, data: str) -> None:
    if method != "observed":
        raise ValueError(f"method is {method!r}: on {data} it must be 'observed'")


def _of_information(mixture: Mixture, natural: Array, information: Array, weights_held: bool) -> StandardErrors:
    """Errors from the observed information on k logits and natural parameters."""
    if weights_held:
        information = information[mixture.n_components :, mixture.n_components :]
    return _delta(mixture, natural, _inverse(information, mixture, weights_held), "observed", weights_held)


def _rows_of_members(mixture: Mixture, X: ArrayLike, intervals: Intervals | None, method: str) -> Array | Intervals:
    if intervals is None:
        rows = dense(legal_rows(mixture, X)).astype(float, copy=False)
        if has_missing(rows):
            _check_observed(method, "rows with missing entries")
        return rows
    if not takes_intervals(mixture):
        raise ValueError(f"{mixture.family.name} cannot have intervals: give exact values")
    if method != "observed":
        raise ValueError(f"method is {method!r}: on intervals it must be 'observed'")
    return within_support(mixture.family, intervals)


def _of_members(
    mixture: Mixture, rows: Array | Intervals, weights: Array | None, method: str, weights_held: bool
) -> StandardErrors:
    """The same for components of different families, and of families that are not exponential."""
    found, k = MemberInformation(mixture, rows, weights), mixture.n_components
    embedding = found.embedding
    if weights_held:
        embedding = embedding[:, k:]
    information = embedding.T @ found.information(method) @ embedding
    inverse = inverted(information, found.redundancy + (not weights_held))
    covariance = embedding @ inverse @ embedding.T
    w = mixture.weights
    slopes = np.diag(w) - np.outer(w, w)
    errors = np.sqrt(np.maximum(np.einsum("ij,jl,il->i", slopes, covariance[:k, :k], slopes), 0.0))
    return StandardErrors(np.zeros(k) if weights_held else errors, found.errors(covariance), method)


class _Scores:
    """Derivatives of the rows' log-densities by the unknowns: k logits of the weights, then D coordinates a component.

    Rows are seen from the family's center, where second moments keep their digits; errors are the same there.
    """

    def __init__(self, mixture: Mixture, rows: Any, weights: Array | None) -> None:
        family = mixture.family
        self.mixture, self.rows, self.weights = mixture, rows, weights
        self.total = float(rows.shape[0] if weights is None else weights.sum())
        self.center = None if issparse(rows) else family.data_center(rows, weights)
        (self.natural,) = family.centered(self.center, mixture.natural)
        self.moment = family.moment_from_natural(self.natural)

    def complete_by_labels(self) -> Array:
        """The information if every row's most probable component is its own."""
        k = self.mixture.n_components
        counts = np.bincount(self.mixture.predict(self.rows), self.weights, k).astype(float)
        if not counts.all():
            raise ValueError(
                f"component {int(np.argmin(counts))} has no rows, so it has no standard errors: "
                "use method='observed', or fewer components"
            )
        return self._complete(counts)

    def _complete(self, counts: Array) -> Array:
        k, order = self.moment.shape
        w = self.mixture.weights
        information = np.zeros((k + k * order, k + k * order))
        information[:k, :k] = self.total * (np.diag(w) - np.outer(w, w))
        for j, fisher in enumerate(self.mixture.family.fisher_information(self.natural)):
            own = self._place(j)
            information[own, own] = counts[j] * fisher
        return information

    def _place(self, j: int) -> slice:
        k, order = self.moment.shape
        return slice(k + j * order, k + (j + 1) * order)

    def information(self, observed: bool) -> Array:
        """Minus the Hessian of the log-likelihood, or the sum of outer products of the scores."""
        k, order = self.moment.shape
        outer = np.zeros((k + k * order, k + k * order))
        within = np.zeros_like(outer)
        counts = np.zeros(k)
        away = np.eye(k) - self.mixture.weights
        for block in row_blocks(self.rows, k * (order + 1)):
            share = self.mixture.posterior(self.rows[block])
            x = dense(self.rows[block])
            x = x if self.center is None else self.mixture.family.centered_rows(x, self.center)
            t = self.mixture.family.sufficient_statistic(x)
            weighted = share if self.weights is None else share * self.weights[block, None]
            counts += weighted.sum(axis=0)
            score = np.empty((len(t), k + k * order))
            score[:, :k] = share - self.mixture.weights
            for j in range(k):
                gap, own = t - self.moment[j], self._place(j)
                score[:, own] = share[:, j, None] * gap
                if observed:
                    within[own, own] += (weighted[:, j, None] * gap).T @ gap
                    within[:k, own] += np.outer(away[j], weighted[:, j] @ gap)
            outer += score.T @ (score if self.weights is None else score * self.weights[block, None])
        if not observed:
            return outer
        within[k:, :k] = within[:k, k:].T
        within[:k, :k] = away.T @ (counts[:, None] * away)
        return self._complete(counts) - within + outer


def _inverse(information: Array, mixture: Mixture, weights_held: bool) -> Array:
    """The inverse on what can be told apart: redundant directions, whose number is known, are left out."""
    return inverted(information, mixture.n_components * mixture.family.redundancy + (not weights_held))


def inverted(information: Array, redundant: int) -> Array:
    """The inverse with that many directions left out."""
    diagonal = np.diagonal(information)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(scale[:, None] * information * scale)
    kept = np.argsort(np.abs(values))[redundant:]
    if (values[kept] < SMALLEST_EIGENVALUE).any():
        raise ValueError(
            "these rows do not determine all parameters: the information is singular or the mixture is not a maximum "
            "of "
            "the likelihood of X; use method='complete', fewer components, or the rows of the fit"
        )
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return np.asarray(scale[:, None] * inverse * scale)


def _delta(mixture: Mixture, natural: Array, covariance: Array, method: str, weights_held: bool) -> StandardErrors:
    family, w = mixture.family, mixture.weights
    k, order = natural.shape
    weight_errors = np.zeros(k)
    if not weights_held:
        slopes = np.diag(w) - np.outer(w, w)
        weight_errors = np.sqrt(np.einsum("ij,jl,il->i", slopes, covariance[:k, :k], slopes))
    layout = SourceLayout.of(family, natural)
    base = layout.flat(natural)
    derivatives = jacobian(
        lambda theta: layout.near(layout.flat(theta), base[:, None, None, :]),
        natural,
        natural_steps(family.log_normalizer, natural),
    )
    errors = np.empty(base.shape)
    first = 0 if weights_held else k
    for j in range(k):
        own = slice(first + j * order, first + (j + 1) * order)
        errors[j] = np.sqrt(np.einsum("dm,de,em->m", derivatives[j], covariance[own, own], derivatives[j]))
    return StandardErrors(weight_errors, layout.split(errors), method)
