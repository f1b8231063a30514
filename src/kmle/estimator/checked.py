"""What estimators ask of their arguments and data, before any work is done."""

from abc import ABC
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..assignment.choose import ENGINES
from ..families import ExponentialFamily, resolve
from ..families.checking import as_rows, check_learnable, check_sample_weight, unmasked
from ..families.resolution import Asked
from ..families.sparse import check_sparse, issparse
from ..families.support import PositiveDefinite
from ..learning import Algorithm, Exact, Online
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..seeding import SEEDINGS
from .arguments import weights_of, whole_number
from .chunks import Looked, check_algorithm, looked


class CheckedEstimator(ABC):
    """The arguments every estimator takes, and what they and the data must be like."""

    _algorithms: tuple[str, ...] = ()
    _hard: bool = False

    # Arguments every estimator takes; scikit-learn wants each to store them in its own __init__.
    n_components: int
    family: str | ExponentialFamily
    algorithm: str | Algorithm
    init: str | ArrayLike | Mixture
    weights: str | ArrayLike | None
    prior_strength: float
    resolution: str | float | ArrayLike | None
    empty: str
    n_init: int | str
    max_iter: int
    tol: float | str
    assignment: str
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    checkpoint: str | PathLike[str] | None
    resume: bool

    family_: ExponentialFamily
    # What sample weights were multiplied by, to count rows.
    _weight_factor: float = 1.0

    @property
    def _algorithm_name(self) -> str:
        return self.algorithm if isinstance(self.algorithm, str) else self.algorithm.name

    def _may_compress(self) -> bool:
        """Rows that carry labels of their own, or come one after the other, are not merged into distinct ones."""
        online = isinstance(self.algorithm, Online) or self.algorithm == "online"
        return isinstance(self.init, str | Mixture) and not online

    def _checked_data(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array | None]:
        """Legal rows and weights; settles `family_`."""
        family = resolve(self.family)
        rows = self._table(X, family, reset=True)
        self.family_ = family.for_data(rows)
        rows = self._legal(rows)
        if not issparse(rows):
            check_learnable(self.family_, rows, self._column_names())
        n_rows = rows.shape[0]
        given = weights_of(sample_weight, n_rows)
        weights = check_sample_weight(given, n_rows)
        self._weight_factor = 1.0 if weights is None else float(weights.sum() / np.sum(np.asarray(given, dtype=float)))
        return rows, weights

    def _looked(self, X: Any, sample_weight: Any) -> Looked:
        """The first look at data in chunks; settles `family_` and what there is to know of the columns."""
        check_algorithm(self._algorithm_name)
        if not isinstance(self.init, str | Mixture):
            raise ValueError("init as labels needs the rows in memory: on chunks give a name or a Mixture")
        chunks = looked(X, sample_weight, resolve(self.family), self._may_compress())
        self._weight_factor = chunks.weight_factor
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

        X = unmasked(X)
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
        if self.n_init != "auto":
            whole_number("n_init", self.n_init, 1, " or 'auto'")
        whole_number("max_iter", self.max_iter, 1)
        for name in ("tol", "prior_strength"):
            value = getattr(self, name)
            if name == "tol" and value == "auto":
                continue
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
        if isinstance(self.init, str) and self.init not in ("auto", *SEEDINGS):
            raise ValueError(
                f"init is {self.init!r}: it must be one of auto, {', '.join(SEEDINGS)}, labels of rows, or a Mixture"
            )

    def _asked_resolution(self) -> Asked:
        """ "auto", None, or the step of each column."""
        if self._is_exact:
            return None
        if self.resolution is None or (isinstance(self.resolution, str) and self.resolution == "auto"):
            return self.resolution
        width = self.family_.n_features or 1
        try:
            steps = np.broadcast_to(np.asarray(self.resolution, dtype=float), (width,))
        except (TypeError, ValueError):
            raise ValueError(
                f"resolution is {self.resolution!r}: it must be 'auto', None, one step, or {width} of them"
            ) from None
        if not np.isfinite(steps).all() or (steps < 0).any():
            raise ValueError(f"resolution is {self.resolution!r}: steps must be numbers, zero or more")
        return steps

    def _prior_strength(self) -> float:
        return 0.0 if self._is_exact else float(self.prior_strength)

    @property
    def _is_exact(self) -> bool:
        """The exact optimum is of the plain likelihood."""
        return isinstance(self.algorithm, Exact) or self.algorithm == "exact"

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
