"""What follows from a family's formulas, derived once for all: sizes, checks, members, estimates, log-densities.

Natural and moment parameters are (..., D) arrays. `divergences` and `expectations` hold the rest of what is derived.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._kernels import CompressedRows
from ..numerics.arrays import Array
from .centroids import Centroids
from .holding import check_held
from .layout import slices
from .member import Member
from .sparse import as_csr, check_sparse
from .validation import as_rows, check_fixed, check_parameters, check_rows, check_sample_weight, issparse


@dataclass(frozen=True)
class ExponentialFamily(Centroids):
    """A family of distributions with log-density <t(x), theta> - F(theta) + k(x); see `contract` for what a subclass
    writes.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.
    """

    def __post_init__(self) -> None:
        check_fixed(self)

    # Shape ----------------------------------------------------------------------------------------------------------

    @final
    @property
    def n_statistics(self) -> int:
        """D, the number of natural coordinates."""
        if self.n_features is None:
            raise ValueError(f"{self.name} has no number of columns yet: use family.for_data(X)")
        return self.n_statistics_for(self.n_features)

    @final
    @property
    def n_parameters(self) -> int:
        """The number of free parameters of one distribution."""
        return self.n_statistics - self.redundancy

    @final
    def for_data(self, X: ArrayLike) -> Self:
        """Returns the family with the fixed parameters that this data determines, such as the number of columns.

        Parameters
        ----------
        X : array (n, d)
            The rows.

        Returns
        -------
        ExponentialFamily
            The family.
        """
        return replace(self, **self.fixed_from_data(as_csr(X) if issparse(X) else as_rows(self, X)))

    @final
    def check(self, X: ArrayLike, columns: list[str] | None = None, first_row: int = 0, missing: bool = False) -> Array:
        """Checks rows: the first one that is not legal raises an error that names its row and column.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        columns : list of str, default=None
            The names of the columns, for the error.
        first_row : int, default=0
            Where a part of larger data begins, for the error.
        missing : bool, default=False
            Whether entries may be NaN, where the family can learn from such rows.

        Returns
        -------
        array (n, d)
            The rows as numbers.
        """
        return check_rows(self, X, columns, first_row, missing=missing)[0]

    # Distributions ----------------------------------------------------------------------------------------------------

    @final
    def member(self, **source: ArrayLike) -> Member:
        """Returns the distributions with these usual parameters.

        Parameters
        ----------
        **source
            The usual parameters by name; their first axis counts distributions.

        Returns
        -------
        Member
            One or several distributions.

        Examples
        --------
        >>> from kmle.families import Poisson
        >>> Poisson().member(rate=3.0)
        poisson(rate=3)
        """
        usual = check_parameters(self, source)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            natural = self.natural_from_source(**usual)
        if self.n_features is not None and natural.shape[-1] != self.n_statistics:
            raise ValueError(
                f"{self.name} with {self.n_features} columns has {self.n_statistics} natural coordinates; these "
                f"parameters give {natural.shape[-1]} (their first axis counts distributions, then come the columns)"
            )
        family = replace(self, **self.fixed_from_n_statistics(natural.shape[-1]))
        check_held(family, usual, natural)
        return Member(family, natural)

    @final
    def mle(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Member:
        """Returns the maximum-likelihood distribution of the data.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice.

        Returns
        -------
        Member
            The distribution.
        """
        family = self.for_data(X)
        rows, summary = check_rows(family, X)
        weights = check_sample_weight(sample_weight, len(rows))
        if not family.exponential:
            return Member(family, family._estimated_alone(rows.astype(float, copy=False), weights))
        center = family.data_center(rows, weights, summary)
        moment = family.mean_statistic(rows, weights, center)
        return Member(family, family.natural_from_centered(moment[None], center, None))

    @final
    def natural_from_centered(self, moment: Array, center: Array | None, spread: Array | None) -> Array:
        """Returns natural parameters for the moments of rows that are measured from a point.

        Parameters
        ----------
        moment : array (k, D)
            The means of t(x) over `centered_rows(X, center)`.
        center : array (d,), default=None
            The point that rows are measured from; None for zero.
        spread : array (d,), default=None
            How narrow components may be in the data's own columns; None where nothing bounds them.

        Returns
        -------
        array (k, D)
            Natural parameters in the data's own coordinates.
        """
        if spread is None or not spread.any():
            natural = self.natural_from_moment(moment)
        else:
            narrow = spread if center is None else self.centered_spread(spread, center)
            natural = self.natural_with_spread(moment, narrow)
        return natural if center is None else self.natural_at_center(natural, center)

    def _estimated_alone(self, rows: Array, weights: Array | None) -> Array:
        """The most likely distribution (1, D) of legal rows, for families that are no exponential families."""
        raise NotImplementedError(f"{self.name} is estimated from its sufficient statistic")

    @final
    def log_density(self, X: ArrayLike, natural: ArrayLike) -> Array:
        """Returns the log-density of each row under each distribution.

        Parameters
        ----------
        X : array (n, d)
            The rows; they must be in the support.
        natural : array (k, D)
            Natural parameters.

        Returns
        -------
        array (n, k)
            The log-densities.
        """
        natural = np.atleast_2d(np.asarray(natural, dtype=float))
        if issparse(X):
            sparse_rows = check_sparse(self, X)
            scores = CompressedRows(sparse_rows).scores(natural, -self.log_normalizer(natural))
            return scores + self.sparse_log_carrier(sparse_rows)[:, None]
        rows = self.check(X)
        density = np.empty((len(rows), len(natural)))
        # Direct densities hold no statistics, so their blocks are longer: each factors all the components anew.
        for block in slices(len(rows), max(rows.shape[1], len(natural))):
            chunk = rows[block].astype(float, copy=False)
            direct = self.direct_log_density(chunk, natural)
            density[block] = self.packed_log_density(chunk, natural) if direct is None else direct
        return density
