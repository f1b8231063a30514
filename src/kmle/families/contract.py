"""What some families write beside the formulas of `formulas.py`. The defaults say "nothing special"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .joint import JointFormulas
from .units import Unit, by_column, whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .resolution import Resolution


@dataclass(frozen=True)
class FamilyContract(JointFormulas):
    """All that the library asks of a family."""

    def locations(self, natural: Array) -> Array | None:
        """Returns where distributions lie: measured from there, differences of F keep their digits.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters.

        Returns
        -------
        array (..., d) or None
            The locations; None for families without.
        """
        return None

    def shifted(self, natural: Array, offset: Array) -> Array:
        """Moves distributions; the leading axes of both arguments broadcast.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters.
        offset : array (..., d)
            By how much to move them.

        Returns
        -------
        array (..., D)
            Natural parameters.
        """
        return natural

    def sparse_log_carrier(self, X: csr_array) -> Array:
        """Returns k(x) of sparse rows, from the entries that are stored; zero unless a family says otherwise.

        Parameters
        ----------
        X : scipy.sparse.csr_array (n, d)
            The rows.

        Returns
        -------
        array (n,)
            The value at each row.
        """
        return np.zeros(X.shape[0])

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array | None:
        """Returns how narrow a component may be in each column.

        Parameters
        ----------
        resolution : Resolution
            The steps to which the columns were rounded.
        center : array (d,), default=None
            The point that rows are measured from, if there is one.

        Returns
        -------
        array (d,) or None
            The least spread of the columns of `centered_rows(X, center)`; None for families without a scale.
        """
        return None

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        """Estimates distributions that have at least a given spread.

        As `natural_from_moment`: the most likely distribution among these, or one close to it.

        Parameters
        ----------
        moment : array (k, D)
            Moment parameters: the means of t(x).
        spread : array (d,)
            How narrow components may be in each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return self.natural_from_moment(moment)

    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        """Returns which distributions have at least a given spread, up to rounding.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.
        spread : array (d,)
            How narrow components may be in each column.

        Returns
        -------
        array (k,) of bool
            Whether each has.
        """
        return np.ones(natural.shape[:-1], dtype=bool)

    def for_components(self, natural: Array) -> tuple[FamilyContract, Array]:
        """Returns the family that a mixture of these components has of its own.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        family : ExponentialFamily
            The family.
        natural : array (k, D')
            The natural parameters in that family.
        """
        return self, natural

    def from_components(self, other: FamilyContract, natural: Array) -> Array:
        """Returns components of another family as components of this one: the inverse of `for_components`.

        Parameters
        ----------
        other : ExponentialFamily
            The family of the components.
        natural : array (k, D')
            Their natural parameters in that family.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return natural

    def score_sizes(self, largest: Array) -> Array:
        """Returns how large each statistic is where scores matter.

        Parameters
        ----------
        largest : array (D,)
            The largest absolute value of each statistic.

        Returns
        -------
        array (D,)
            The sizes.
        """
        return largest

    def interval_formula(self, lower: Array, upper: Array, natural: Array) -> tuple[Array, Array] | None:
        """Returns probabilities of intervals of one column, and means over them, in closed form.

        Parameters
        ----------
        lower : array (m,)
            Lower ends, in the support or infinite.
        upper : array (m,)
            Upper ends, in the support or infinite.
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        tuple of arrays, or None
            log P(lower < X < upper) (m, k) and E[t(X) | lower < X < upper] (m, k, D). None where there is no closed
            form: `interval_expectations` integrates then.
        """
        return None

    # Missing entries (`incomplete.py`, `engines/patterns`) ----------------------------------------------------------

    @property
    def takes_missing(self) -> bool:
        """Whether rows may have missing entries."""
        return self.independent_columns or self.has_marginals

    @property
    def has_marginals(self) -> bool:
        """Whether the entries of a row may be missing one by one although they depend on each other."""
        return self.is_gaussian

    def units(self) -> tuple[Unit, ...]:
        """Returns the smallest groups of columns that are independent.

        Returns
        -------
        tuple of Unit
            The groups, in the order of their columns.
        """
        family: Any = self
        return by_column(family) if self.independent_columns else whole(family)

    @property
    def is_gaussian(self) -> bool:
        """Whether distributions are Gaussians of all columns together, so that entries predict each other."""
        return type(self).gaussian_form is not FamilyContract.gaussian_form

    def gaussian_form(self, natural: Array) -> tuple[Array, Array] | None:
        """Returns distributions as Gaussians.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters.

        Returns
        -------
        tuple of arrays, or None
            Means (..., d) and covariances (..., d, d); None where distributions are not Gaussian.
        """
        return None

    def expected_statistic(self, sums: Array, products: Array) -> Array:
        """Returns sums of t(x) from those of the rows and of their products, for families with a Gaussian form.

        Parameters
        ----------
        sums : array (..., d)
            Sums of x.
        products : array (..., d, d)
            Sums of x x^T.

        Returns
        -------
        array (..., D)
            Sums of t(x).
        """
        raise NotImplementedError(f"{self.name} has no Gaussian form")

    # Extended statistics (`incomplete.py`): parameters hold numbers that follow from others. --------------------------

    def completed(self, moment: Array, otherwise: Array) -> Array:
        """Fills in moments where nothing was observed.

        Parameters
        ----------
        moment : array (k, D)
            Moment parameters: the means of t(x).
        otherwise : array (D,)
            The moments to take there.

        Returns
        -------
        array (k, D)
            The moments.
        """
        return moment

    def consistent(self, natural: Array) -> Array:
        """Makes natural parameters consistent after a step beyond estimates: what follows from others is computed
        again.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters.

        Returns
        -------
        array (..., D)
            Natural parameters.
        """
        return natural

    def conjugate_growth(self, fit: Array, share: Array) -> Array | None:
        """Returns an upper bound on F*(eta + share (t - eta)) - F*(eta), for a row t and a distribution with moment
        eta.

        The bound is infinite where none is known.

        Parameters
        ----------
        fit : array (n, k)
            <t - eta, theta>: what a row fits better than the mean of the distribution does.
        share : array (n, k)
            The share of the row; a negative one takes it away.

        Returns
        -------
        array (n, k) or None
            The bounds; None for families without a closed form.
        """
        return None

    def direct_entropy(self, natural: Array) -> Array | None:
        """Returns the entropy in closed form, for families where F, <theta, eta> and E[k(x)] cancel.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k,) or None
            The entropies; None to add these up.
        """
        return None

    def direct_log_density(self, X: Array, natural: Array) -> Array | None:
        """Returns log-densities without packed statistics, for families where those lose digits.

        Parameters
        ----------
        X : array (n, d)
            Rows in the support.
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (n, k) or None
            The log-densities; None to use the statistics.
        """
        return None
