"""`MixtureOutlierDetector`: rows that a mixture finds improbable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ..mixture import Mixture
from ..mixture.densities import of_rows
from ..numerics.arrays import Array
from .arguments import entropy_of, threads_of
from .family_candidates import Families
from .plugged_in import PluggedIn, is_number
from .tables import names_in

# The probability of rows beyond the threshold under the mixture itself, and the draws by which it is found.
AUTO_TAIL, AUTO_DRAWS = 1e-2, 100_000


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
    offset_ : float
        The log-density below which a row is an outlier.
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
        prior_strength: float = 1e-3,
        resolution: str | float | ArrayLike | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.contamination = contamination
        self.prior_strength = prior_strength
        self.resolution = resolution
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fits the mixture and finds the threshold.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        self
        """
        share = self._share()
        table = self._new_table(X)
        weights = self._row_weights(sample_weight, table.shape[0])
        fit = self._learned(table, weights, names_in(self))
        self.mixture_: Mixture = fit.mixture
        self.notes_ = list(fit.notes)
        if share is None:
            self.offset_ = drawn_offset(self.mixture_, self.random_state)
        else:
            self.offset_ = _weighted_quantile(self._scores(table), weights, share)
        return self

    def _share(self) -> float | None:
        """The share of outliers; None where the mixture says what they are."""
        share = self.contamination
        if isinstance(share, str) and share == "auto":
            return None
        if not is_number(share) or not 0 < float(share) <= 0.5:
            raise ValueError(f"contamination is {share!r}: it must be 'auto' or a number above 0, up to 0.5")
        return float(share)

    def _scores(self, table: Array) -> Array:
        return of_rows(self.mixture_, "log_sums", table, threads_of(self.n_jobs), names_in(self))

    def score_samples(self, X: ArrayLike) -> Array:
        """Returns the log-density of each row: the lower, the more abnormal.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.

        Returns
        -------
        array (n,)
            The log-densities.
        """
        check_is_fitted(self, "mixture_")
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


def drawn_offset(mixture: Mixture, random_state: Any = None) -> float:
    """The log-density that all but one in a hundred draws of a mixture exceed."""
    seed = np.random.default_rng(entropy_of(random_state))
    return mixture.highest_density(1 - AUTO_TAIL, AUTO_DRAWS, seed).log_threshold


def _weighted_quantile(scores: Array, weights: Array | None, share: float) -> float:
    """The number below which this share of the scores lies, as NumPy interpolates it."""
    if weights is None:
        return float(np.quantile(scores, share))
    order = np.argsort(scores)
    reached = np.cumsum(weights[order])
    return float(np.interp(share * (reached[-1] - 1), reached - weights[order], scores[order]))
