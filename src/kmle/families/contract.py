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
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .support import Support
from .units import Unit, by_column, whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .resolution import Resolution


@dataclass(frozen=True)
class FamilyContract(ABC):
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
        """D, the length of t(x), for rows of this many columns."""

    @property
    def exponential(self) -> bool:
        """False for families with estimated shapes and others that are no exponential families (`coordinates.py`)."""
        return True

    # The formulas -------------------------------------------------------------------------------------------------

    @abstractmethod
    def sufficient_statistic(self, X: Array) -> Array:
        """t(x), (n, D), packed so that t @ theta is the inner product."""

    @abstractmethod
    def log_normalizer(self, natural: Array) -> Array:
        """F(theta), (k,); NaN or infinite outside the natural parameter space."""

    @abstractmethod
    def moment_from_natural(self, natural: Array) -> Array:
        """eta = grad F(theta), (k, D)."""

    @abstractmethod
    def natural_from_moment(self, moment: Array) -> Array:
        """theta = grad F*(eta), (k, D): the maximum-likelihood estimate when eta is the mean of t over data."""

    @abstractmethod
    def natural_from_source(self, *args: Any, **source: Any) -> Array:
        """theta from the usual parameters, given by name; their first axis counts components."""

    @abstractmethod
    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        """The usual parameters."""

    @abstractmethod
    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        """`size` rows drawn from the one distribution with natural parameter (D,)."""

    # Optional: what only some families need. The defaults say "nothing special". ------------------------------------

    def log_carrier(self, X: Array) -> Array:
        """k(x), (n,); zero unless a family says otherwise."""
        return np.zeros(X.shape[:-1])

    def mean_log_carrier(self, natural: Array) -> Array:
        """E[k(x)], (k,): closed form, or `return self.integrate_log_carrier(natural)` for univariate families."""
        return np.zeros(natural.shape[:-1])

    @property
    def has_carrier(self) -> bool:
        """Whether k(x) is anything but zero."""
        return type(self).log_carrier is not FamilyContract.log_carrier

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        """Fixed parameters this data determines when they were left open, such as the number of columns."""
        return {"n_features": X.shape[1]} if self.n_features is None else {}

    def merge(self, other: Self) -> Self:
        """The family for two sets of rows, each with fixed parameters of its own: one with those of both."""
        if self != other:
            raise ValueError(
                f"chunks of the data give different families, {self} and {other}: give the fixed parameters yourself"
            )
        return self

    def fixed_from_n_statistics(self, order: int) -> dict[str, Any]:
        """Fixed parameters that the length of a natural parameter determines when they were left open."""
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

    def locations(self, natural: Array) -> Array | None:
        """Where the distributions lie, (..., d): from there differences of F keep their digits; None if nowhere."""
        return None

    def shifted(self, natural: Array, offset: Array) -> Array:
        """The distributions moved by `offset` (..., d); the leading axes of both broadcast."""
        return natural

    def sparse_log_carrier(self, X: csr_array) -> Array:
        """k(x) of sparse rows, from the entries that are stored; zero unless a family says otherwise."""
        return np.zeros(X.shape[0])

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array | None:
        """How narrow a component may be in each column (d,), for `centered_rows(X, center)`; None without a scale."""
        return None

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        """theta for moments as `natural_from_moment`, among the distributions that have at least this spread (d,).

        The most likely one of them, or close to it.
        """
        return self.natural_from_moment(moment)

    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        """Which distributions (k,) have at least this spread (d,), up to rounding."""
        return np.ones(natural.shape[:-1], dtype=bool)

    @property
    def joint(self) -> bool:
        """Whether the estimate of a component depends on the others, or on its own present parameters.

        Such a family writes `joint_estimate`. Its `natural_from_moment` estimates a component that is alone.
        """
        return False

    def joint_estimate(self, counts: Array, moments: Array, before: Array | None, spread: Array | None) -> Array:
        """Natural parameters (..., k, D) of all components together, for counts (..., k) and moments (..., k, D).

        They never lower sum_j counts_j (<moments_j, theta_j> - F(theta_j)) from what it is at `before` (..., k, D),
        where that is a mixture of this model. Components with a count of zero take part in nothing, and get any legal
        distribution. `spread` (d,) is how narrow components may be, None where nothing bounds them.
        """
        raise NotImplementedError(f"{self.name} has no joint estimate")

    def joint_projection(self, counts: Array, natural: Array, before: Array, spread: Array | None) -> Array:
        """A mixture of the model close to these natural parameters (..., k, D); `before` where they are not legal.

        Unless a family says otherwise, the estimate for the moments of those parameters.
        """
        with np.errstate(all="ignore"):
            moments = self.moment_from_natural(natural)
            legal = np.isfinite(moments).all(axis=-1) & np.isfinite(self.log_normalizer(natural))
        legal = np.asarray((legal | (counts <= 0)).all(axis=-1))[..., None, None]
        usable = np.where(legal & np.isfinite(moments), moments, self.moment_from_natural(before))
        return np.where(legal, self.joint_estimate(counts, usable, before, spread), before)

    @property
    def has_places(self) -> bool:
        """Whether a component's place decides what it may be, as in mixtures of different families."""
        return False

    def projected(self, counts: Array, natural: Array, spread: Array | None) -> Array:
        """A mixture of a joint family's model close to components (..., k, D) that need not be one."""
        return self.joint_estimate(counts, self.moment_from_natural(natural), None, spread)

    def matched(self, counts: Array, moments: Array, spread: Array | None) -> NDArray[np.intp] | None:
        """The cluster (..., k) that each component is best started from; None where all components are alike."""
        return None

    def presented(self, log_weights: Array, natural: Array) -> NDArray[np.intp]:
        """The order in which components (k, D) are handed back: a stable sort by weight, unless places matter."""
        return np.argsort(-log_weights, kind="stable")

    def for_components(self, natural: Array) -> tuple[FamilyContract, Array]:
        """The family of a mixture of these components (k, D), and their natural parameters in it."""
        return self, natural

    def from_components(self, other: FamilyContract, natural: Array) -> Array:
        """Natural parameters (k, D) in this family of components of another one: the inverse of `for_components`."""
        return natural

    def prior_moment(self, mean_statistic: Array) -> Array:
        """The moment at which the prior has its observations, from the mean of t(x) over all rows."""
        return mean_statistic

    def score_sizes(self, largest: Array) -> Array:
        """How large each statistic is where scores matter (D,), from its largest absolute value."""
        return largest

    def n_parameters_for(self, n_components: int) -> int:
        """Free parameters of that many components together, without their weights."""
        return n_components * (self.n_statistics_for(self.n_features or 1) - self.redundancy)

    def interval_formula(self, lower: Array, upper: Array, natural: Array) -> tuple[Array, Array] | None:
        """log P(lower < X < upper) (m, k) and E[t(X) | lower < X < upper] (m, k, D) of one column, in closed form.

        Bounds (m,) lie in the support or are infinite. None where there is none: `interval_expectations` integrates
        then.
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
        """The smallest groups of columns that are independent, in order."""
        family: Any = self
        return by_column(family) if self.independent_columns else whole(family)

    @property
    def is_gaussian(self) -> bool:
        """Whether distributions are Gaussians of all columns together, so that entries predict each other."""
        return type(self).gaussian_form is not FamilyContract.gaussian_form

    def gaussian_form(self, natural: Array) -> tuple[Array, Array] | None:
        """Means (..., d) and covariances (..., d, d); None where distributions are not Gaussian."""
        return None

    def expected_statistic(self, sums: Array, products: Array) -> Array:
        """Sums of t (..., D) from those of x (..., d) and of x x^T (..., d, d), for families with a Gaussian form."""
        raise NotImplementedError(f"{self.name} has no Gaussian form")

    # Extended statistics (`incomplete.py`): parameters hold numbers that follow from others. --------------------------

    def completed(self, moment: Array, otherwise: Array) -> Array:
        """Moments (k, D), with those of `otherwise` (D,) where nothing was observed."""
        return moment

    def consistent(self, natural: Array) -> Array:
        """Natural parameters (..., D) after a step beyond estimates: what follows from others is computed anew."""
        return natural

    def conjugate_growth(self, fit: Array, share: Array) -> Array | None:
        """An upper bound on F*(eta + share (t - eta)) - F*(eta), for a row t and a distribution with moment eta.

        `fit` is <t - eta, theta>, what the row fits better than the distribution's own mean does; a negative share
        takes the row away. The bound is infinite where none is known; None where there is no closed form at all.
        """
        return None

    def direct_entropy(self, natural: Array) -> Array | None:
        """The entropy (k,) in closed form, where F, <theta, eta> and E[k(x)] would cancel; None to add these up."""
        return None

    def direct_log_density(self, X: Array, natural: Array) -> Array | None:
        """log-densities (n, k) without packed statistics, where those would lose digits; None to use them."""
        return None
