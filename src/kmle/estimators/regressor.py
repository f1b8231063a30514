"""`MixtureRegressor`: regression by the conditional distribution of a joint mixture.

Gaussian mixture regression (Ghahramani and Jordan 1994; Cohn, Ghahramani and Jordan 1996): a mixture of all columns,
and the conditional mixture of the targets given the features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_y, check_is_fitted

from ..mixture import Mixture
from ..mixture.conditional import ConditionalMixtures
from ..numerics.arrays import Array
from .family_candidates import Families
from .plugged_in import PluggedIn
from .tables import names_in, table_of


class MixtureRegressor(RegressorMixin, PluggedIn):  # type: ignore[misc]
    """Regression by a mixture of features and targets.

    Parameters
    ----------
    n_components : int, "auto" or several numbers, default="auto"
        The number of components. "auto" tries 1 to 10, no more than there are rows to estimate their parameters, and
        keeps the lowest BIC. One Gaussian component is linear regression.
    family : str, ExponentialFamily or several of them, default="gaussian"
        The exponential family of the features followed by the targets: full Gaussians, or a `Product` of families. Of
        several BIC chooses; "gaussians" stands for all covariance models.
    prior_strength : float, default=1e-3
        Pseudo-observations at the mean of the data in every component.
    resolution : "auto", None, float or array, default="auto"
        The rounding steps of the columns, as in `ExponentialFamilyMixture`.
    n_jobs : int or None, default=None
        The number of threads. None is as many as scikit-learn's OpenMP code would use, -1 is all cores.
    random_state : int, RandomState, Generator or None, default=None
        The seed of all random draws.

    Attributes
    ----------
    mixture_ : Mixture
        The mixture of the features followed by the targets, with the names of the columns of tables.
    n_outputs_ : int
        The number of targets.
    notes_ : list of str
        Reasons to doubt the fit.

    Examples
    --------
    >>> x = np.random.default_rng(0).random(50)
    >>> model = MixtureRegressor(n_components=1).fit(x[:, None], 2 * x + 1)
    >>> model.predict([[2.0]]).round(3)
    array([5.])
    """

    def __init__(
        self,
        n_components: int | str | Iterable[int] = "auto",
        *,
        family: Families = "gaussian",
        prior_strength: float = 1e-3,
        resolution: str | float | ArrayLike | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.prior_strength = prior_strength
        self.resolution = resolution
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fits the mixture of features and targets.

        Parameters
        ----------
        X : array (n, d)
            The features; some may be missing (NaN) where the family allows it.
        y : array (n,) or (n, m)
            The targets.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        self
        """
        self._check_target(y, "target")
        if isinstance(self.family, Mapping):
            raise ValueError("family names columns, which MixtureRegressor does not take: give a Product of families")
        table = self._new_table(X)
        targets = self._targets(y)
        self._check_lengths(len(table), targets, "target")
        self._single = targets.ndim == 1
        joint = np.column_stack([table, targets])
        self.n_outputs_ = joint.shape[1] - table.shape[1]
        weights = self._row_weights(sample_weight, len(joint))
        fit = self._learned(joint, weights, self._columns(y))
        self.mixture_: Mixture = fit.mixture
        self.notes_ = list(fit.notes)
        return self

    def _targets(self, y: Any) -> Array:
        try:
            return np.asarray(_check_y(y, multi_output=True, y_numeric=True, estimator=self), dtype=float)
        except ValueError as error:
            if not str(error).startswith("could not convert"):
                raise
            raise ValueError(f"y holds text ({error}): give numbers, or use MixtureClassifier for classes") from None

    def _columns(self, y: Any) -> list[str] | None:
        """The names of features and targets; targets have their own where these are free, and are called y if not."""
        features = names_in(self)
        if features is None:
            return None
        own: Any = getattr(y, "columns", None)
        names: list[Any] = [getattr(y, "name", None)] if own is None else list(own)
        if len({*features, *names}) == len(features) + self.n_outputs_ and all(isinstance(name, str) for name in names):
            return [*features, *names]
        stem = next(name for name in ("y", "target", "_target", "__target") if name not in features)
        places = [""] if self.n_outputs_ == 1 else [f"_{place}" for place in range(self.n_outputs_)]
        return [*features, *(stem + place for place in places)]

    def condition(self, X: ArrayLike) -> ConditionalMixtures:
        """Returns the distributions of the targets given features.

        Parameters
        ----------
        X : array (n, d)
            The features; rows with missing ones (NaN) are conditioned on the others where the family allows it.

        Returns
        -------
        ConditionalMixtures
            One mixture per row, with means, standard deviations, quantiles, densities and draws of all rows at once.
        """
        table = self._fitted_table(X)
        return self.mixture_._conditioned(list(range(table.shape[1])), table)

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Returns the expected targets.

        Parameters
        ----------
        X : array (n, d)
            The features; rows with missing ones (NaN) are predicted from the others where the family allows it, and
            rows without any from the mixture of the targets.
        return_std : bool, default=False
            Whether to return the standard deviations of the targets too.

        Returns
        -------
        array (n,) or (n, m), or two of them
            E[y | x], and with `return_std` the standard deviations.
        """
        given = self.condition(X)
        if return_std:
            mean, std = given.mean_and_std()
            return self._shaped(mean), self._shaped(std)
        return self._shaped(given.mean())

    def predict_quantile(self, X: ArrayLike, probability: ArrayLike) -> Array:
        """Returns quantiles of the target given features.

        Parameters
        ----------
        X : array (n, d)
            The features; rows with missing ones (NaN) are predicted from the others where the family allows it.
        probability : float or array (q,)
            Probabilities between zero and one.

        Returns
        -------
        array (n,) or (n, q)
            The quantiles; of several targets (n, m) or (n, m, q), of each by itself.
        """
        table = self._fitted_table(X)
        width = table.shape[1]
        each = [self.mixture_]
        if self.n_outputs_ > 1:
            each = [self.mixture_.marginal([*range(width), width + place]) for place in range(self.n_outputs_)]
        parts = [mixture._conditioned(list(range(width)), table).quantile(probability) for mixture in each]
        return parts[0] if self._single else np.stack(parts, axis=1)

    def _fitted_table(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "mixture_")
        return table_of(self, X, self.mixture_.family, reset=False)

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._single else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
