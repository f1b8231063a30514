"""What the two estimators share: validation, restarts, and everything that follows from a fitted mixture."""

import sys
from abc import ABC, abstractmethod
from functools import partial
from os import PathLike
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..assignment.choose import ENGINES
from ..assignment.problem import LearningProblem, Parameters, Problem
from ..execution import is_dask, is_streamed
from ..execution.batches import chunks_of
from ..families import ExponentialFamily, resolve
from ..families.checking import as_rows, check_sample_weight
from ..families.sparse import check_sparse, issparse
from ..families.support import PositiveDefinite
from ..learning import Algorithm, Certificate, Exact, Fit, Online, certificate, run
from ..learning.checkpoint import Keeper, Saved, seed_of
from ..learning.criteria import Criteria
from ..learning.loop import Keep, Progress, finish
from ..learning.state import ITERATION_LIMIT, STOPPED, Run
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..seeding import SEEDINGS
from .arguments import entropy_of, reporter, threads_of, weights_of, whole_number
from .checkpoints import keeper_of, opening
from .chunks import Looked, PreparedChunks, check_algorithm, looked, of_block, opened, prepared_chunks
from .preparation import Prepared, Seen, prepared

AnyPrepared: TypeAlias = Prepared | PreparedChunks


class MixtureEstimator(ABC):
    """What the two estimators share: validation, restarts, and everything that follows from a fitted mixture."""

    _algorithms: tuple[str, ...] = ()

    # Arguments every estimator takes; scikit-learn wants each to store them in its own __init__.
    n_components: int
    family: str | ExponentialFamily
    algorithm: str | Algorithm
    init: str | ArrayLike | Mixture
    weights: str | ArrayLike | None
    prior_strength: float
    empty: str
    n_init: int
    max_iter: int
    tol: float
    assignment: str
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    checkpoint: str | PathLike[str] | None
    resume: bool

    family_: ExponentialFamily

    # Fitting ----------------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns the mixture of the rows of X; `sample_weight` counts rows, so 2 is a row twice. y is ignored.

        X may also come in chunks: a Dask array or DataFrame, a memory map, `Batches`, an iterable or a function that
        gives batches of rows, or pairs of rows and weights.
        """
        if is_streamed(X) and self._algorithm_name == "online":
            self._checked_arguments(sys.maxsize)
            return self._one_pass(X)
        saved, rng = opening(self)
        seed = seed_of(rng)
        prepared, generators = self._prepared_data(X, sample_weight, rng)
        keeper = keeper_of(self, saved, seed, prepared.problem)
        fits = self._fits(prepared, generators, saved, keeper)
        self._take(prepared.completed(max(fits, key=lambda fit: fit.objective)))
        return self

    def _one_pass(self, X: Any) -> Self:
        raise ValueError(f"{type(self).__name__} does not learn from batches read once: KMLE with 'online' does")

    def _prepared_data(
        self, X: ArrayLike, sample_weight: ArrayLike | None, rng: np.random.Generator
    ) -> tuple[AnyPrepared, list[np.random.Generator]]:
        """The learning problem of the data, wherever it is, and a generator a start; all is checked on the way."""
        if is_dask(X) or is_streamed(X):
            self._checked_arguments(sys.maxsize)
            chunks = self._looked(X, sample_weight)
            self._checked_arguments(chunks.n_rows)
            generators, (sampling,) = rng.spawn(self.n_init), rng.spawn(1)
            return prepared_chunks(
                chunks,
                prior_strength=self._prior_strength(),
                prescribed_weights=self._prescribed_weights(),
                n_threads=threads_of(self.n_jobs),
                n_components=self.n_components,
                assignment=self.assignment,
                sampling=sampling,
            ), generators
        rows, weights = self._checked_data(X, sample_weight)
        self._checked_arguments(rows.shape[0])
        generators, (sampling,) = rng.spawn(self.n_init), rng.spawn(1)
        return self._prepared(rows, weights, self.n_components, threads_of(self.n_jobs), sampling), generators

    def _fits(
        self,
        prepared: AnyPrepared,
        generators: list[np.random.Generator],
        saved: Saved | None,
        keeper: Keeper | None,
    ) -> list[Fit]:
        """The fits from all starts; those that a checkpoint has behind it are represented by their best."""
        fits: list[Fit] = []
        if saved is not None and saved.best is not None:
            reason = saved.best.state.finished or ITERATION_LIMIT
            fits.append(finish(self._algorithm(generators[0]), prepared.problem, saved.best, reason))
        for restart, generator in enumerate(generators):
            if saved is not None and restart < saved.restart:
                continue
            going_on = saved if saved is not None and restart == saved.restart else None
            fits.append(self._fit_once(prepared, generator, restart, keeper, going_on))
            if fits[-1].stop_reason == STOPPED:
                break
        return fits

    def _prepared(
        self, rows: Array, weights: Array | None, n_components: int, n_threads: int, sampling: np.random.Generator
    ) -> Prepared:
        """The learning problem of checked data, for mixtures of up to so many components."""
        return prepared(
            self.family_,
            rows,
            weights,
            prior_strength=self._prior_strength(),
            prescribed_weights=self._prescribed_weights(),
            n_threads=n_threads,
            n_components=n_components,
            assignment=self.assignment,
            may_compress=self._may_compress(),
            sampling=sampling,
        )

    def _may_compress(self) -> bool:
        """Rows that carry labels of their own, or come one after the other, are not merged into distinct ones."""
        online = isinstance(self.algorithm, Online) or self.algorithm == "online"
        return isinstance(self.init, str | Mixture) and not online

    def _fit_once(
        self,
        prepared: AnyPrepared,
        rng: np.random.Generator,
        restart: int,
        keeper: Keeper | None,
        going_on: Saved | None,
    ) -> Fit:
        problem = prepared.problem
        with problem.undisturbed():
            start = None if going_on else self._start(problem, rng, prepared.seen)
        algorithm = self._algorithm(rng)
        begun = start if going_on is None else going_on.resume(algorithm, problem, rng)
        assert begun is not None  # one of the two
        keep = None if keeper is None else partial(keeper.keep, restart, algorithm, rng)
        fit = self._run(problem, begun, algorithm, reporter(self.verbose, restart, self.n_init), keep)
        if self.verbose:
            told = f"{fit.stop_reason} after {fit.n_iter} iterations, {prepared.engine} engine, {fit.seconds:.3f} s"
            print(told, file=sys.stderr, flush=True)
        return fit

    def _run(
        self,
        problem: LearningProblem,
        start: Parameters | Run,
        algorithm: Algorithm,
        progress: Progress | None = None,
        keep: Keep | None = None,
    ) -> Fit:
        """The algorithm asked for, from this start to its end."""
        # An online fit ends when its batches do, the others after max_iter steps at the latest.
        limit = sys.maxsize if isinstance(algorithm, Online) else self.max_iter
        return run(algorithm, problem, start, max_iter=limit, tol=self.tol, progress=progress, keep=keep)

    def _take(self, fit: Fit) -> None:
        self.fit_ = fit
        self.mixture_ = fit.mixture
        self.labels_ = fit.labels
        self.weights_ = fit.mixture.weights
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        self.history_ = fit.objectives
        self.objective_ = fit.objective
        self.notes_ = self._notes(fit)

    def _notes(self, fit: Fit) -> list[str]:
        notes = []
        missing = self.n_components - fit.mixture.n_components
        if missing > 0:
            gone = "1 component" if missing == 1 else f"{missing} components"
            notes.append(f"{gone} of {self.n_components} lost all rows (or never had any of their own) and left.")
        if fit.stop_reason == "iteration limit":
            notes.append(f"The iteration limit was reached before the end; raise max_iter above {self.max_iter}.")
        if fit.n > 0 and np.shape(fit.labels) == (0,):
            notes.append(f"Labels of {fit.n:.0f} rows are not kept: predict gives them batch by batch.")
        if fit.algorithm == "exact" and self.prior_strength > 0:
            notes.append("The exact optimum is of the plain likelihood; prior_strength played no part.")
        return notes

    # Validation -------------------------------------------------------------------------------------------------------

    def _checked_data(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array | None]:
        """Legal rows and weights; settles `family_`."""
        family = resolve(self.family)
        rows = self._table(X, family, reset=True)
        self.family_ = family.for_data(rows)
        rows = self._legal(rows)
        n_rows = rows.shape[0]
        return rows, check_sample_weight(weights_of(sample_weight, n_rows), n_rows)

    def _looked(self, X: Any, sample_weight: Any) -> Looked:
        """The first look at data in chunks; settles `family_` and what there is to know of the columns."""
        check_algorithm(self._algorithm_name, X)
        if not isinstance(self.init, str | Mixture):
            raise ValueError("init as labels needs the rows in memory: on chunks give a name or a Mixture")
        chunks = looked(X, sample_weight, resolve(self.family), self._may_compress())
        self.family_ = chunks.look.family
        self.n_features_in_ = chunks.n_features
        if chunks.columns is not None:
            self.feature_names_in_ = np.array(chunks.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return chunks

    def _legal(self, rows: Array) -> Array:
        """Rows inside the family's support, dense or sparse."""
        return check_sparse(self.family_, rows) if issparse(rows) else self.family_.check(rows, self._column_names())

    def _table(self, X: ArrayLike, family: ExponentialFamily, reset: bool) -> Array:
        from sklearn.utils.validation import validate_data

        matrices = isinstance(family.support, PositiveDefinite)
        if matrices and np.ndim(X) == 3:
            X = np.reshape(np.asarray(X), (len(np.asarray(X)), -1))
        try:
            table: Array = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr" if family.sparse else False,
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
            )
        except ValueError as error:
            if str(error).startswith(("could not convert", "setting an array element")):
                as_rows(family, X)  # says which row and column is no number
            raise
        return table

    def _column_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _checked_arguments(self, n_rows: int) -> None:
        whole_number("n_components", self.n_components, 1)
        whole_number("n_init", self.n_init, 1)
        whole_number("max_iter", self.max_iter, 1)
        for name in ("tol", "prior_strength"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number) or not np.isfinite(value) or value < 0:
                raise ValueError(f"{name} is {value!r}: it must be a number, zero or more")
        if n_rows < self.n_components:
            raise ValueError(
                f"n_components is {self.n_components} but there are only n_samples = {n_rows} rows: "
                "ask for fewer components"
            )
        if self.empty not in ("drop", "reseed"):
            raise ValueError(f"empty is {self.empty!r}: it must be 'drop' or 'reseed'")
        engines = ("auto", "compressed", *ENGINES)
        if self.assignment not in engines:
            raise ValueError(f"assignment is {self.assignment!r}: it must be one of {', '.join(engines)}")
        known = (
            self.algorithm in self._algorithms if isinstance(self.algorithm, str) else hasattr(self.algorithm, "step")
        )
        if not known:
            raise ValueError(
                f"algorithm is {self.algorithm!r}: {type(self).__name__} has {', '.join(self._algorithms)}"
            )
        if not isinstance(self.verbose, int | np.integer):
            raise ValueError(f"verbose is {self.verbose!r}: it must be True, False or a whole number")
        if isinstance(self.init, str) and self.init not in SEEDINGS:
            raise ValueError(
                f"init is {self.init!r}: it must be one of {', '.join(SEEDINGS)}, an array of labels, or a Mixture"
            )

    def _prior_strength(self) -> float:
        return 0.0 if isinstance(self.algorithm, Exact) or self.algorithm == "exact" else float(self.prior_strength)

    def _prescribed_weights(self) -> Array | None:
        if self.weights is None:
            return None
        if isinstance(self.weights, str):
            if self.weights != "uniform":
                raise ValueError(
                    f"weights is {self.weights!r}: it must be None, 'uniform' or {self.n_components} numbers"
                )
            return np.full(self.n_components, 1 / self.n_components)
        try:
            weights = np.asarray(self.weights, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"weights is {self.weights!r}: {self.n_components} numbers are needed") from None
        if weights.shape != (self.n_components,):
            raise ValueError(f"weights has shape {weights.shape}: {self.n_components} numbers are needed")
        if not np.isfinite(weights).all() or (weights <= 0).any() or abs(weights.sum() - 1) > 1e-6:
            raise ValueError(f"weights must be positive and sum to one; their sum is {weights.sum():.6g}")
        return weights / weights.sum()

    # Starts and algorithms --------------------------------------------------------------------------------------------

    def _start(self, problem: LearningProblem, rng: np.random.Generator, seen: Seen = slice(None)) -> Parameters:
        if self.warm_start and hasattr(self, "mixture_"):
            return self._from_mixture(problem, self.mixture_)
        if isinstance(self.init, Mixture):
            return self._from_mixture(problem, self.init)
        if isinstance(self.init, str):
            return self._padded(problem, SEEDINGS[self.init](problem, self.n_components, rng))
        assert isinstance(problem, Problem)  # labels are refused for rows that are not at hand
        return self._from_labels(problem, np.asarray(self.init), seen)

    def _padded(self, problem: LearningProblem, start: Parameters) -> Parameters:
        """Fewer seeds than prescribed weights leave the last components without rows from the start."""
        missing = self.n_components - len(start.natural)
        if missing == 0 or problem.weights is None:
            return start
        natural = np.concatenate([start.natural, np.tile(problem.prior_natural, (missing, 1))])
        with np.errstate(divide="ignore"):
            log_weights = np.log(np.where(np.arange(self.n_components) < len(start.natural), problem.weights, 0.0))
        return Parameters(natural, log_weights)

    def _from_mixture(self, problem: LearningProblem, mixture: Mixture) -> Parameters:
        if mixture.family.name != problem.family.name or mixture.natural.shape[1] != problem.order:
            raise ValueError(
                f"init is a mixture of {mixture.family.name} with {mixture.natural.shape[1]} natural coordinates; "
                f"this data and family need {problem.family.name} with {problem.order}"
            )
        if mixture.n_components > self.n_components:
            raise ValueError(f"init has {mixture.n_components} components, n_components is {self.n_components}")
        if problem.weights is not None and mixture.n_components != self.n_components:
            raise ValueError("prescribed weights need an init with as many components")
        return problem.from_mixture(mixture)

    def _from_labels(self, problem: Problem, labels: NDArray[Any], seen: Seen) -> Parameters:
        n = len(problem.rows) if isinstance(seen, slice) else len(seen)
        if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(f"init as labels needs one whole number a row, shape ({n},)")
        if labels.min() < 0 or labels.max() >= self.n_components:
            raise ValueError(f"init labels must lie from 0 to {self.n_components - 1}")
        return problem.first_parameters(problem.gather(labels[seen].astype(np.int32), self.n_components))

    @property
    def _algorithm_name(self) -> str:
        return self.algorithm if isinstance(self.algorithm, str) else self.algorithm.name

    @abstractmethod
    def _algorithm(self, rng: np.random.Generator) -> Algorithm:
        """The algorithm asked for."""

    # What follows from the mixture ------------------------------------------------------------------------------------

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
        return getattr(self.mixture_, method)(self._fitted_rows(X))

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

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean log-density of the rows (of Dask data: a Dask array without dimensions). y is ignored."""
        densities: Any = self.score_samples(X)
        if is_dask(X):
            return densities.mean()
        if is_streamed(X):
            sums = np.sum([(part.sum(), len(part)) for part in densities], axis=0)
            return float(sums[0] / sums[1])
        return float(densities.mean())

    def complete_log_likelihood(self, X: ArrayLike) -> float:
        """Sum over the rows of the largest log(weight_j density_j): the paper's objective, a total."""
        rows = self._fitted_rows(X)
        return self.mixture_.complete_log_likelihood(rows)

    def criteria(self, X: ArrayLike) -> Criteria:
        """All criteria on X at once: AIC, AICc, BIC and ICL; lower is better."""
        rows = self._fitted_rows(X)
        return Criteria(
            log_likelihood=float(self.mixture_.log_density(rows).sum()),
            complete_log_likelihood=self.mixture_.complete_log_likelihood(rows),
            n_parameters=self.mixture_.count_parameters(prescribed_weights=self.weights is not None),
            n=rows.shape[0],
        )

    def aic(self, X: ArrayLike) -> float:
        """Akaike's criterion on X: lower is better."""
        return self.criteria(X).aic

    def aicc(self, X: ArrayLike) -> float:
        """Akaike's criterion on X, corrected for small samples: lower is better, infinite with too many parameters."""
        return self.criteria(X).aicc

    def bic(self, X: ArrayLike) -> float:
        """Schwarz's criterion on X: lower is better."""
        return self.criteria(X).bic

    def icl(self, X: ArrayLike) -> float:
        """The integrated complete likelihood criterion on X: BIC with the complete likelihood, lower is better."""
        return self.criteria(X).icl

    def certify(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Certificate:
        """What can be said for sure about the fit on the rows it was learned from: see `kmle.certify`."""
        rows = self._fitted_rows(X)
        weights = weights_of(sample_weight, rows.shape[0])
        fit = getattr(self, "fit_", None)
        if fit is not None and fit.mixture is self.mixture_:
            return fit.certify(rows, weights)
        # Learned by partial_fit, batch by batch.
        held = self._prescribed_weights() is not None
        return certificate(self.mixture_, rows, weights, prior_strength=self._prior_strength(), weights_held=held)

    def sample(self, n_samples: int = 1) -> tuple[Array, NDArray[np.intp]]:
        """Rows drawn from the mixture and the component of each, as in scikit-learn."""
        self._check_fitted()
        return self.mixture_.sample_joint(n_samples, np.random.default_rng(entropy_of(self.random_state)))
