"""Information criteria one by one, by the names that other estimators have for them."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import ArrayLike

from ..algorithms.criteria import Criteria


class SingleCriteria:
    """What an estimator that has `criteria(X, sample_weight)` answers for each of them."""

    criteria: Callable[..., Criteria]

    def aic(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Returns Akaike's criterion on X; lower is better.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows.

        Returns
        -------
        float
            The criterion.
        """
        return self.criteria(X, sample_weight).aic

    def aicc(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Returns Akaike's criterion on X, corrected for small samples; lower is better, infinite with too many
        parameters.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows.

        Returns
        -------
        float
            The criterion.
        """
        return self.criteria(X, sample_weight).aicc

    def bic(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Returns Schwarz's criterion on X; lower is better.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows.

        Returns
        -------
        float
            The criterion.
        """
        return self.criteria(X, sample_weight).bic

    def icl(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Returns the integrated complete likelihood criterion on X; lower is better.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows.

        Returns
        -------
        float
            The criterion.
        """
        return self.criteria(X, sample_weight).icl
