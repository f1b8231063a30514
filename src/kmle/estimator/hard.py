"""The hard clusterer."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..assignment.problem import Problem
from ..assignment.rows import Rows
from ..assignment.sparse import SparseRows
from ..families import ExponentialFamily
from ..families.checking import check_sample_weight
from ..families.sparse import issparse
from ..inspection.diagnostics import OVERLAP
from ..learning import Algorithm, Exact, Fit, HardEM, Hartigan, KMLELloyd, Online, Swap
from ..learning.online import absorbed, warmed_up
from ..learning.state import State
from ..mixture import Mixture
from ..numerics.arrays import Array
from .arguments import entropy_of, weights_of, whole_number
from .shared import MixtureEstimator


class HardEstimator(MixtureEstimator):
    """`KMLE` without scikit-learn: learning, and what follows from it."""

    _online_state: State
    _online_problem: Problem
    _algorithms = ("k-mle", "hard-em", "hartigan", "swap", "exact", "online")

    def __init__(
        self,
        n_components: int = 8,
        *,
        family: str | ExponentialFamily = "gaussian",
        algorithm: str | Algorithm = "k-mle",
        init: str | ArrayLike | Mixture = "k-mle++",
        weights: str | ArrayLike | None = None,
        prior_strength: float = 1e-3,
        empty: str = "drop",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 0.0,
        batch_size: int = 1024,
        assignment: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.algorithm = algorithm
        self.init = init
        self.weights = weights
        self.prior_strength = prior_strength
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
        """Online k-MLE: the first batch seeds the mixture, every further one is assigned and added. y is ignored."""
        if not hasattr(self, "_online_state"):
            return self._first_batch(X, sample_weight)
        rows = self._legal(self._table(X, self.family_, reset=False))
        weights = check_sample_weight(weights_of(sample_weight, rows.shape[0]), rows.shape[0])
        problem = self._online_problem
        batch: Rows | SparseRows
        if issparse(rows):
            batch = SparseRows(self.family_, rows, weights)
        else:
            batch = Rows(self.family_, rows, weights, problem.rows.origin)
        self._online_state = absorbed(problem, batch, self._online_state)
        return self._take_online(rows)

    def _first_batch(self, X: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        rows, weights = self._checked_data(X, sample_weight)
        self._checked_arguments(rows.shape[0])
        problem = Problem(self.family_, rows, weights, self._prior_strength(), self._prescribed_weights())
        rng = np.random.default_rng(entropy_of(self.random_state))
        self._online_state = warmed_up(problem, problem.rows, self._start(problem, rng))
        self._online_problem = problem.without_rows()
        return self._take_online(rows)

    def _take_online(self, rows: Array) -> Self:
        self.mixture_ = self._online_problem.to_mixture(self._online_state.parameters)
        self.weights_ = self.mixture_.weights
        self.labels_ = self.mixture_.predict(rows)
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        return self
