"""Gaussians with a full covariance each."""

from dataclasses import InitVar, dataclass
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from .._kernels import (
    Centered,
    GaussianLimits,
    Mixtures,
    MixtureStep,
    Pace,
    PackedRows,
    Progress,
    StepSetting,
    gaussian_has_spread,
    gaussian_log_normalizer,
    gaussian_natural,
    gaussian_step,
    gaussian_steps,
)
from .._kernels.columns import ColumnSummary, center_of_columns
from ..numerics.arrays import Array
from ..numerics.linear_algebra import (
    LARGE,
    cholesky_or_nan,
    floor_eigenvalues,
    inverse_from_cholesky,
    log_determinant,
    packed_inverse_from_cholesky,
    solve_lower,
    solve_upper,
)
from ..numerics.packing import diagonal_places, doubled, pack, pack_products, packed_length, unpack, unpack_dual
from ..numerics.truncated import gaussian_statistics
from .derived import ExponentialFamily
from .rank_one import gaussian_growth
from .resolution import COLLINEAR, Resolution
from .shapes import as_columns, as_matrices
from .support import REALS, PositiveDefinite

EPSILON = float(np.finfo(float).eps)
# Below this fraction of the column's second moment a variance is rounding, not data; it is lifted to it.
ROUNDING_VARIANCE = 64 * EPSILON
SMALLEST_VARIANCE = 1e-150
# Correlation matrices keep their eigenvalues above this: collinear or too few rows stay finite in every product.
SMALLEST_CORRELATION = 1e-10
# Far from the center a standard deviation below this fraction of the mean is lost in the rounding of the mean, which
# costs a row half the square of EPSILON / RESOLUTION, in nats.
RESOLUTION = 1024 * EPSILON
# Rounding P mean moves the mean by at most one part in FAR of its spread: this many times EPSILON, and times the
# distance to the center in standard deviations, is the smallest eigenvalue of a correlation matrix far away.
FAR = 1e3
# Components whose center is nearer than this, in their standard deviations, are resolved.
CLEARLY_RESOLVABLE = SMALLEST_CORRELATION / (FAR * EPSILON)
# Those of correlated columns where the trace of the inverse correlation times that distance is less than this.
RESOLVABLE = 1 / (2 * FAR * EPSILON)
# A covariance at its bound may miss it by this share: rounding of the conversions.
ROUNDING = 1e-6
# Estimates beyond these are left to the formulas below.
LIMITS = GaussianLimits(10 * SMALLEST_CORRELATION, ROUNDING_VARIANCE, ROUNDING, RESOLVABLE)
# Rows are whitened in blocks that stay in the cache, but never so few at a time that products of matrices get slow.
CACHED_NUMBERS, SMALLEST_BLOCK = 1 << 17, 64


@dataclass(frozen=True)
class Gaussian(ExponentialFamily):
    """Points in d dimensions with a `mean` and a full `covariance`: t(x) = (x, x x^T), D = d (d + 3) / 2.

    The natural parameter is (P mean, -P/2) with P the precision, symmetric matrices packed so that the dot product is
    the trace inner product (`numerics.packing`). A singular covariance (fewer than d + 1 rows, or rows on a plane) is
    lifted just enough to stay invertible.

    `structure` makes covariances share volume, shape or orientation, by mclust's names: "EII", "VII", "EEI", "VEI",
    "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV" and "VVV", which shares nothing; "E" and "V" in one
    column. The family is then one of `structured_gaussian`, or one that has independent columns or is round. With a
    `rank` covariances have `rank` directions of their own (`low_rank_gaussian`).

    Parameters
    ----------
    structure : str, default='VVV'
        The covariance model, one of mclust's fourteen names such as "VEV"; by default all covariances are free.
    rank : int, default=None
        The number of directions in which covariances differ from spherical or diagonal ones; by default all.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Gaussian().mle([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]]).source["mean"]
    array([[1., 1.]])
    >>> Gaussian(structure="VEV").name
    'gaussian-vev'
    >>> Gaussian(rank=3)
    LowRankGaussian(n_features=None, rank=3)
    """

    structure: InitVar[str] = "VVV"
    rank: InitVar[int | None] = None

    name: ClassVar = "gaussian"
    ordered_cells: ClassVar = True
    support: ClassVar = REALS
    parameters: ClassVar = {"mean": REALS, "covariance": PositiveDefinite()}

    def __new__(cls, *, structure: str = "VVV", rank: int | None = None, n_features: int | None = None) -> Self:
        if cls is not Gaussian or (structure == "VVV" and rank is None):
            return super().__new__(cls)
        # They are made of this family.
        from .low_rank_gaussian import LowRankGaussian
        from .structured_gaussian import structured

        if rank is None:
            return cast(Self, structured(structure, n_features))
        if structure != "VVV":
            raise ValueError(f"structure is {structure!r} and rank is {rank}: a Gaussian has one or the other")
        return cast(Self, LowRankGaussian(rank=rank, n_features=n_features))

    def __post_init__(self, structure: str, rank: int | None) -> None:
        super().__post_init__()

    def n_statistics_for(self, n_features: int) -> int:
        return n_features + packed_length(n_features)

    def sufficient_statistic(self, X: Array) -> Array:
        return np.concatenate([X, pack_products(X)], axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        compiled = gaussian_log_normalizer(natural, dimension(natural))
        if compiled is not None:
            return compiled
        linear, precision = _split(natural)
        factors = cholesky_or_nan(precision)
        # |L^-1 P mean|^2 / 2 - log|P| / 2 + (d/2) log 2 pi
        whitened = solve_lower(factors, linear)
        quadratic = (whitened**2).sum(axis=-1)
        return 0.5 * (quadratic - log_determinant(factors) + linear.shape[-1] * np.log(2 * np.pi))

    def moment_from_natural(self, natural: Array) -> Array:
        mean, covariance = mean_covariance(natural)
        return np.concatenate([mean, pack(covariance + mean[..., :, None] * mean[..., None, :])], axis=-1)

    def natural_from_moment(self, moment: Array) -> Array:
        return self.natural_with_spread(moment, np.zeros(dimension(moment)))

    def natural_from_source(self, *, mean: Array, covariance: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        mean : array (k, d)
            The means.
        covariance : array (k, d, d)
            The covariances.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return natural_of(as_columns(mean), cholesky_or_nan(as_matrices(covariance)))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        mean, covariance = mean_covariance(natural)
        return {"mean": mean, "covariance": covariance}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        mean, covariance = mean_covariance(natural)
        return mean + rng.standard_normal((size, mean.size)) @ np.linalg.cholesky(covariance).T

    def interval_formula(self, lower: Array, upper: Array, natural: Array) -> tuple[Array, Array] | None:
        return gaussian_statistics(lower, upper, natural)

    def gaussian_form(self, natural: Array) -> tuple[Array, Array]:
        return mean_covariance(natural)

    def expected_statistic(self, sums: Array, products: Array) -> Array:
        return np.concatenate([sums, pack(products)], axis=-1)

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        return center_of_columns(X, weights, summary)

    def centered_rows(self, X: Array, center: Array) -> Array:
        return (X - center).astype(X.dtype, copy=False)

    def resolvable(self, natural: Array, center: Array) -> Array:
        # Estimates have correlations with eigenvalues above the smallest, and standard deviations above 1 / sqrt(P_cc).
        away = np.abs(center) * np.sqrt(-2 * natural[..., center.size + diagonal_places(center.size)])
        near = np.asarray(away.sum(axis=-1) < CLEARLY_RESOLVABLE)
        if near.all():
            return natural
        natural = natural.copy()
        natural[~near] = _resolvable(natural[~near], center)
        return natural

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        natural = _resolvable(natural, center)
        linear, precision = _split(natural)
        return np.concatenate([linear + precision @ center, natural[..., center.size :]], axis=-1)

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        joint = resolution.joint_spread
        return joint if center is None else np.maximum(joint, RESOLUTION * np.abs(center))

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        # Exactly the most likely ones with covariance - diag(spread^2) positive semidefinite.
        compiled = gaussian_natural(moment, spread, 10 * SMALLEST_CORRELATION, ROUNDING_VARIANCE)
        if compiled is None:
            return _lifted_natural(moment, spread)
        natural, safe = compiled
        if not safe.all():
            natural[~safe] = _lifted_natural(moment[~safe], spread)
        return natural

    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        compiled = gaussian_has_spread(natural, spread, ROUNDING)
        if compiled is not None:
            return compiled
        _, precision = _split(natural)
        scaled = precision * (spread[:, None] * spread)
        # The largest eigenvalue may not exceed one; the trace, which bounds it, mostly does not.
        good = np.asarray(np.trace(scaled, axis1=-2, axis2=-1) <= 1)
        if not good.all():
            good[~good] = np.linalg.eigvalsh(scaled[~good])[..., -1] <= 1 + ROUNDING
        return good

    def mixture_step(
        self, counts: Array, sums: Array, before: Array, weights_before: Array, factors: Array, setting: StepSetting
    ) -> MixtureStep | None:
        return gaussian_step(counts, sums, before, weights_before, factors, setting, LIMITS)

    def mixture_steps(
        self, rows: PackedRows, mixtures: Mixtures, setting: StepSetting, pace: Pace, work: float
    ) -> Progress | None:
        return gaussian_steps(rows, mixtures, setting, LIMITS, pace, work)

    def locations(self, natural: Array) -> Array:
        return _mean_factors(natural)[0]

    def shifted(self, natural: Array, offset: Array) -> Array:
        # From the mean, not from P mean: what is left of a mean that is moved to zero is zero.
        mean = self.locations(natural) + offset
        linear = np.einsum("...ij,...j->...i", _split(natural)[1], mean)
        quadratic = natural[..., mean.shape[-1] :]
        return np.concatenate([linear, np.broadcast_to(quadratic, (*linear.shape[:-1], quadratic.shape[-1]))], axis=-1)

    def kernel_columns(self, X: Array) -> tuple[Array, str]:
        return X, "quadratic"

    def kernel_shift(self, center: Array) -> Array:
        return center

    def conjugate_growth(self, fit: Array, share: Array) -> Array:
        return gaussian_growth(fit, share, self.n_features or 1)

    def centered_form(self, natural: Array) -> Centered:
        mean, factors = _mean_factors(natural)
        return Centered(mean, factors, _log_constant(factors))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # By Cholesky factors of the precisions: no second moments, so no digits lost far from the center.
        mean, factors = _mean_factors(natural)
        center = mean.mean(axis=0)
        k, d = mean.shape
        # All components side by side, (d, k d): one product whitens a block of rows for every component.
        wide = np.moveaxis(factors, 0, 1).reshape(d, k * d)
        shift = np.einsum("ki,kij->kj", mean - center, factors).reshape(k * d)
        log_constant = _log_constant(factors)
        density = np.empty((len(X), k))
        size = max(SMALLEST_BLOCK, CACHED_NUMBERS // (k * d))
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            whitened = ((X[rows] - center) @ wide - shift).reshape(-1, k, d)
            density[rows] = log_constant - 0.5 * np.einsum("nkd,nkd->nk", whitened, whitened)
        return density


def dimension(parameter: Array) -> int:
    """How many columns natural parameters or moments have."""
    return round((np.sqrt(9 + 8 * parameter.shape[-1]) - 3) / 2)


def _split(natural: Array) -> tuple[Array, Array]:
    """P mean and P."""
    d = dimension(natural)
    return natural[..., :d], -2 * unpack_dual(natural[..., d:], d)


def mean_covariance(natural: Array) -> tuple[Array, Array]:
    """Means (..., d) and covariances (..., d, d)."""
    mean, factors = _mean_factors(natural)
    return mean, inverse_from_cholesky(factors)


def _mean_factors(natural: Array) -> tuple[Array, Array]:
    """The mean, and the Cholesky factor of the precision."""
    d = dimension(natural)
    linear, factors = natural[..., :d], cholesky_or_nan(-2 * unpack_dual(natural[..., d:], d))
    # Two triangular solves: a product with the inverse would lose the mean along nearly flat directions.
    return solve_upper(factors, solve_lower(factors, linear)), factors


def _log_constant(factors: Array) -> Array:
    """The log-density at the mean."""
    return np.asarray(0.5 * (log_determinant(factors) - factors.shape[-1] * np.log(2 * np.pi)))


def natural_of(mean: Array, factors: Array) -> Array:
    """The natural parameters of these means and Cholesky factors of covariances."""
    linear = solve_upper(factors, solve_lower(factors, mean))
    return np.concatenate([linear, -0.5 * doubled(packed_inverse_from_cholesky(factors))], axis=-1)


def precision_of(natural: Array) -> Array:
    """The precisions (..., d, d)."""
    return _split(natural)[1]


def legal_covariances(moment: Array) -> tuple[Array, Array]:
    """Means (..., d) and covariances (..., d, d) of these moments, lifted where they are too close to singular."""
    d = dimension(moment)
    mean, second = moment[..., :d], unpack(moment[..., d:])
    covariance = second - mean[..., :, None] * mean[..., None, :]
    _legal_factors(covariance, second)
    return mean, covariance


def lifted_covariances(covariance: Array, spread: Array) -> Array:
    """Covariances (..., d, d) whose eigenvalues in units of the spread are at least one."""
    deviations = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))
    return floor_eigenvalues(covariance, np.where(spread > 0, spread, COLLINEAR * deviations), 1.0)


def _lifted_natural(moment: Array, spread: Array) -> Array:
    """The natural parameters of these moments; covariances are lifted where they are too close to singular.

    In units of the spread eigenvalues below one become one, which gives the most likely covariance.
    """
    d = dimension(moment)
    mean, second = moment[..., :d], unpack(moment[..., d:])
    factors = _legal_factors(second - mean[..., :, None] * mean[..., None, :], second)
    if spread.any():
        covariance = factors @ np.swapaxes(factors, -1, -2)
        if d < LARGE:
            return natural_of(mean, cholesky_or_nan(lifted_covariances(covariance, spread)))
        narrow = np.isnan(cholesky_or_nan(covariance - np.diag(spread**2))[..., -1, -1])
        factors[narrow] = cholesky_or_nan(lifted_covariances(covariance[narrow], spread))
    return natural_of(mean, factors)


def _resolvable(natural: Array, center: Array) -> Array:
    """The same, covariances lifted to what P mean can tell apart once the mean is as far away as `center`."""
    covariance = inverse_from_cholesky(cholesky_or_nan(precision_of(natural)))
    diagonal = np.arange(center.size)
    variances = covariance[..., diagonal, diagonal]
    narrow = np.any(variances < (RESOLUTION * center) ** 2)
    scales = np.sqrt(np.maximum(variances, (RESOLUTION * center) ** 2))
    if _clearly_resolvable(natural, variances, center):
        return natural
    outer = scales[..., :, None] * scales[..., None, :]
    correlation = covariance / outer
    correlation[..., diagonal, diagonal] = 1.0
    values, vectors = np.linalg.eigh(correlation)
    # The terms of P mean are rounded each. They may be far larger than their sum, so their sizes count.
    along = np.einsum("...ij,...i->...j", np.abs(vectors), np.abs(center) / scales)
    floor = FAR * EPSILON * along
    if not narrow and np.all(values >= floor):
        return natural
    lifted = (vectors * np.maximum(values, floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2) * outer
    return natural_of(_mean_factors(natural)[0], cholesky_or_nan(lifted))


def _clearly_resolvable(natural: Array, variances: Array, center: Array) -> bool:
    """Whether a bound on the eigenvalues of the correlations already says that nothing needs to be lifted."""
    d = center.size
    # The trace of the inverse correlation bounds its largest eigenvalue.
    trace = np.einsum("...i,...i->...", -2 * natural[..., d + diagonal_places(d)], variances)
    along = np.sqrt(np.sum(center**2 / variances, axis=-1))
    apart = np.all(variances >= (RESOLUTION * center) ** 2)
    return bool(apart and np.all(trace * along <= RESOLVABLE))


def _legal_factors(covariance: Array, second: Array) -> Array:
    """Cholesky factors of the covariance, which is lifted in place where it is not safely positive definite."""
    diagonal = np.arange(covariance.shape[-1])
    floor = np.maximum(ROUNDING_VARIANCE * second[..., diagonal, diagonal], SMALLEST_VARIANCE)
    variances = np.maximum(covariance[..., diagonal, diagonal], floor)
    scales = np.sqrt(variances)
    covariance[..., diagonal, diagonal] = variances
    factors = cholesky_or_nan(covariance)
    # In units of the standard deviations the squared diagonal of the factor bounds the eigenvalues from above.
    safe = np.all((factors[..., diagonal, diagonal] / scales) ** 2 > 10 * SMALLEST_CORRELATION, axis=-1)
    if not np.all(safe):
        covariance[~safe] = floor_eigenvalues(covariance[~safe], scales[~safe], SMALLEST_CORRELATION)
        factors[~safe] = cholesky_or_nan(covariance[~safe])
    return factors
