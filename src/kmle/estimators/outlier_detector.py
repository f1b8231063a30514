"""`MixtureOutlierDetector`: rows that are improbable under a mixture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ..mixture import Mixture
from ..numerics.arrays import Array
from .arguments import threads_of
from .family_candidates import Families
from .outlier_scores import (
    clusters_of_outliers,
    drawn_offset,
    note_on_clusters,
    outlier_scores,
    quantile_offset,
    without_components,
)
from .plugged_in import PluggedIn, is_number
from .tables import names_in

# The largest share of rows in clusters of outliers: as a multiple of a given contamination, and without one.
MORE_THAN_KNOWN, AUTO_CLUSTERS = 1.25, 0.05


class MixtureOutlierDetector(OutlierMixin, PluggedIn):  # type: ignore[misc]
    """Detection of outliers by the density of a mixture.

    Parameters
    ----------
    n_components : int, "auto" or several numbers, default="auto"
        The number of components. "auto" tries 1 to 10, no more than there are rows to estimate their parameters, and
        keeps the lowest BIC.
    family : str, ExponentialFamily, mapping or several of them, default="gaussian"
        The exponential family; of several BIC chooses. "gaussians" stands for all covariance models. A mapping names
        columns of a DataFrame, such as {"visits": "poisson", ("x", "y"): "gaussian", "town": "categorical"}.
    contamination : "auto" or float, default="auto"
        The share of outliers in the data, at most 0.5. "auto" takes rows as outliers that are less probable than all
        but one in a hundred draws of the mixture.
    cluster_share : "auto" or float, default="auto"
        Components that lie apart from all others and together hold at most this share of the rows are clusters of
        outliers. "auto" is 1.25 times a given contamination, otherwise 0.05; 0 takes all components for normal.
    prior_strength : float, default=1e-3
        Pseudo-observations at the mean of the data in every component.
    resolution : "auto", None, float or array (d,), default="auto"
        The rounding steps of the columns, as in `ExponentialFamilyMixture`.
    n_jobs : int or None, default=None
        The number of threads. None is as many as scikit-learn's OpenMP code would use, -1 is all cores.
    random_state : int, RandomState, Generator or None, default=None
        The seed of all random draws.

    Attributes
    ----------
    mixture_ : Mixture
        The mixture.
    normal_ : Mixture
        Its components but for clusters of outliers: scores are log-densities under it.
    offset_ : float
        The score below which a row is an outlier.
    notes_ : list of str
        Reasons to doubt the fit.

    Examples
    --------
    >>> X = np.concatenate([np.random.default_rng(0).normal(size=(200, 2)), [[9.0, 9.0]]])
    >>> MixtureOutlierDetector(1, contamination=0.005, random_state=0).fit_predict(X)[-2:]
    array([ 1, -1])
    """

    def __init__(
        self,
        n_components: int | str | Iterable[int] = "auto",
        *,
        family: Families = "gaussian",
        contamination: str | float = "auto",
        cluster_share: str | float = "auto",
        prior_strength: float = 1e-3,
        resolution: str | float | ArrayLike | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.contamination = contamination
        self.cluster_share = cluster_share
        self.prior_strength = prior_strength
        self.resolution = resolution
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fits the mixture and finds the threshold.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows; entries may be missing (NaN) where the family allows it.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        self
        """
        share, most = self._share(), self._most_in_clusters()
        table = self._new_table(X)
        weights = self._row_weights(sample_weight, table.shape[0])
        fit = self._learned(table, weights, names_in(self))
        self.mixture_: Mixture = fit.mixture
        self.notes_ = list(fit.notes)
        clusters = clusters_of_outliers(self.mixture_, table, most)
        self.normal_: Mixture = without_components(self.mixture_, clusters)
        if clusters:
            self.notes_.append(note_on_clusters(self.mixture_, clusters))
        if share is None:
            try:
                self.offset_ = drawn_offset(self.normal_, self.random_state)
            except ValueError as error:
                raise ValueError(f"contamination='auto' needs draws of the mixture: {error}, or give a share") from None
        else:
            self.offset_ = quantile_offset(self._scores(table), weights, share)
        return self

    def _share(self) -> float | None:
        """The share of outliers; None where the mixture says what they are."""
        share = self.contamination
        if isinstance(share, str) and share == "auto":
            return None
        if not is_number(share) or not 0 < float(share) <= 0.5:
            raise ValueError(f"contamination is {share!r}: it must be 'auto' or a number above 0, up to 0.5")
        return float(share)

    def _most_in_clusters(self) -> float:
        """The largest share of rows in clusters of outliers."""
        share = self.cluster_share
        if isinstance(share, str) and share == "auto":
            known = self._share()
            return AUTO_CLUSTERS if known is None else min(MORE_THAN_KNOWN * known, 0.5)
        if not is_number(share) or not 0 <= float(share) <= 0.5:
            raise ValueError(f"cluster_share is {share!r}: it must be 'auto' or a number from 0 to 0.5")
        return float(share)

    def _scores(self, table: Array) -> Array:
        return outlier_scores(self.normal_, table, threads_of(self.n_jobs), names_in(self))

    def score_samples(self, X: ArrayLike) -> Array:
        """Returns the log-density of each row: the lower, the more abnormal.

        That of an incomplete row is the log-density of its entries, shifted so that rows with any missing entries are
        as often below the 1 % threshold as complete ones.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.

        Returns
        -------
        array (n,)
            The log-densities.
        """
        check_is_fitted(self, "normal_")
        return self._scores(self._table(X, self.mixture_.family))

    def decision_function(self, X: ArrayLike) -> Array:
        """Returns `score_samples(X) - offset_`: negative for outliers.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.

        Returns
        -------
        array (n,)
            The differences.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Returns -1 for outliers and 1 for other rows.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.

        Returns
        -------
        array of int (n,)
            The labels.
        """
        return np.where(self.decision_function(X) < 0, -1, 1).astype(np.intp)

    def fit_predict(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray[np.intp]:
        """Fits the mixture and returns -1 for outliers and 1 for other rows.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array (n,), default=None
            The weights of the rows.

        Returns
        -------
        array of int (n,)
            The labels.
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)
