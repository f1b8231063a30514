"""Everything that follows from a fitted mixture."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..execution import is_dask, is_streamed
from ..execution.batches import as_batches, chunks_of
from ..families.checking import check_sample_weight
from ..kernels import looking_once
from ..learning import Certificate, Fit, certificate
from ..learning.criteria import Criteria
from ..mixture import Mixture
from ..numerics.arrays import Array
from .arguments import entropy_of, threads_of, weights_of
from .checked import CheckedEstimator
from .chunks import of_block, opened


class FittedEstimator(CheckedEstimator):
    """What a fitted estimator says of rows."""

    mixture_: Mixture
    fit_: Fit

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted  # slow to load, and not needed for a fit

        check_is_fitted(self, "mixture_")

    def _fitted_rows(self, X: ArrayLike) -> Array:
        self._check_fitted()
        return self._legal(self._table(X, self.family_, reset=False))

    def _of_rows(self, method: str, X: Any, dtype: Any, n_columns: int | None = None) -> Any:
        """What the mixture says of each row: an array, for Dask data a Dask array, for a stream one array a batch."""
        self._check_fitted()
        if is_dask(X):
            from ..execution.cluster import by_block  # Dask is an extra

            return by_block(partial(of_block, self.mixture_, method), X, dtype, n_columns)
        if is_streamed(X):
            batches = chunks_of(opened(X), self.family_)
            return (of_block(self.mixture_, method, chunk.X, chunk.first_row) for chunk in batches)
        n_threads = threads_of(self.n_jobs)
        with looking_once(n_threads):
            return getattr(self.mixture_, method)(self._fitted_rows(X), n_threads=n_threads)

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The most probable component of each row: a Dask array for Dask data, an array a batch for a stream."""
        return self._of_rows("predict", X, np.intp)

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each component given the row, (n, k); in the form that `predict` has."""
        self._check_fitted()
        return self._of_rows("posterior", X, float, self.mixture_.n_components)

    def score_samples(self, X: ArrayLike) -> Array:
        """Log-density of each row under the mixture; in the form that `predict` has."""
        return self._of_rows("log_density", X, float)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log-density of the rows, by their weights (of Dask data: a Dask array without dimensions). y is ignored.

        The batches of a stream carry their weights.
        """
        if is_streamed(X):
            return self._score_of_batches(X, sample_weight)
        densities: Any = self.score_samples(X)
        if is_dask(X):
            weighted: Any = sample_weight
            return densities.mean() if weighted is None else (densities * weighted).sum() / weighted.sum()
        return float(np.average(densities, weights=self._row_weights(sample_weight, len(densities))))

    def _score_of_batches(self, X: Any, sample_weight: Any) -> float:
        self._check_fitted()
        sums = np.zeros(2)
        for chunk in chunks_of(opened(X) if sample_weight is None else as_batches(X, sample_weight), self.family_):
            densities = of_block(self.mixture_, "log_density", chunk.X, chunk.first_row)
            weights = np.ones(len(densities)) if chunk.weights is None else chunk.weights
            sums += weights @ densities, weights.sum()
        return float(sums[0] / sums[1])

    def _row_weights(self, sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
        return check_sample_weight(weights_of(sample_weight, n_rows), n_rows)

    def complete_log_likelihood(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Sum over the rows of the largest log(weight_j density_j): the paper's objective, a total."""
        n_threads = threads_of(self.n_jobs)
        with looking_once(n_threads):
            rows = self._fitted_rows(X)
            weights = self._row_weights(sample_weight, rows.shape[0])
            return self.mixture_.complete_log_likelihood(rows, weights, n_threads)

    def criteria(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Criteria:
        """All criteria on X at once: AIC, AICc, BIC and ICL; lower is better. Weights count rows, as in `fit`."""
        n_threads = threads_of(self.n_jobs)
        with looking_once(n_threads):
            rows = self._fitted_rows(X)
            weights = self._row_weights(sample_weight, rows.shape[0])
            log_likelihood, complete = self.mixture_.log_likelihoods(rows, weights, n_threads)
        return Criteria(
            log_likelihood=log_likelihood,
            complete_log_likelihood=complete,
            n_parameters=self.mixture_.count_parameters(prescribed_weights=self.weights is not None),
            n=rows.shape[0] if weights is None else float(weights.sum()),
        )

    def aic(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Akaike's criterion on X: lower is better."""
        return self.criteria(X, sample_weight).aic

    def aicc(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Akaike's criterion on X, corrected for small samples: lower is better, infinite with too many parameters."""
        return self.criteria(X, sample_weight).aicc

    def bic(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Schwarz's criterion on X: lower is better."""
        return self.criteria(X, sample_weight).bic

    def icl(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The integrated complete likelihood criterion on X: BIC with the complete likelihood, lower is better."""
        return self.criteria(X, sample_weight).icl

    def certify(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Certificate:
        """What can be said for sure about the fit on the rows it was learned from: see `kmle.certify`."""
        rows = self._fitted_rows(X)
        weights = weights_of(sample_weight, rows.shape[0])
        fit = getattr(self, "fit_", None)
        if fit is not None and fit.mixture is self.mixture_:
            return fit.certify(rows, weights)
        # Learned by partial_fit, batch by batch.
        held = self._prescribed_weights() is not None
        return certificate(
            self.mixture_,
            rows,
            weights,
            prior_strength=self._prior_strength(),
            resolution=self._asked_resolution(),
            weights_held=held,
        )

    def sample(self, n_samples: int = 1) -> tuple[Array, NDArray[np.intp]]:
        """Rows drawn from the mixture and the component of each, as in scikit-learn."""
        self._check_fitted()
        return self.mixture_.sample_joint(n_samples, np.random.default_rng(entropy_of(self.random_state)))
