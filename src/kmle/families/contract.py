"""What every family writes: its fixed parameters, and one formula for each of the arrows of the theory.

A family is a frozen dataclass whose fields are *fixed* parameters (trials, a known shape, the number of columns);
it holds no estimated values. Parameters are float arrays (k, D), one row per component, data are rows (n, d), and every
formula is vectorised over all leading axes. A distribution of the family has log-density

    <t(x), theta> - F(theta) + k(x),

theta being its natural parameter, and eta = E[t(x)] = grad F(theta) its moment parameter.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .support import Support

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .._kernels import Centered, MixtureStep, StepSetting
    from .resolution import Resolution


@dataclass(frozen=True)
class FamilyContract(ABC):
    """The formulas a family must give. Everything else is derived from them, once, in `base.ExponentialFamily`."""

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

    def log_carrier_from(self, X: Array, center: Array) -> Array:
        """k(x) to go with t of `centered_rows(X, center)`: the same, unless moving the center moves it too."""
        return self.log_carrier(X)

    def log_carrier_beside_means(self, X: Array) -> Array:
        """k(x) to go with the scores of `centered`: the same, unless those hold a part of it."""
        return self.log_carrier(X)

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

    def data_center(self, X: Array, weights: Array | None = None) -> Array | None:
        """The point from which t(x) is best measured so that second moments keep their digits; None if none is."""
        return None

    def centered_rows(self, X: Array, center: Array) -> Array:
        """The rows as seen from `center`."""
        return X

    def resolvable(self, natural: Array, center: Array) -> Array:
        """The components, widened where natural parameters in coordinates `center` away could not tell their means."""
        return natural

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        """Natural parameters in the data's own coordinates, from those fitted to `centered_rows(X, center)`."""
        return natural

    def locations(self, natural: Array) -> Array | None:
        """Where the distributions lie, (..., d): from there differences of F keep their digits; None if nowhere."""
        return None

    def shifted(self, natural: Array, offset: Array) -> Array:
        """The distributions moved by `offset` (..., d); the leading axes of both broadcast."""
        return natural

    def log_volume(self, center: Array) -> Array:
        """log |dx/dy| for y = `centered_rows(x, center)`, (...): zero, unless that is more than a shift."""
        return np.zeros(center.shape[:-1])

    def kernel_columns(self, X: Array) -> tuple[Array, str]:
        """Columns (n, c) and the features by which t(x) follows from them in the kernels.

        "identity": the columns are t(x); "diagonal": t is the columns and their squares; "quadratic": the columns and
        all their products. Families whose t is wide give the narrow columns here, so that t is never held for all rows.
        """
        return self.sufficient_statistic(X), "identity"

    def kernel_shift(self, center: Array) -> Array | None:
        """What to take off the columns of X to have those of the kernels, seen from `center`; None: that is not all."""
        return None

    def carrier_by_squares(self, n_columns: int) -> tuple[Array, float] | None:
        """Factors (d,) and a constant such that k(x), to go with t seen from a center, is the constant plus the sum of
        the factors times the squares of the columns seen from there; None where it is not.
        """
        return None

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        """k(x) of sparse rows, from the entries that are stored; zero unless a family says otherwise."""
        return np.zeros(X.shape[0])

    def smallest_spread(self, resolution: "Resolution", center: Array | None) -> Array | None:
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

    def mixture_step(
        self,
        counts: Array,
        sums: Array,
        before: Array,
        weights_before: Array,
        factors: Array,
        setting: "StepSetting",
    ) -> "MixtureStep | None":
        """A step of S mixtures with counts (S, k) and sums (S, k, D) in one call; None to use the other formulas.

        The points beyond lie by `factors` (S,) of the change from `before` and `weights_before` beyond the estimates.
        """
        return None

    def conjugate_growth(self, fit: Array, share: Array) -> Array | None:
        """An upper bound on F*(eta + share (t - eta)) - F*(eta), for a row t and a distribution with moment eta.

        `fit` is <t - eta, theta>, what the row fits better than the distribution's own mean does; a negative share
        takes the row away. The bound is infinite where none is known; None where there is no closed form at all.
        """
        return None

    def direct_entropy(self, natural: Array) -> Array | None:
        """The entropy (k,) in closed form, where F, <theta, eta> and E[k(x)] would cancel; None to add these up."""
        return None

    def centered_form(self, natural: Array) -> "Centered | None":
        """Distributions (k, D) by mean and factor of the precision, for scores without squares of the kernels' columns.

        Scores are <t(x), theta> - F(theta), and x the first of the kernels' columns and of t(x); None where there is no
        such form.
        """
        return None

    def direct_log_density(self, X: Array, natural: Array) -> Array | None:
        """log-densities (n, k) without packed statistics, where those would lose digits; None to use them."""
        return None
