"""A mixture as an immutable value: a family, weights and natural parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..families import ComponentFamilies, ExponentialFamily, Member, resolve
from ..families.component_lists import component_families
from ..numerics.arrays import Array
from .files import columns_from_dict, parameters_from_dict, parameters_to_dict, parsed_json
from .queries import Queries


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Queries):
    """A mixture sum_j weights_j p(x; natural_j): an immutable value with density, posterior, samples and a file format.

    Parameters
    ----------
    family : ExponentialFamily
        The family of the components; a `ComponentFamilies` where they differ.
    weights : array (k,)
        The weights, which sum to one.
    natural : array (k, D)
        The natural parameters.
    columns : sequence of str, default=None
        The names of the columns, by which `marginal` and `condition` find them.
    categories : mapping of str to sequence, default=None
        The names of the categories of columns, in the order of the codes that stand for them.

    Examples
    --------
    >>> mixture = Mixture.from_source("poisson", [0.25, 0.75], rate=[1.0, 8.0])
    >>> mixture.predict([[0], [9]])
    array([0, 1])
    """

    family: ExponentialFamily
    weights: Array
    natural: Array
    columns: tuple[str, ...] | None = None
    categories: Mapping[str, tuple[Any, ...]] | None = None

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
        if self.columns is not None:
            object.__setattr__(self, "columns", _checked_names(self.columns, family.n_features))

    @staticmethod
    def from_source(family: str | ExponentialFamily, weights: ArrayLike, **source: ArrayLike) -> Mixture:
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

    @staticmethod
    def from_members(weights: ArrayLike, members: Sequence[Member]) -> Mixture:
        """Makes a mixture of distributions that may be of different families, without a fit.

        Parameters
        ----------
        weights : array (k,)
            The weights.
        members : sequence of Member
            The distributions, one for each weight; those of one family may come together.

        Returns
        -------
        Mixture
            The mixture.

        Examples
        --------
        >>> from kmle.families import Gaussian, Laplace
        >>> parts = [Gaussian().member(mean=[[0.0]], covariance=[[[1.0]]]), Laplace(5.0).member(scale=[2.0])]
        >>> Mixture.from_members([0.3, 0.7], parts).family.name
        'gaussian,laplace'
        """
        each = [(member.family, natural) for member in members for natural in member.natural]
        if not each:
            raise ValueError("a mixture needs at least one component: give at least one member")
        family = component_families(family for family, _ in each)
        listed = family.natural_of(each) if isinstance(family, ComponentFamilies) else [theta for _, theta in each]
        return Mixture(family, np.asarray(weights, dtype=float), np.asarray(listed))

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
        """Returns the number of free parameters; prescribed weights are not free.

        Parameters
        ----------
        prescribed_weights : bool, default=False
            Whether the weights are prescribed.

        Returns
        -------
        int
            The number.
        """
        free_weights = 0 if prescribed_weights else self.n_components - 1
        return self.family.n_parameters_for(self.n_components) + free_weights

    @property
    def source(self) -> dict[str, Array]:
        """The usual parameters of the components; the first axis counts components."""
        return self.family.source_from_natural(self.natural)

    @property
    def members(self) -> list[Member]:
        """The components one by one, each with its own family."""
        if isinstance(self.family, ComponentFamilies):
            return [Member(family, theta[None]) for family, theta in self.family.members(self.natural)]
        return [Member(self.family, theta[None]) for theta in self.natural]

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
        return Mixture, (self.family, self.weights, self.natural, self.columns)

    def __repr__(self) -> str:
        if isinstance(self.family, ComponentFamilies):
            each = [f"{_shown(w)} {member}" for w, member in zip(self.weights, self.members, strict=True)]
            return f"Mixture of {self.n_components}: " + ", ".join(each)
        with np.printoptions(formatter={"float_kind": _shown}, threshold=12, edgeitems=2):
            parts = [f"weights={self.weights}"] + [
                f"{name}={np.vectorize(_rounded)(value).tolist() if value.size <= 8 else value}"
                for name, value in self.source.items()
            ]
        return f"Mixture of {self.n_components} {self.family.name}: " + ", ".join(" ".join(p.split()) for p in parts)

    def _repr_html_(self) -> str:
        """The components in a table beside a plot, for notebooks."""
        from ..presentation.notebook import mixture_html  # only notebooks need it

        return mixture_html(self)

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
        """Returns plain numbers and strings, ready for JSON; every float keeps all its digits.

        Returns
        -------
        dict
            The family, weights and parameters by name.
        """
        return parameters_to_dict(self.family, self.weights, self.natural, self.columns)

    def to_json(self) -> str:
        """Returns the mixture as JSON text.

        Returns
        -------
        str
            The text of a model file.
        """
        return json.dumps(self.to_dict(), allow_nan=False)

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Mixture:
        """Reads the output of `to_dict`; other content is a ValueError that names the problem.

        Parameters
        ----------
        content : mapping
            The content.

        Returns
        -------
        Mixture
            The mixture.
        """
        family, weights, natural = parameters_from_dict(content)
        try:
            mixture = Mixture(family, weights, natural)
            with np.errstate(all="ignore"):
                legal = np.isfinite(family.log_normalizer(mixture.natural)).all()
                family.source_from_natural(mixture.natural)
        except (TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"the family in the model file cannot be built: {error}") from None
        if not legal:
            raise ValueError(f"the natural parameters in the model file are outside those of {family.name}")
        return mixture.with_columns(columns_from_dict(content, mixture.family.n_features))

    @staticmethod
    def from_json(text: str) -> Mixture:
        """Reads the output of `to_json`; it never executes anything.

        Parameters
        ----------
        text : str
            The text of a model file.

        Returns
        -------
        Mixture
            The mixture.
        """
        return Mixture.from_dict(parsed_json(text))


def _checked_names(columns: Sequence[str], width: int | None) -> tuple[str, ...]:
    names = tuple(columns)
    if len(names) != width or len(set(names)) != width or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns is {list(names)}: {width} different names are needed")
    return names


def _shown(value: Any) -> str:
    return f"{_rounded(value):.12g}"


def _rounded(value: float) -> float:
    """Four decimals, or four significant digits of what is smaller: a tiny variance is not shown as zero."""
    return float(f"{value:.3e}") if abs(value) < 1e-3 else round(float(value), 4)
