"""What the two estimators share: fitting, from one start or several."""

import sys
from abc import abstractmethod
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..assignment.problem import LearningProblem, Parameters, Problem
from ..execution import is_dask, is_streamed
from ..kernels import looking_once
from ..learning import Algorithm, Fit, Online, Starts, run
from ..learning.checkpoint import Keeper, Saved, seed_of
from ..learning.loop import Keep, Progress, finish
from ..learning.state import ITERATION_LIMIT, STOPPED, Run
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..search import SAME, Found, search, single_start
from ..seeding import SEEDINGS
from .arguments import reporter, threads_of
from .checkpoints import keeper_of, opening
from .chunks import PreparedChunks, prepared_chunks
from .fitted import FittedEstimator
from .notes import notes_on, relative_weights
from .preparation import Prepared, Seen, prepared
from .rounding import rounded_columns

AnyPrepared: TypeAlias = Prepared | PreparedChunks

# Algorithms that do not depend on where they start.
ONE_START = ("exact",)
# Algorithms that make few passes: a search for the best start would make more.
NO_SEARCH = ("exact", "online")
# Algorithms in which a row belongs to one component.
HARD = ("k-mle", "hard-em", "hartigan", "swap", "exact", "online")


def _given(parameters: Parameters) -> Found:
    return Found(parameters, Starts({"given": 1}, agreeing=1))


class MixtureEstimator(FittedEstimator):
    """What the two estimators share: fitting, from one start or several."""

    # Fitting ----------------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns the mixture of the rows of X. y is ignored.

        `sample_weight` counts rows, so 2 is a row twice. Weights that sum to less than the number of rows (those of
        positive weight) are relative: they are multiplied so that they sum to it, as `notes_` says, and multiplying
        all of them by a number changes nothing.

        X may also come in chunks: a Dask array or DataFrame, a memory map, `Batches`, an iterable or a function that
        gives batches of rows, or pairs of rows and weights.
        """
        if is_streamed(X) and self._algorithm_name == "online":
            self._checked_arguments(sys.maxsize)
            return self._one_pass(X)
        saved, rng = opening(self)
        seed = seed_of(rng)
        prepared, generators = self._prepared_data(X, sample_weight, rng)
        keeper = keeper_of(self, saved, seed, prepared)
        self._take(prepared.completed(self._best_fit(prepared, generators, saved, keeper)))
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
            generators, sampling = self._generators(rng)
            return prepared_chunks(
                chunks,
                prior_strength=self._prior_strength(),
                prescribed_weights=self._prescribed_weights(),
                n_threads=threads_of(self.n_jobs),
                n_components=self.n_components,
                assignment=self.assignment,
                sampling=sampling,
                resolution=self._asked_resolution(),
                hard=self._hard,
            ), generators
        n_threads = threads_of(self.n_jobs)
        with looking_once(n_threads):
            rows, weights = self._checked_data(X, sample_weight)
            self._checked_arguments(rows.shape[0])
            generators, sampling = self._generators(rng)
            return self._prepared(rows, weights, self.n_components, n_threads, sampling), generators

    @property
    def _n_runs(self) -> int:
        """Starts that are learned to their end one after the other; a search counts as one."""
        return 1 if isinstance(self.n_init, str) or self._has_one_start else int(self.n_init)

    @property
    def _has_one_start(self) -> bool:
        """Whether there is only one place to start from, or it does not matter."""
        warm = self.warm_start and hasattr(self, "mixture_")
        return warm or not isinstance(self.init, str) or self._algorithm_name in ONE_START

    def _generators(self, rng: np.random.Generator) -> tuple[list[np.random.Generator], np.random.Generator]:
        """A generator for each run, and the one that draws the sample."""
        return rng.spawn(self._n_runs), rng.spawn(1)[0]

    def _best_fit(
        self,
        prepared: AnyPrepared,
        generators: list[np.random.Generator],
        saved: Saved | None = None,
        keeper: Keeper | None = None,
    ) -> Fit:
        """The best fit from all starts, with what is said of them."""
        fits = self._fits(prepared, generators, saved, keeper)
        best = max(fits, key=lambda fit: fit.objective)
        if len(fits) == 1:
            return best
        kinds = Counter[str]()
        for fit in fits:
            kinds.update(fit.starts.kinds)
        agreeing = sum(fit.objective > best.objective - SAME for fit in fits)
        return replace(best, starts=replace(best.starts, kinds=dict(kinds), agreeing=agreeing))

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
            hard=self._hard,
            resolution=self._asked_resolution(),
        )

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
            found = None if going_on else self._start(problem, rng, prepared.seen, restart)
        algorithm = self._algorithm(rng)
        begun = found.parameters if found is not None else going_on.resume(algorithm, problem, rng)  # type: ignore[union-attr]
        starts = found.starts if found is not None else going_on.starts  # type: ignore[union-attr]
        keep = None if keeper is None else partial(keeper.keep, restart, starts, algorithm, rng)
        fit = self._run(problem, begun, algorithm, reporter(self.verbose, restart, self._n_runs), keep)
        fit = replace(fit, starts=starts)
        if self.verbose:
            told = f"{fit.stop_reason} after {fit.n_iter} iterations, {prepared.engine} engine, {fit.seconds:.3f} s"
            print(f"{told}; {fit.work}", file=sys.stderr, flush=True)
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
        return [
            *notes_on(fit, self.n_components, self.max_iter, self.prior_strength),
            *rounded_columns(fit, self._column_names()),
            *relative_weights(fit, self._weight_factor),
        ]

    # Starts and algorithms --------------------------------------------------------------------------------------------

    def _start(
        self, problem: LearningProblem, rng: np.random.Generator, seen: Seen = slice(None), restart: int = 0
    ) -> Found:
        """Where to begin: what was given, a start of the kind asked for, or the best that a search finds."""
        if self.warm_start and hasattr(self, "mixture_"):
            return _given(self._from_mixture(problem, self.mixture_))
        if isinstance(self.init, Mixture):
            return _given(self._from_mixture(problem, self.init))
        if not isinstance(self.init, str):
            assert isinstance(problem, Problem)  # labels are refused for rows that are not at hand
            return _given(self._from_labels(problem, np.asarray(self.init), seen))
        k, named = self.n_components, None if self.init == "auto" else self.init
        if self.n_init == "auto" and k > 1 and not self._has_one_start and self._algorithm_name not in NO_SEARCH:
            return search(problem, k, rng, hard=self._hard, kind=named)
        if named is None:
            return single_start(problem, k, rng, restart, hard=self._hard)
        return Found(SEEDINGS[named](problem, k, rng), Starts({named: 1}, agreeing=1))

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

    @abstractmethod
    def _algorithm(self, rng: np.random.Generator) -> Algorithm:
        """The algorithm asked for."""
