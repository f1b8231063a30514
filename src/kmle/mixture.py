"""A mixture as an immutable value: a family, weights and natural parameters."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._kernels import ColumnSummary, shared_summaries, summarize_columns
from .engines.score import Check, Scorer, scorer_of
from .families import ExponentialFamily, resolve
from .families.serialization import family_from_dict, family_to_dict
from .families.sparse import check_sparse, issparse
from .families.validation import check_shape, check_values
from .numerics.arrays import Array
from .numerics.threads import available_threads

FORMAT, VERSION = "kmle-mixture", 1


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """A mixture sum_j weights_j p(x; natural_j): an immutable value with density, posterior, samples and a file format.

    Parameters
    ----------
    family : ExponentialFamily
        The family of the components.
    weights : array (k,)
        The weights, which sum to one.
    natural : array (k, D)
        The natural parameters.

    Examples
    --------
    >>> mixture = Mixture.from_source("poisson", [0.25, 0.75], rate=[1.0, 8.0])
    >>> mixture.predict([[0], [9]])
    array([0, 1])
    """

    family: ExponentialFamily
    weights: Array
    natural: Array

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=float)
        natural = np.array(self.natural, dtype=float, ndmin=2)
        if weights.ndim != 1 or len(weights) == 0 or natural.shape[0] != len(weights):
            raise ValueError(f"weights of shape {weights.shape} do not fit {natural.shape[0]} components")
        if not np.isfinite(weights).all() or (weights < 0).any() or not abs(weights.sum() - 1) <= 1e-6:
            raise ValueError(f"the weights must be positive and sum to one; their sum is {weights.sum():.6g}")
        if not np.isfinite(natural).all():
            raise ValueError("the natural parameters hold a value that is not finite")
        family = self.family
        if family.n_features is None:
            family = replace(family, **family.fixed_from_n_statistics(natural.shape[1]))
        if natural.shape[1] != family.n_statistics:
            raise ValueError(
                f"{family.name} on {family.n_features} columns has {family.n_statistics} natural coordinates; "
                f"these have {natural.shape[1]}"
            )
        # Only what is more than rounding is divided out, so that a mixture read from a file is the one written.
        if abs(weights.sum() - 1) > len(weights) * np.finfo(float).eps:
            weights /= weights.sum()
        weights.setflags(write=False)
        natural.setflags(write=False)
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "natural", natural)

    @staticmethod
    def from_source(family: str | ExponentialFamily, weights: ArrayLike, **source: ArrayLike) -> "Mixture":
        """Makes a mixture from the usual parameters, without a fit.

        Parameters
        ----------
        family : str or ExponentialFamily
            The family.
        weights : array (k,)
            The weights.
        **source
            The usual parameters by name; their first axis counts components.

        Returns
        -------
        Mixture
            The mixture.
        """
        members = resolve(family).member(**source)
        return Mixture(members.family, np.asarray(weights, dtype=float), members.natural)

    # Reading ----------------------------------------------------------------------------------------------------------

    @property
    def n_components(self) -> int:
        """The number of components k."""
        return len(self.weights)

    @property
    def n_parameters(self) -> int:
        """Free parameters: those of every component, and all weights but one."""
        return self.count_parameters()

    def count_parameters(self, prescribed_weights: bool = False) -> int:
        """Returns the number of free parameters; prescribed weights are not free."""
        free_weights = 0 if prescribed_weights else self.n_components - 1
        return self.n_components * self.family.n_parameters + free_weights

    @property
    def source(self) -> dict[str, Array]:
        """The usual parameters of the components; the first axis counts components."""
        return self.family.source_from_natural(self.natural)

    @property
    def moment(self) -> Array:
        """The moment parameters (k, D)."""
        return self.family.moment_from_natural(self.natural)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        same = self.family == other.family and np.array_equal(self.weights, other.weights)
        return bool(same and np.array_equal(self.natural, other.natural))

    def __hash__(self) -> int:
        return hash((self.family, self.weights.tobytes(), self.natural.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles are made anew: an array does not take along that it must not be written to.
        return Mixture, (self.family, self.weights, self.natural)

    def __repr__(self) -> str:
        with np.printoptions(formatter={"float_kind": _shown}, threshold=12, edgeitems=2):
            parts = [f"weights={self.weights}"] + [
                f"{name}={np.vectorize(_rounded)(value).tolist() if value.size <= 8 else value}"
                for name, value in self.source.items()
            ]
        return f"Mixture of {self.n_components} {self.family.name}: " + ", ".join(" ".join(p.split()) for p in parts)

    # Densities --------------------------------------------------------------------------------------------------------
    #
    # All of them on the passes that fits are made of, and block by block: beside the outcome little memory is needed.
    # `n_threads` is how many threads to use at most; None is as many as this process may use.

    def log_joint(self, X: ArrayLike, n_threads: int | None = None) -> Array:
        """Returns log(weights_j p(x_i; natural_j)).

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        n_threads : int, default=None
            The maximum number of threads; None is all that this process may use.

        Returns
        -------
        array (n, k)
            The logarithms.
        """
        return self._reported(X, "scores", n_threads)

    def log_density(self, X: ArrayLike, n_threads: int | None = None, columns: list[str] | None = None) -> Array:
        """Returns the log-density of each row.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        n_threads : int, default=None
            The maximum number of threads; None is all that this process may use.
        columns : list of str, default=None
            The names of the columns, for error messages.

        Returns
        -------
        array (n,)
            The log-densities.
        """
        return self._reported(X, "log_sums", n_threads, columns)

    def complete_log_likelihood(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None, n_threads: int | None = None
    ) -> float:
        """Returns the weighted sum over the rows of the largest log(weights_j p(x; natural_j)).

        Parameters
        ----------
        X : array (n, d) or CSR array
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
        largest = self._reported(X, "tops", n_threads)
        return float(largest.sum() if sample_weight is None else np.asarray(sample_weight, dtype=float) @ largest)

    def log_likelihoods(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None, n_threads: int | None = None
    ) -> tuple[float, float]:
        """Returns the log-likelihood and the complete log-likelihood, computed in one pass.

        Parameters
        ----------
        X : array (n, d) or CSR array
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
        rows, scorer, check = self._scorer(X, n_threads, None)
        found = scorer.scores(rows, "log_sums", "tops", check=check)
        weights = np.ones(rows.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        assert found.log_sums is not None  # both were asked for
        assert found.tops is not None
        return float(weights @ found.log_sums), float(weights @ found.tops)

    def posterior(self, X: ArrayLike, n_threads: int | None = None, columns: list[str] | None = None) -> Array:
        """Returns the probability of each component given the row.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        n_threads : int, default=None
            The maximum number of threads.
        columns : list of str, default=None
            The names of the columns, for error messages.

        Returns
        -------
        array (n, k)
            The probabilities.
        """
        return self._reported(X, "shares", n_threads, columns)

    def predict(self, X: ArrayLike, n_threads: int | None = None, columns: list[str] | None = None) -> NDArray[np.intp]:
        """Returns the most probable component of each row, the lowest index on a tie.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        n_threads : int, default=None
            The maximum number of threads.
        columns : list of str, default=None
            The names of the columns, for error messages.

        Returns
        -------
        array of int (n,)
            The labels.
        """
        rows, scorer, check = self._scorer(X, n_threads, columns)
        return scorer.labels(rows, check).astype(np.intp)

    def _scorer(self, X: ArrayLike, n_threads: int | None, columns: list[str] | None) -> tuple[Any, Scorer, Check]:
        """The rows, the components ready to score them, and what refuses rows that are not legal."""
        threads = available_threads() if n_threads is None else n_threads
        rows: Any = check_sparse(self.family, X) if issparse(X) else check_shape(self.family, X)

        def check(seen: ColumnSummary | None) -> None:
            if issparse(X):
                return
            with shared_summaries(threads, nested=True):
                check_values(self.family, rows, summarize_columns(rows) if seen is None else seen, columns)

        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        return rows, scorer_of(self.family, self.natural, log_weights, rows, threads), check

    def _reported(self, X: ArrayLike, name: str, n_threads: int | None, columns: list[str] | None = None) -> Array:
        rows, scorer, check = self._scorer(X, n_threads, columns)
        return np.asarray(getattr(scorer.scores(rows, name, check=check), name))

    # Samples ----------------------------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: Any = None) -> Array:
        """Draws n independent rows.

        Parameters
        ----------
        n : int
            The number of rows.
        random_state : int, Generator or None, default=None
            The seed.

        Returns
        -------
        array (n, d)
            The rows.
        """
        return self.sample_joint(n, random_state)[0]

    def sample_joint(self, n: int, random_state: Any = None) -> tuple[Array, NDArray[np.intp]]:
        """Draws n independent rows with the component of each.

        Parameters
        ----------
        n : int
            The number of rows.
        random_state : int, Generator or None, default=None
            The seed.

        Returns
        -------
        (array (n, d), array of int (n,))
            The rows and their components.
        """
        if n < 1:
            raise ValueError(f"n is {n}: at least one row must be drawn")
        rng = np.random.default_rng(random_state)
        labels = np.sort(rng.choice(self.n_components, n, p=self.weights))
        counts = np.bincount(labels, minlength=self.n_components)
        # Component by component: each distribution draws all its rows at once.
        rows = np.concatenate(
            [self.family.sample(theta, count, rng) for theta, count in zip(self.natural, counts, strict=True) if count]
        )
        order = rng.permutation(n)
        return rows[order], labels[order]

    # Files ------------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers and strings, ready for JSON; every float keeps all its digits."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "family": family_to_dict(self.family),
            "weights": self.weights.tolist(),
            "natural": self.natural.tolist(),
        }

    def to_json(self) -> str:
        """Returns the mixture as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> "Mixture":
        """Reads the output of `to_dict`; other content is a ValueError that names the problem."""
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise ValueError(f"not a {FORMAT} file: its 'format' is different or missing")
        version = content.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise ValueError("the model file has no version number")
        if version > VERSION:
            raise ValueError(
                f"the model file has version {version}; this version of kmle reads up to {VERSION}: update kmle"
            )
        missing = [key for key in ("family", "weights", "natural") if key not in content]
        if missing:
            raise ValueError(f"the model file lacks {', '.join(missing)}")
        weights, natural = _numbers(content, "weights", 1), _numbers(content, "natural", 2)
        try:
            family = family_from_dict(content["family"])
            mixture = Mixture(family, weights, natural)
            with np.errstate(all="ignore"):
                legal = np.isfinite(family.log_normalizer(mixture.natural)).all()
                family.source_from_natural(mixture.natural)
        except (TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"the family in the model file cannot be built: {error}") from None
        if not legal:
            raise ValueError(f"the natural parameters in the model file are outside those of {family.name}")
        return mixture

    @staticmethod
    def from_json(text: str) -> "Mixture":
        """Reads the output of `to_json`; it never executes anything."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the model file is not JSON: {error}") from None
        return Mixture.from_dict(content)


def _numbers(content: Mapping[str, Any], key: str, dimensions: int) -> Array:
    """The table of plain numbers under `key`: no words, no truth values, no missing entries."""
    try:
        table = np.array(content[key])
    except ValueError:  # rows of different lengths
        table = np.array(None)
    if table.dtype.kind not in "iuf" and table.size:
        raise ValueError(f"'{key}' in the model file is not a table of numbers")
    if table.ndim != dimensions or table.size == 0:
        raise ValueError(f"'{key}' in the model file has the wrong shape {table.shape}")
    return table.astype(float)


def _shown(value: Any) -> str:
    return f"{_rounded(value):.12g}"


def _rounded(value: float) -> float:
    """Four decimals, or four significant digits of what is smaller: a tiny variance is not shown as zero."""
    return float(f"{value:.3e}") if abs(value) < 1e-3 else round(float(value), 4)
