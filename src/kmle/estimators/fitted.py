"""What follows from a fitted mixture, in the manner of scikit-learn: predictions, scores, criteria, samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..algorithms import Certificate, Fit, certificate
from ..algorithms.criteria import Criteria
from ..data.batches import chunks_of, is_dask, is_streamed
from ..data.guess import Guess, guess_family
from ..data.intervals import as_intervals
from ..families import ExponentialFamily, Gaussian, resolve
from ..families.registry import FamilyLike
from ..families.sparse import check_sparse
from ..families.validation import check_sample_weight, issparse
from ..mixture import Mixture
from ..mixture.densities import log_likelihoods, of_rows
from ..mixture.intervals import reported
from ..numerics.arrays import Array
from .arguments import entropy_of, threads_of, weights_of
from .by_name import NamedFamilies
from .classes import ClassPrediction
from .criteria import SingleCriteria
from .familiar import FamiliarParameters
from .online import opened
from .tables import count_rows, names_in, of_block, score_of_batches, table_of, without_noise


class FittedMixture(
    FamiliarParameters,
    ClassPrediction,
    SingleCriteria,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
):
    """What an estimator says of rows once it has a mixture."""

    family: FamilyLike
    n_jobs: int | None
    random_state: Any

    mixture_: Mixture
    result_: Fit
    family_: ExponentialFamily

    # Data -------------------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_missing
        return tags

    @property
    def _allows_missing(self) -> bool:
        """Whether the family learns from rows with missing entries; what is no family is refused by `fit`."""
        try:
            if isinstance(self.family, Mapping):
                return all(resolve(own).takes_missing for own in self.family.values())
            return self._guesses or resolve(self.family).takes_missing
        except (TypeError, ValueError):
            return False

    def _know_columns(self, family: ExponentialFamily, columns: Sequence[Any] | None) -> None:
        """What scikit-learn keeps of the columns, for data that it has not seen."""
        assert family.n_features is not None  # the data has been seen
        self.n_features_in_ = family.n_features
        if columns is not None:
            self.feature_names_in_ = np.array([str(name) for name in columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    _named: NamedFamilies | None = None

    def _named_columns(self, X: Any) -> Any:
        """The data to fit: where the family names columns, or a guess may find categories, columns as numbers."""
        if isinstance(self.family, Mapping):
            self._named = NamedFamilies.of([self.family], X)
        else:
            self._named = NamedFamilies.of_types(X) if self._guesses else None
        return X if self._named is None else self._named.frame(X)

    def _know_names(self, named: NamedFamilies) -> None:
        """The names of the columns of the only family, as `fit` would know them."""
        self._named, self.family = named, named.given[0]

    _guess: Guess | None = None

    @property
    def _guesses(self) -> bool:
        return isinstance(self.family, str) and self.family == "auto"

    def _guessed(self, X: Any) -> Guess | None:
        """The family that the columns suggest, where the family is "auto"; None for rows that are no plain table."""
        if not self._guesses or is_dask(X) or is_streamed(X) or issparse(X) or as_intervals(X) is not None:
            return None
        table = table_of(self, X, Gaussian(), reset=True)
        levels = {} if self._named is None else self._named.levels
        return guess_family(Gaussian().for_data(table).check(table, self._names(), missing=True), self._names(), levels)

    def _table(self, X: ArrayLike, family: ExponentialFamily, reset: bool) -> Any:
        if self._named is not None and not reset:
            X = self._named.frame(X)
        intervals = as_intervals(X)
        if intervals is not None:
            if reset:
                self.n_features_in_ = intervals.shape[1]
            return intervals
        return table_of(self, X, family, reset)

    def _names(self) -> list[str] | None:
        return names_in(self)

    def _legal(self, rows: Array) -> Array:
        """Rows inside the family's support, dense or sparse; what a mixture says of intervals checks them."""
        if as_intervals(rows) is not None:
            return rows
        if issparse(rows):
            return check_sparse(self.family_, rows)
        return self.family_.check(rows, self._names(), missing=True)

    def _fitted_rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "mixture_")
        return self._legal(self._table(X, self.family_, reset=False))

    # What follows from the mixture ------------------------------------------------------------------------------------

    def _of_rows(self, name: str, X: Any, dtype: Any, n_columns: int | None = None) -> Any:
        """What the mixture says of each row: an array, for Dask data a Dask array, for a stream one array per batch."""
        check_is_fitted(self, "mixture_")
        if is_dask(X):
            from ..problem.dask import by_block  # Dask is an extra

            return by_block(partial(of_block, self.mixture_, name), X, dtype, n_columns)
        if is_streamed(X):
            batches = chunks_of(opened(X), self.family_)
            return (of_block(self.mixture_, name, chunk.X, chunk.first_row) for chunk in batches)
        n_threads = threads_of(self.n_jobs)
        table = self._table(X, self.family_, reset=False)
        found = of_rows(self.mixture_, name, table, n_threads, self._names())
        return without_noise(self.mixture_, found) if name == "labels" else found

    def predict(
        self, X: ArrayLike, *, labels: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> NDArray[np.intp]:
        """Returns the most probable component of each row.

        Parameters
        ----------
        X : array (n, d), Intervals, CSR array, Dask collection or batches
            The rows.
        labels : array (n,) or (n, k), default=None
            Labels of rows whose class is known, as in `fit`.
        groups : array (n,), default=None
            Rows of one group share a component.

        Returns
        -------
        array of int (n,)
            The labels, -1 for noise; a Dask array for Dask data, one array per batch for a stream.
        """
        if labels is not None or groups is not None:
            found = reported(self._known_scores(self._fitted_rows(X), labels, groups), "labels")
            return without_noise(self.mixture_, found)
        return self._of_rows("labels", X, np.intp)

    def predict_proba(self, X: ArrayLike, *, labels: ArrayLike | None = None, groups: ArrayLike | None = None) -> Array:
        """Returns the probability of each component given the row.

        Parameters
        ----------
        X : array (n, d), Intervals, CSR array, Dask collection or batches
            The rows.
        labels : array (n,) or (n, k), default=None
            Labels of rows whose class is known, as in `fit`.
        groups : array (n,), default=None
            Rows of one group share a component.

        Returns
        -------
        array (n, k)
            The probabilities; a Dask array for Dask data, one array per batch for a stream.
        """
        check_is_fitted(self, "mixture_")
        if labels is not None or groups is not None:
            return reported(self._known_scores(self._fitted_rows(X), labels, groups), "shares")
        return self._of_rows("shares", X, float, self.mixture_.n_components)

    def transform(self, X: ArrayLike) -> Array:
        """Returns the probability of each component given the row, as features for further steps of a pipeline.

        Parameters
        ----------
        X : array (n, d), Intervals, CSR array, Dask collection or batches
            The rows.

        Returns
        -------
        array (n, k)
            The probabilities; `get_feature_names_out` names the columns.
        """
        return self.predict_proba(X)

    @property
    def _n_features_out(self) -> int:
        return self.mixture_.n_components

    def score_samples(self, X: ArrayLike) -> Array:
        """Returns the log-density of each row.

        Parameters
        ----------
        X : array (n, d), CSR array, Dask collection or batches
            The rows.

        Returns
        -------
        array (n,)
            The log-densities; a Dask array for Dask data, one array per batch for a stream.
        """
        return self._of_rows("log_sums", X, float)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Returns the weighted mean log-density of the rows.

        Parameters
        ----------
        X : array (n, d), CSR array, Dask collection or batches
            The rows.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array (n,), default=None
            The weights of the rows; batches of a stream have their own.

        Returns
        -------
        float
            The mean; a Dask scalar for Dask data.
        """
        if is_streamed(X):
            check_is_fitted(self, "mixture_")
            return score_of_batches(self.mixture_, X, sample_weight)
        densities: Any = self.score_samples(X)
        if is_dask(X):
            weighted: Any = sample_weight
            return densities.mean() if weighted is None else (densities * weighted).sum() / weighted.sum()
        return float(np.average(densities, weights=self._row_weights(sample_weight, len(densities))))

    def _row_weights(self, sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
        return check_sample_weight(weights_of(sample_weight, n_rows), n_rows)

    def complete_log_likelihood(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Returns the sum over the rows of the largest log(weight_j density_j), the objective of the paper.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        float
            The complete log-likelihood.
        """
        check_is_fitted(self, "mixture_")
        rows = self._table(X, self.family_, reset=False)
        weights = self._row_weights(sample_weight, rows.shape[0])
        return log_likelihoods(self.mixture_, rows, weights, threads_of(self.n_jobs), self._names())[1]

    def criteria(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Criteria:
        """Returns AIC, AICc, BIC and ICL on X; lower is better.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        Criteria
            All criteria.
        """
        check_is_fitted(self, "mixture_")
        rows = self._table(X, self.family_, reset=False)
        weights = self._row_weights(sample_weight, rows.shape[0])
        n_threads = threads_of(self.n_jobs)
        log_likelihood, complete = log_likelihoods(self.mixture_, rows, weights, n_threads, self._names())
        return Criteria(
            log_likelihood=log_likelihood,
            complete_log_likelihood=complete,
            n_parameters=self.mixture_.count_parameters(prescribed_weights=self.weights is not None)
            - (self.result_.n_frozen if hasattr(self, "result_") else 0),
            n=count_rows(rows, weights),
        )

    def certify(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Certificate:
        """Checks what is certain about the fit on its rows; see `kmle.certify`.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        Certificate
            The `kind`, one sentence, and `details` with the numbers.
        """
        rows = self._fitted_rows(X)
        if as_intervals(rows) is not None:
            raise ValueError("certify needs exact values: it cannot use intervals")
        weights = weights_of(sample_weight, rows.shape[0])
        fit = getattr(self, "result_", None)
        if fit is not None and fit.mixture is self.mixture_:
            return fit.certify(rows, weights)
        # Learned by partial_fit, batch by batch.
        plan = self._plan()
        return certificate(
            self.mixture_,
            rows,
            weights,
            prior_strength=plan.strength,
            resolution=plan.resolution_for(self.family_),
            weights_held=plan.prescribed_weights is not None,
        )

    def sample(self, n_samples: int = 1) -> tuple[Array, NDArray[np.intp]]:
        """Draws rows from the mixture, as in scikit-learn.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows.

        Returns
        -------
        (array (n, d), array of int (n,))
            The rows and their components.
        """
        check_is_fitted(self, "mixture_")
        return self.mixture_.sample_joint(n_samples, np.random.default_rng(entropy_of(self.random_state)))
