"""Densities, posteriors and labels of rows under a mixture, on the passes that fits are made of.

Rows are scored block by block: beside the outcome little memory is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._kernels import ColumnSummary, RowScores, has_missing, summarize_columns
from ..data.holes import family_with_holes, holes_of
from ..data.intervals import Intervals, as_intervals
from ..data.named_columns import NamedColumns
from ..engines.patterns.scorer import PatternsScorer
from ..engines.score import scorer_of
from ..engines.scorer import Check, Scorer, slices, unchecked
from ..families import ComponentFamilies, ExponentialFamily
from ..families.incomplete import Incomplete
from ..families.shaped import Shaped
from ..families.sparse import check_sparse
from ..families.support import as_infinite
from ..families.validation import check_shape, check_values, issparse
from ..numerics.arrays import Array
from ..numerics.blas import blas_on_one_thread
from ..numerics.threads import available_threads, for_each
from .imputation import imputed
from .intervals import interval_scores, reported

T = TypeVar("T")


class Densities:
    """What a mixture says of rows; `n_threads` is how many threads to use at most, None as many as the process may."""

    family: ExponentialFamily
    weights: Array
    natural: Array
    columns: tuple[str, ...] | None
    categories: Mapping[str, tuple[Any, ...]] | None

    def log_joint(self, X: ArrayLike, n_threads: int | None = None) -> Array:
        """Returns log(weights_j p(x_i; natural_j)).

        Parameters
        ----------
        X : array (n, d), CSR array or Intervals
            The rows.
        n_threads : int, default=None
            The maximum number of threads; None is all that this process may use.

        Returns
        -------
        array (n, k)
            The logarithms.
        """
        return of_rows(self, "scores", X, n_threads)

    def log_density(self, X: ArrayLike, n_threads: int | None = None) -> Array:
        """Returns the log-density of each row.

        Parameters
        ----------
        X : array (n, d), CSR array or Intervals
            The rows.
        n_threads : int, default=None
            The maximum number of threads; None is all that this process may use.

        Returns
        -------
        array (n,)
            The log-densities.
        """
        return of_rows(self, "log_sums", X, n_threads)

    def complete_log_likelihood(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None, n_threads: int | None = None
    ) -> float:
        """Returns the weighted sum over the rows of the largest log(weights_j p(x; natural_j)).

        Parameters
        ----------
        X : array (n, d), CSR array or Intervals
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows.
        n_threads : int, default=None
            The maximum number of threads.

        Returns
        -------
        float
            The complete log-likelihood.
        """
        return _total(of_rows(self, "tops", X, n_threads), sample_weight)

    def log_likelihoods(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None, n_threads: int | None = None
    ) -> tuple[float, float]:
        """Returns the log-likelihood and the complete log-likelihood, computed in one pass.

        Parameters
        ----------
        X : array (n, d), CSR array or Intervals
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows.
        n_threads : int, default=None
            The maximum number of threads.

        Returns
        -------
        (float, float)
            The two log-likelihoods.
        """
        return log_likelihoods(self, X, sample_weight, n_threads)

    def posterior(self, X: ArrayLike, n_threads: int | None = None) -> Array:
        """Returns the probability of each component given the row.

        Parameters
        ----------
        X : array (n, d), CSR array or Intervals
            The rows.
        n_threads : int, default=None
            The maximum number of threads.

        Returns
        -------
        array (n, k)
            The probabilities.
        """
        return of_rows(self, "shares", X, n_threads)

    def predict(self, X: ArrayLike, n_threads: int | None = None) -> NDArray[np.intp]:
        """Returns the most probable component of each row, the lowest index on a tie.

        Parameters
        ----------
        X : array (n, d), CSR array or Intervals
            The rows.
        n_threads : int, default=None
            The maximum number of threads.

        Returns
        -------
        array of int (n,)
            The labels.
        """
        return of_rows(self, "labels", X, n_threads)

    def impute(self, X: ArrayLike, sample: bool = False, random_state: Any = None) -> Any:
        """Returns the rows with values for missing entries (NaN).

        Parameters
        ----------
        X : array (n, d) or DataFrame
            The rows. Of a DataFrame with the columns that the mixture names, those are taken, in any order.
        sample : bool, default=False
            Whether to draw values, for multiple imputation. Otherwise they are conditional means: of categories the
            most probable one, of angles the mean direction. They are infinite where a component that a row may come
            from has no finite mean (inverse gamma of shape 1 or less).
        random_state : int, Generator or None, default=None
            The seed of the draws.

        Returns
        -------
        array (n, d) or DataFrame
            A copy in float64; of a DataFrame with named columns another one, with the names of categories. A row
            without any entry has the means of the mixture.

        Examples
        --------
        >>> from kmle import Mixture
        >>> mixture = Mixture.from_source("gaussian", [1.0], mean=[[1.0, 2.0]], covariance=[[[1.0, 0.5], [0.5, 1.0]]])
        >>> mixture.impute([[3.0, np.nan], [np.nan, np.nan]])
        array([[3., 3.],
               [1., 2.]])
        """
        family, named = self.family, self._named_columns(X)
        rows = family.check(X if named is None else named.frame(X), missing=True)
        rng = np.random.default_rng(random_state) if sample else None
        filled = imputed(family, (self.weights, self.natural), rows, self.posterior(rows), rng)
        return filled if named is None else named.decoded(filled, X)

    def _named_columns(self, X: Any) -> NamedColumns | None:
        """The columns of a frame that the mixture knows by name; None where there are others and all hold numbers."""
        if self.columns is None or not hasattr(X, "columns") or not hasattr(X, "to_numpy"):
            return None
        if not self.categories and set(self.columns) - {str(name) for name in X.columns}:
            return None
        return NamedColumns(self.columns, self.categories or {})


def of_rows(
    mixture: Densities, name: str, X: ArrayLike, n_threads: int | None = None, columns: list[str] | None = None
) -> NDArray[Any]:
    """What a mixture says of each row: their "labels" or one of the fields of `RowScores`.

    `columns` are the names that errors call the columns by.
    """
    intervals = _partly_known(mixture.family, X)
    if intervals is not None:
        scores = interval_scores(mixture.family, mixture.weights, mixture.natural, intervals, columns)
        return reported(scores, name)

    def asked(rows: Any, scorer: Scorer, check: Check) -> NDArray[Any]:
        if name == "labels":
            return scorer.labels(rows, check)
        found = np.asarray(getattr(scorer.scores(rows, name, check=check), name))
        return as_infinite(found) if isinstance(mixture.family, ComponentFamilies) else found

    return _ask(mixture, X, asked, n_threads, columns)


def for_posteriors(
    mixture: Densities, rows: Array, n_rows: int, work: Callable[[slice, Array], None], n_threads: int | None = None
) -> None:
    """Calls work(block, posterior) for blocks of legal rows, on several threads."""
    if has_missing(rows):
        for block in slices(len(rows), n_rows):
            work(block, mixture.posterior(rows[block], n_threads))
        return
    with np.errstate(divide="ignore"):
        log_weights = np.log(mixture.weights)
    scorer = scorer_of(mixture.family, mixture.natural, log_weights, rows, 1)

    def score(block: slice) -> None:
        out = RowScores.wanting(["shares"], block.stop - block.start, len(log_weights))
        scorer.score(rows[block], out, unchecked)
        assert out.shares is not None  # which is wanted
        work(block, out.shares)

    with blas_on_one_thread():
        for_each(score, slices(len(rows), n_rows), available_threads() if n_threads is None else n_threads, 1)


def log_likelihoods(
    mixture: Densities,
    X: ArrayLike,
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
    columns: list[str] | None = None,
) -> tuple[float, float]:
    """The log-likelihood and the complete log-likelihood of the rows, computed in one pass."""
    if _partly_known(mixture.family, X) is not None:
        both = [of_rows(mixture, name, X, n_threads, columns) for name in ("log_sums", "tops")]
        return _total(both[0], sample_weight), _total(both[1], sample_weight)

    def asked(rows: Any, scorer: Scorer, check: Check) -> tuple[float, float]:
        found = scorer.scores(rows, "log_sums", "tops", check=check)
        assert found.log_sums is not None  # both were asked for
        assert found.tops is not None
        both = (_total(values, sample_weight) for values in (found.log_sums, found.tops))
        log_likelihood, complete = (float(as_infinite(np.array(total))) for total in both)
        return log_likelihood, complete

    return _ask(mixture, X, asked, n_threads, columns)


def _partly_known(family: ExponentialFamily, X: Any) -> Intervals | None:
    """Rows that are intervals; of families with shapes also rows with missing entries: nothing is known of these."""
    intervals = as_intervals(X)
    if intervals is not None or not isinstance(family, Shaped) or issparse(X):
        return intervals
    rows = check_shape(family, X)
    return Intervals(rows, rows) if has_missing(rows) else None


class _HasHolesError(Exception):
    """Entries are missing, so that the rows must be scored otherwise: the check of the rows finds out."""


def _ask(
    mixture: Densities,
    X: ArrayLike,
    asked: Callable[[Any, Scorer, Check], T],
    n_threads: int | None,
    columns: list[str] | None = None,
) -> T:
    """What a function of rows, of components ready to score them and of a check of the rows says.

    Rows are taken to be complete, and scored otherwise once the check has found missing entries.
    """
    family = mixture.family
    threads = available_threads() if n_threads is None else n_threads
    rows: Any = check_sparse(family, X) if issparse(X) else check_shape(family, X)
    with np.errstate(divide="ignore"):
        log_weights = np.log(mixture.weights)

    def check(block: Array, seen: ColumnSummary | None) -> None:
        if issparse(X):
            return
        summary = seen if seen is not None and seen.finite else summarize_columns(block, 1)
        check_values(family, block, summary, columns, missing=True)
        if summary.missing:
            raise _HasHolesError

    try:
        return asked(rows, scorer_of(family, mixture.natural, log_weights, rows, threads), check)
    except _HasHolesError:
        check_values(family, rows, summarize_columns(rows, threads), columns, missing=True)
        with_holes = family_with_holes(family, holes_of(rows))
        natural = with_holes.from_components(family, mixture.natural)
        scorer = scorer_of if isinstance(with_holes, Incomplete) else PatternsScorer
        return asked(rows, scorer(with_holes, natural, log_weights, rows, threads), unchecked)


def _total(values: Array, sample_weight: ArrayLike | None) -> float:
    """The weighted sum of values (n,)."""
    if sample_weight is None:
        return float(values.sum())
    with blas_on_one_thread():  # starting more takes longer
        return float(np.asarray(sample_weight, dtype=float) @ values)
