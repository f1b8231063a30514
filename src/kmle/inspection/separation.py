"""How well components are told apart: in general, by divergences, and on given rows, by posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..mixture import Mixture
from ..numerics.arrays import Array
from .rows import legal_rows, mixture_and_data, mixture_of, row_blocks


def overlap(model: Any) -> Array:
    """Returns the Bhattacharyya coefficients of all pairs of components.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.

    Returns
    -------
    array (k, k)
        One for equal distributions, zero for disjoint ones.

    Examples
    --------
    >>> overlap(Mixture.from_source("poisson", [0.5, 0.5], rate=[1.0, 9.0])).round(4)  # exp(-(3 - 1)^2 / 2)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """
    mixture = mixture_of(model)
    theta = mixture.natural
    return np.stack([mixture.family.bhattacharyya_coefficient(distribution[None], theta) for distribution in theta])


def posterior_entropy(model: Any, X: ArrayLike) -> Array:
    """Returns the entropy of each row's posterior in nats, at most log k.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.
    X : array (n, d)
        The rows.

    Returns
    -------
    array (n,)
        The entropies.

    Examples
    --------
    >>> posterior_entropy(Mixture.from_source("poisson", [0.5, 0.5], rate=[2.0, 2.0]), [[1]]).round(4)  # log 2
    array([0.6931])
    """
    mixture, X = mixture_and_data(model, X)
    rows = legal_rows(mixture, X)
    blocks = row_blocks(rows, mixture.n_components)
    return np.concatenate([scipy.special.entr(mixture.posterior(rows[block])).sum(axis=1) for block in blocks])


@dataclass(frozen=True)
class Separation:
    """What tells components apart; a single component has no neighbour, and infinite distances.

    Attributes
    ----------
    overlap : array (k, k)
        Bhattacharyya coefficients.
    confusion : array (k, k)
        The probability that a row of component i is given to j, estimated from posteriors; rows sum to one.
    nearest : array (k,) of int
        For each component the one it overlaps most with; itself if there is no other.
    kl : array (k,)
        The least Kullback-Leibler divergence to another component.
    chernoff : array (k,)
        The least Chernoff information with another component: the best exponent of telling the two apart.
    rows : array (k,)
        How many rows each component is given.
    own_posterior : array (k,)
        Mean posterior of a component on the rows it is given; NaN without any.
    mean_entropy : float
        Mean posterior entropy of the rows, in nats.
    """

    overlap: Array
    confusion: Array
    nearest: Array
    kl: Array
    chernoff: Array
    rows: Array
    own_posterior: Array
    mean_entropy: float


def separation(model: Any, X: ArrayLike) -> Separation:
    """Measures how well the components are separated, in general and on these rows.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.
    X : array (n, d)
        The rows.

    Returns
    -------
    Separation
        Overlap, confusion, least divergences and own posteriors.

    Examples
    --------
    >>> far = Mixture.from_source("poisson", [0.5, 0.5], rate=[1.0, 100.0])
    >>> separation(far, [[1], [2], [90], [101]]).confusion.round(3)
    array([[1., 0.],
           [0., 1.]])
    """
    mixture, X = mixture_and_data(model, X)
    rows = legal_rows(mixture, X)
    k = mixture.n_components
    given, own, expected, entropy = np.zeros(k), np.zeros(k), np.zeros((k, k)), 0.0
    for block in row_blocks(rows, k):
        posterior = mixture.posterior(rows[block])
        labels = posterior.argmax(axis=1)
        given += np.bincount(labels, minlength=k)
        own += np.bincount(labels, posterior.max(axis=1), k)
        entropy += float(scipy.special.entr(posterior).sum())
        for j in range(k):
            expected[:, j] += posterior[labels == j].sum(axis=0)
    belonging = expected.sum(axis=1, keepdims=True)
    shared = overlap(mixture)
    others = np.where(np.eye(k, dtype=bool), -1.0, shared)
    kl, chernoff = _least_divergences(mixture)
    return Separation(
        overlap=shared,
        confusion=np.where(belonging > 0, expected / np.where(belonging > 0, belonging, 1.0), np.eye(k)),
        nearest=others.argmax(axis=1),
        kl=kl,
        chernoff=chernoff,
        rows=given,
        own_posterior=np.where(given > 0, own / np.maximum(given, 1.0), np.nan),
        mean_entropy=entropy / rows.shape[0],
    )


def _least_divergences(mixture: Mixture) -> tuple[Array, Array]:
    """Least KL divergence and least Chernoff information of each component to another, (k,) each."""
    theta, family = mixture.natural, mixture.family
    kl, chernoff = np.full(len(theta), np.inf), np.full(len(theta), np.inf)
    for j in range(len(theta)):
        others = np.delete(theta, j, axis=0)
        if len(others):
            kl[j] = family.kl(theta[j][None], others).min()
            chernoff[j] = family.chernoff_information(theta[j][None], others).min()
    return kl, chernoff
