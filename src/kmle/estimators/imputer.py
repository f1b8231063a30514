"""`MixtureImputer`: missing entries from a mixture of those that are there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..mixture import Mixture
from .arguments import entropy_of
from .family_candidates import Families
from .plugged_in import PluggedIn
from .tables import names_in


class MixtureImputer(OneToOneFeatureMixin, TransformerMixin, PluggedIn):  # type: ignore[misc]
    """Imputation by a mixture, learned from the entries that are there.

    Parameters
    ----------
    n_components : int, "auto" or several numbers, default="auto"
        The number of components. "auto" tries 1 to 10, no more than there are rows to estimate their parameters, and
        keeps the lowest BIC.
    family : str, ExponentialFamily, mapping or several of them, default="gaussian"
        The exponential family; of several BIC chooses. A mapping
        names columns of a DataFrame, such as {"visits": "poisson", ("x", "y"): "gaussian", "town": "categorical"}.
    sample : bool, default=False
        Whether to draw values from their conditional distributions, for multiple imputation, instead of conditional
        means.
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
    notes_ : list of str
        What was found on the way, such as how many entries are missing.

    Examples
    --------
    >>> X = [[1.0, 2.0], [2.0, 4.0], [3.0, 6.1], [4.0, 7.9], [5.0, np.nan]]
    >>> MixtureImputer(1, resolution=None).fit_transform(X)[-1].round(2)
    array([5.  , 9.95])
    """

    def __init__(
        self,
        n_components: int | str | Iterable[int] = "auto",
        *,
        family: Families = "gaussian",
        sample: bool = False,
        prior_strength: float = 1e-3,
        resolution: str | float | ArrayLike | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.sample = sample
        self.prior_strength = prior_strength
        self.resolution = resolution
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fits the mixture.

        Parameters
        ----------
        X : array (n, d)
            The rows; NaN where an entry is missing. Every column needs an entry.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        self
        """
        table = self._new_table(X)
        fit = self._learned(table, self._row_weights(sample_weight, len(table)), names_in(self))
        self.mixture_: Mixture = fit.mixture
        self.notes_ = list(fit.notes)
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Returns the rows with values for missing entries.

        Parameters
        ----------
        X : array (n, d)
            The rows.

        Returns
        -------
        array (n, d)
            The completed rows; where the family names columns, a frame of these columns with their categories.
        """
        check_is_fitted(self, "mixture_")
        rows = self.mixture_.family.check(self._table(X, self.mixture_.family), names_in(self), missing=True)
        filled = self.mixture_.impute(rows, self.sample, np.random.default_rng(entropy_of(self.random_state)))
        return filled if self._named is None else self._named.decoded(filled, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
