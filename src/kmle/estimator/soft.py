"""The density model."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..families import ExponentialFamily
from ..learning import Algorithm, SoftEM
from ..mixture import Mixture
from .arguments import whole_number
from .shared import MixtureEstimator


class SoftEstimator(MixtureEstimator):
    """`ExponentialFamilyMixture` without scikit-learn: learning, and what follows from it."""

    _algorithms = ("em", "sparse-em")

    def __init__(
        self,
        n_components: int = 1,
        *,
        family: str | ExponentialFamily = "gaussian",
        algorithm: str | Algorithm = "em",
        n_kept: int = 2,
        init: str | ArrayLike | Mixture = "auto",
        weights: str | ArrayLike | None = None,
        prior_strength: float = 1e-3,
        resolution: str | float | ArrayLike | None = "auto",
        empty: str = "drop",
        n_init: int | str = "auto",
        max_iter: int = 1000,
        tol: float | str = "auto",
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
        self.n_kept = n_kept
        self.init = init
        self.weights = weights
        self.prior_strength = prior_strength
        self.resolution = resolution
        self.empty = empty
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.assignment = assignment
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.resume = resume

    def _checked_arguments(self, n_rows: int) -> None:
        super()._checked_arguments(n_rows)
        whole_number("n_kept", self.n_kept, 1)

    def _algorithm(self, rng: np.random.Generator) -> Algorithm:
        if not isinstance(self.algorithm, str):
            return self.algorithm
        return SoftEM() if self.algorithm == "em" else SoftEM(self.n_kept, name="sparse-em")

    def fit_predict(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.integer[Any]]:
        """Fits the mixture and returns the most probable component of each row. y is ignored."""
        return self.fit(X, sample_weight=sample_weight).labels_
