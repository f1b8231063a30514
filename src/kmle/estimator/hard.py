"""The hard clusterer."""

import time
from collections.abc import Iterator
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..assignment.problem import Problem
from ..assignment.rows import Rows
from ..assignment.sparse import SparseRows
from ..execution import Chunk, is_streamed
from ..execution.batches import chunks_of, with_large_first
from ..families import ExponentialFamily, resolve
from ..families.checking import check_weights
from ..families.sparse import issparse
from ..inspection.diagnostics import OVERLAP
from ..learning import Algorithm, Exact, Fit, HardEM, Hartigan, KMLELloyd, Online, Swap
from ..learning.online import absorbed, warmed_up
from ..learning.state import DATA_USED_UP, HalfStep, State
from ..mixture import Mixture
from ..numerics.arrays import Array
from .arguments import entropy_of, threads_of, weights_of, whole_number
from .chunks import opened
from .shared import MixtureEstimator


class HardEstimator(MixtureEstimator):
    """`KMLE` without scikit-learn: learning, and what follows from it."""

    _online_state: State
    _online_problem: Problem
    _hard = True
    _algorithms = ("k-mle", "hard-em", "hartigan", "swap", "exact", "online")

    def __init__(
        self,
        n_components: int = 8,
        *,
        family: str | ExponentialFamily = "gaussian",
        algorithm: str | Algorithm = "k-mle",
        init: str | ArrayLike | Mixture = "auto",
        weights: str | ArrayLike | None = None,
        prior_strength: float = 1e-3,
        resolution: str | float | ArrayLike | None = "auto",
        empty: str = "drop",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float | str = "auto",
        batch_size: int = 1024,
        assignment: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.algorithm = algorithm
        self.init = init
        self.weights = weights
        self.prior_strength = prior_strength
        self.resolution = resolution
        self.empty = empty
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.assignment = assignment
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.resume = resume

    def _checked_arguments(self, n_rows: int) -> None:
        super()._checked_arguments(n_rows)
        whole_number("batch_size", self.batch_size, 1)

    def _algorithm(self, rng: np.random.Generator) -> Algorithm:
        if not isinstance(self.algorithm, str):
            return self.algorithm
        reseed = self.empty == "reseed"
        kinds: dict[str, Algorithm] = {
            "k-mle": KMLELloyd(reseed),
            "hard-em": HardEM(reseed),
            "hartigan": Hartigan(reseed),
            "swap": Swap(rng, reseed=reseed),
            "exact": Exact(),
            "online": Online(rng, self.batch_size),
        }
        return kinds[self.algorithm]

    def _notes(self, fit: Fit) -> list[str]:
        notes = super()._notes(fit)
        if fit.mean_entropy > OVERLAP:
            notes.append(
                f"The components overlap (mean posterior entropy {fit.mean_entropy:.2f} nats): a hard fit pulls their "
                "parameters apart. ExponentialFamilyMixture removes that bias."
            )
        return notes

    def partial_fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Online k-MLE: the first batch seeds the mixture, every further one is assigned and added. y is ignored.

        `sample_weight` counts rows, also where the weights of a batch sum to less than its rows.
        X may also be an iterator, `Batches`, or whatever else gives several batches: they are taken one by one.
        """
        if is_streamed(X):
            for chunk in self._batches(X):
                self.partial_fit(chunk.X, sample_weight=chunk.weights)
            return self
        if not hasattr(self, "_online_state"):
            return self._first_batch(X, sample_weight)
        rows = self._legal(self._table(X, self.family_, reset=False))
        given = weights_of(sample_weight, rows.shape[0])
        weights = None if given is None else check_weights(given, rows.shape[0])
        problem = self._online_problem
        batch: Rows | SparseRows
        if issparse(rows):
            batch = SparseRows(self.family_, rows, weights)
        else:
            batch = Rows(self.family_, rows, weights, problem.rows.origin)
        self._online_state = absorbed(problem, batch, self._online_state)
        return self._take_online(rows)

    def _batches(self, X: Any) -> Iterator[Chunk]:
        """The batches of a stream; where a mixture is still to be seeded the first is large enough for that."""
        needed = 0 if hasattr(self, "_online_state") else max(self.batch_size, 10 * self.n_components)
        return with_large_first(chunks_of(opened(X), resolve(self.family)), needed)

    def _one_pass(self, X: Any) -> Self:
        """Learns from a stream that is read once; its likelihoods are of each batch before it was learned from.

        Several starts are compared on the first batch, and the best one goes on.
        """
        if self.checkpoint is not None:
            raise ValueError(
                "a stream that is read once leaves no checkpoint: keep the model between calls of partial_fit, or give "
                "the rows as a Dask array or in memory"
            )
        for name in ("_online_state", "n_iter_"):
            self.__dict__.pop(name, None)
        began, n, densities = time.perf_counter(), 0.0, np.zeros(2)
        for chunk in self._batches(X):
            known = hasattr(self, "_online_state")
            if not known:
                self.partial_fit(chunk.X, sample_weight=chunk.weights)
            rows = self._legal(self._table(chunk.X, self.family_, reset=False))
            densities += self.mixture_.log_likelihoods(rows, chunk.weights, threads_of(self.n_jobs))
            n += float(len(chunk) if chunk.weights is None else chunk.weights.sum())
            if known:
                self.partial_fit(chunk.X, sample_weight=chunk.weights)
        state = self._online_state
        self._take(
            Fit(
                mixture=self.mixture_,
                labels=np.zeros(0, dtype=np.int32),
                history=(HalfStep("all batches", float(densities[1])),),
                n_iter=self.n_iter_,
                stop_reason=DATA_USED_UP,
                died=tuple(int(j) for j in np.flatnonzero(~state.parameters.alive)),
                seconds=time.perf_counter() - began,
                objective=float(densities[1]),
                complete_log_likelihood=float(densities[1]),
                log_likelihood=float(densities[0]),
                mean_entropy=0.0,
                algorithm="online",
                engine="stream read once",
                prior_strength=self._prior_strength(),
                n_kept=None,
                n=n,
                prescribed_weights=self.weights is not None,
            )
        )
        self.notes_.append("One pass: likelihoods are of each batch under the mixture before it was learned from.")
        return self

    def _first_batch(self, X: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        rows, weights = self._checked_data(X, sample_weight)
        if weights is not None:
            weights = weights / self._weight_factor  # batches that follow cannot know what the first ones sum to
        self._checked_arguments(rows.shape[0])
        rng = np.random.default_rng(entropy_of(self.random_state))
        problem = Problem(
            self.family_,
            rows,
            weights,
            self._prior_strength(),
            self._prescribed_weights(),
            n_components=self.n_components,
            sampling=rng.spawn(1)[0],
            resolution=self._asked_resolution(),
        )
        starts = [self._start(problem, rng, restart=restart).parameters for restart in range(self._n_runs)]
        states = [warmed_up(problem, problem.rows, problem.with_prescribed(start)) for start in starts]
        self._online_state = max(states, key=lambda state: state.objective)
        self._online_problem = problem.without_rows()
        return self._take_online(rows)

    def _take_online(self, rows: Array) -> Self:
        self.mixture_ = self._online_problem.to_mixture(self._online_state.parameters)
        self.weights_ = self.mixture_.weights
        self.labels_ = self.mixture_.predict(rows)
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        return self
