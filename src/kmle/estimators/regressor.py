"""`MixtureRegressor`: regression by the conditional distribution of a joint mixture.

Gaussian mixture regression (Ghahramani and Jordan 1994; Cohn, Ghahramani and Jordan 1996): a mixture of all columns,
and the conditional mixture of the targets given the features.
"""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_y, check_is_fitted

from ..families.validation import check_sample_weight
from ..mixture import Mixture
from ..mixture.conditional import ConditionalMixtures
from ..numerics.arrays import Array
from .arguments import weights_of
from .by_criterion import first_of, learn_by_bic, sizes_of
from .family_candidates import Families
from .plan import Plan
from .tables import complete, names_in, table_of

MOST_COMPONENTS = 10


class MixtureRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regression by a mixture of features and targets.

    Parameters
    ----------
    n_components : int, "auto" or several numbers, default="auto"
        The number of components. "auto" tries 1 to 10, no more than there are rows to estimate their parameters, and
        keeps the lowest BIC. One Gaussian component is linear regression.
    family : str, ExponentialFamily or several of them, default="gaussian"
        The exponential family of the features followed by the targets: full Gaussians, or a `Product` of families.
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
        The mixture of the features followed by the targets.
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
            The features.
        y : array (n,) or (n, m)
            The targets.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: give one target per row")
        table = complete(table_of(self, X, first_of(self.family), reset=True), names_in(self))
        targets = np.asarray(_check_y(y, multi_output=True, y_numeric=True, estimator=self), dtype=float)
        if len(targets) != len(table):
            raise ValueError(f"X has {len(table)} rows but y has {len(targets)}: give one target per row")
        self._single = targets.ndim == 1
        joint = np.column_stack([table, targets])
        self.n_outputs_ = joint.shape[1] - table.shape[1]
        weights = check_sample_weight(weights_of(sample_weight, len(joint)), len(joint))
        plan = Plan(
            1,
            prior_strength=self.prior_strength,
            resolution=self.resolution,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        sizes = sizes_of(self.n_components, MOST_COMPONENTS, self.family, joint.shape)
        fit = learn_by_bic(joint, self.family, sizes, plan, weights, self._columns())
        self.mixture_: Mixture = fit.mixture
        self.notes_ = list(fit.notes)
        return self

    def _columns(self) -> list[str] | None:
        """The names of features and targets; targets are called y where that is free."""
        features = names_in(self)
        if features is None:
            return None
        stem = next(name for name in ("y", "target", "_target") if name not in features)
        return [
            *features,
            *([stem] if self.n_outputs_ == 1 else [f"{stem}_{place}" for place in range(self.n_outputs_)]),
        ]

    def condition(self, X: ArrayLike) -> ConditionalMixtures:
        """Returns the distributions of the targets given features.

        Parameters
        ----------
        X : array (n, d)
            The features.

        Returns
        -------
        ConditionalMixtures
            One mixture per row, with means, standard deviations, quantiles, densities and draws of all rows at once.
        """
        check_is_fitted(self, "mixture_")
        table = complete(table_of(self, X, self.mixture_.family, reset=False), names_in(self))
        return self.mixture_._conditioned(list(range(table.shape[1])), table)

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Returns the expected targets.

        Parameters
        ----------
        X : array (n, d)
            The features.
        return_std : bool, default=False
            Whether to return the standard deviations of the targets too.

        Returns
        -------
        array (n,) or (n, m), or two of them
            E[y | x], and with `return_std` the standard deviations.
        """
        conditional = self.condition(X)
        if return_std:
            mean, std = conditional.mean_and_std()
            return self._shaped(mean), self._shaped(std)
        return self._shaped(conditional.mean())

    def predict_quantile(self, X: ArrayLike, probability: ArrayLike) -> Array:
        """Returns quantiles of the target given features.

        Parameters
        ----------
        X : array (n, d)
            The features.
        probability : float or array (q,)
            Probabilities between zero and one.

        Returns
        -------
        array (n,) or (n, q)
            The quantiles; of several targets (n, m) or (n, m, q), of each by itself.
        """
        if self.n_outputs_ == 1:
            return self.condition(X).quantile(probability)
        table = complete(table_of(self, X, self.mixture_.family, reset=False), names_in(self))
        width = table.shape[1]
        parts = []
        for place in range(self.n_outputs_):
            part = self.mixture_.marginal([*range(width), width + place])
            parts.append(part._conditioned(list(range(width)), table).quantile(probability))
        return np.stack(parts, axis=1)

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._single else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
