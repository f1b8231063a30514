"""What every family writes: its fixed parameters, and one formula for each of the arrows of the theory.

A family is a frozen dataclass whose fields are *fixed* parameters (trials, a known shape, the number of columns);
it holds no estimated values. Parameters are float arrays (k, D), one row per component, data are rows (n, d), and every
formula is vectorised over all leading axes. A distribution of the family has log-density

    <t(x), theta> - F(theta) + k(x),

theta being its natural parameter, and eta = E[t(x)] = grad F(theta) its moment parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from ..numerics.arrays import Array
from .support import Support


@dataclass(frozen=True)
class Formulas(ABC):
    """The formulas a family must give. Everything else is derived from them, once, in `derived.ExponentialFamily`."""

    n_features: int | None = field(default=None, kw_only=True)
    """Number of columns; None means "as many as the data has" (`for_data` fills it in)."""

    independent_columns: ClassVar[bool] = False
    """True for a univariate family: d columns are then d independent copies, statistics stored block by block."""

    ordered_cells: ClassVar[bool] = False
    """True for a univariate family with two statistics if the log ratio of two distributions has at most one extremum
    in x.
    """

    sparse: ClassVar[bool] = False
    """True if t(x) = x and zeros are legal, so that scipy.sparse rows are learned without being filled in."""

    fixed: ClassVar[Mapping[str, Support]] = MappingProxyType({})
    """The fields that are numbers, each with the values it may take."""

    # Declared -----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def name(self) -> str:
        """Short name: lower case with hyphens."""

    @property
    def full_name(self) -> str:
        """The name; of columns of different kinds the names of their families."""
        return self.name

    @property
    @abstractmethod
    def support(self) -> Support:
        """Where the data may lie."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Support]:
        """The usual parameters by their usual names, each with the values it may take."""

    @abstractmethod
    def n_statistics_for(self, n_features: int) -> int:
        """Returns the length D of t(x).

        Parameters
        ----------
        n_features : int
            The number of columns.

        Returns
        -------
        int
            The number of statistics of a row, which is that of natural parameters.
        """

    @property
    def exponential(self) -> bool:
        """False for families with estimated shapes and others that are no exponential families (`coordinates.py`)."""
        return True

    # The formulas -------------------------------------------------------------------------------------------------

    @abstractmethod
    def sufficient_statistic(self, X: Array) -> Array:
        """Returns the statistics t(x) of rows, packed so that t @ theta is the inner product.

        Parameters
        ----------
        X : array (n, d)
            Rows in the support.

        Returns
        -------
        array (n, D)
            The statistics of each row.
        """

    @abstractmethod
    def log_normalizer(self, natural: Array) -> Array:
        """Returns F(theta), the logarithm of the factor that makes a density integrate to one.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k,)
            F of each distribution; NaN or infinite outside of the natural parameter space.
        """

    @abstractmethod
    def moment_from_natural(self, natural: Array) -> Array:
        """Returns the moment parameters eta = grad F(theta).

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k, D)
            The mean of t(x) under each distribution.
        """

    @abstractmethod
    def natural_from_moment(self, moment: Array) -> Array:
        """Returns the natural parameters theta = grad F*(eta).

        This is the maximum-likelihood estimate when eta is the mean of t(x) over data.

        Parameters
        ----------
        moment : array (k, D)
            Moment parameters: the means of t(x).

        Returns
        -------
        array (k, D)
            Natural parameters.
        """

    @abstractmethod
    def natural_from_source(self, *args: Any, **source: Any) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        *args
            Nothing: the usual parameters have names.
        **source : arrays
            The usual parameters by name; their first axis counts distributions.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """

    @abstractmethod
    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        """Returns the usual parameters of distributions.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        dict of arrays
            The usual parameters by name; their first axis counts distributions.
        """

    @abstractmethod
    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        """Draws rows from one distribution.

        Parameters
        ----------
        natural : array (D,)
            The natural parameters of the distribution.
        size : int
            The number of rows.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        array (size, d)
            The rows.
        """

    # Optional: what only some families need. The defaults say "nothing special". ------------------------------------

    def log_carrier(self, X: Array) -> Array:
        """Returns k(x), what the log-density has beside <t(x), theta> - F(theta); zero unless a family says otherwise.

        Parameters
        ----------
        X : array (n, d)
            Rows in the support.

        Returns
        -------
        array (n,)
            The value at each row.
        """
        return np.zeros(X.shape[:-1])

    def mean_log_carrier(self, natural: Array) -> Array:
        """Returns E[k(x)].

        A closed form, or `return self.integrate_log_carrier(natural)` for families of one column.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k,)
            The mean under each distribution.
        """
        return np.zeros(natural.shape[:-1])

    @property
    def has_carrier(self) -> bool:
        """Whether k(x) is anything but zero."""
        return type(self).log_carrier is not Formulas.log_carrier

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        """Returns the fixed parameters that were left open and that this data determines, such as the number of
        columns.

        Parameters
        ----------
        X : array (n, d)
            The rows.

        Returns
        -------
        dict
            Fixed parameters by name.
        """
        return {"n_features": X.shape[1]} if self.n_features is None else {}

    def merge(self, other: Self) -> Self:
        """Returns one family for two sets of rows of which each has determined its own fixed parameters.

        Parameters
        ----------
        other : ExponentialFamily
            The family of the other rows.

        Returns
        -------
        ExponentialFamily
            The family with the fixed parameters of both.
        """
        if self != other:
            raise ValueError(
                f"chunks of the data give different families, {self} and {other}: give the fixed parameters yourself"
            )
        return self

    def fixed_from_n_statistics(self, order: int) -> dict[str, Any]:
        """Returns the fixed parameters that were left open and that the length of natural parameters determines.

        Parameters
        ----------
        order : int
            The length D.

        Returns
        -------
        dict
            Fixed parameters by name.
        """
        if self.n_features is not None:
            return {}
        # Flattened matrices are the widest rows for their order: p * p columns, at least p (p + 1) / 2 coordinates.
        for n_features in range(1, 2 * order + 1):
            try:
                if self.n_statistics_for(n_features) == order:
                    return {"n_features": n_features}
            except ValueError:  # not every number of columns is one a family can have
                continue
        raise ValueError(f"no number of columns gives {self.name} {order} natural coordinates")

    @property
    def redundancy(self) -> int:
        """How many of the D natural coordinates are not free (a category's probability follows from the others)."""
        return 0

    def n_parameters_for(self, n_components: int) -> int:
        """Returns the number of free parameters of several components, without their weights.

        Parameters
        ----------
        n_components : int
            The number of components.

        Returns
        -------
        int
            The number.
        """
        return n_components * (self.n_statistics_for(self.n_features or 1) - self.redundancy)
