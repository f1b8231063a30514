"""Gaussians that are round."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from .._kernels import Centered
from .._kernels.columns import ColumnSummary, center_of_columns
from ..numerics.arrays import Array
from ..numerics.truncated import gaussian_statistics
from .derived import ExponentialFamily
from .gaussian import RESOLUTION, ROUNDING, ROUNDING_VARIANCE, SMALLEST_VARIANCE
from .rank_one import gaussian_growth
from .resolution import Resolution
from .shapes import as_columns, as_scalars
from .support import POSITIVE, REALS


@dataclass(frozen=True)
class SphericalGaussian(ExponentialFamily):
    """Points in d dimensions with a `mean` and one `variance` for all directions: t(x) = (x, |x|^2), D = d + 1.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> SphericalGaussian().mle([[0.0, 0.0], [2.0, 4.0]])
    spherical-gaussian(mean=[1., 2.], variance=2.5)
    """

    name: ClassVar = "spherical-gaussian"
    ordered_cells: ClassVar = True
    support: ClassVar = REALS
    parameters: ClassVar = {"mean": REALS, "variance": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return n_features + 1

    def sufficient_statistic(self, X: Array) -> Array:
        return np.concatenate([X, (X * X).sum(axis=-1, keepdims=True)], axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        linear, quadratic = natural[..., :-1], natural[..., -1]
        # Divided before it is multiplied: the square alone overflows at the smallest variances.
        square = (linear * (linear / quadratic[..., None])).sum(axis=-1)
        return -0.25 * square + 0.5 * linear.shape[-1] * np.log(-np.pi / quadratic)

    def moment_from_natural(self, natural: Array) -> Array:
        mean, variance = _mean_variance(natural)
        square = (mean**2).sum(axis=-1) + mean.shape[-1] * variance
        return np.concatenate([mean, square[..., None]], axis=-1)

    def natural_from_moment(self, moment: Array) -> Array:
        return natural_of(*mean_variance_of(moment))

    def natural_from_source(self, *, mean: Array, variance: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        mean : array (k, d)
            The means.
        variance : array (k,)
            The variance, which all columns have.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return natural_of(as_columns(mean), as_scalars(variance))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        mean, variance = _mean_variance(natural)
        return {"mean": mean, "variance": variance}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        mean, variance = _mean_variance(natural)
        return rng.normal(mean, np.sqrt(variance), (size, mean.size))

    def interval_formula(self, lower: Array, upper: Array, natural: Array) -> tuple[Array, Array] | None:
        return gaussian_statistics(lower, upper, natural)

    def gaussian_form(self, natural: Array) -> tuple[Array, Array]:
        mean, variance = _mean_variance(natural)
        return mean, variance[..., None, None] * np.eye(mean.shape[-1])

    def expected_statistic(self, sums: Array, products: Array) -> Array:
        return np.concatenate([sums, np.trace(products, axis1=-2, axis2=-1)[..., None]], axis=-1)

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        return center_of_columns(X, weights, summary)

    def centered_rows(self, X: Array, center: Array) -> Array:
        return (X - center).astype(X.dtype, copy=False)

    def resolvable(self, natural: Array, center: Array) -> Array:
        mean, variance = _mean_variance(natural)
        floor = (RESOLUTION * np.abs(center).max()) ** 2
        return natural if np.all(variance >= floor) else natural_of(mean, np.maximum(variance, floor))

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        mean, variance = _mean_variance(self.resolvable(natural, center))
        return natural_of(mean + center, variance)

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        return resolution.spread if center is None else np.maximum(resolution.spread, RESOLUTION * np.abs(center))

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        mean, variance = _mean_variance(self.natural_from_moment(moment))
        return natural_of(mean, np.maximum(variance, spread.max() ** 2))

    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        return np.asarray(_mean_variance(natural)[1] >= (1 - ROUNDING) * spread.max() ** 2)

    def locations(self, natural: Array) -> Array:
        return _mean_variance(natural)[0]

    def shifted(self, natural: Array, offset: Array) -> Array:
        # From the mean, not from mean / variance: what is left of a mean that is moved to zero is zero.
        quadratic = natural[..., -1:]
        linear = -2 * quadratic * (_mean_variance(natural)[0] + offset)
        return np.concatenate([linear, np.broadcast_to(quadratic, (*linear.shape[:-1], 1))], axis=-1)

    def conjugate_growth(self, fit: Array, share: Array) -> Array:
        return gaussian_growth(fit, share, self.n_features or 1)

    def centered_form(self, natural: Array) -> Centered:
        mean, variance = _mean_variance(natural)
        factor = np.broadcast_to(1 / np.sqrt(variance)[:, None], mean.shape)
        return Centered(mean, factor, -0.5 * mean.shape[-1] * np.log(2 * np.pi * variance))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # By distances to the means: no second moments, so no digits lost far from the center.
        mean, variance = _mean_variance(natural)
        return -0.5 * (
            scipy.spatial.distance.cdist(X, mean, "sqeuclidean") / variance
            + mean.shape[-1] * np.log(2 * np.pi * variance)
        )


def _mean_variance(natural: Array) -> tuple[Array, Array]:
    variance = -0.5 / natural[..., -1]
    return natural[..., :-1] * variance[..., None], variance


def mean_variance_of(moment: Array) -> tuple[Array, Array]:
    """Means (..., d) and variances (...) of these moments."""
    mean, square = moment[..., :-1], moment[..., -1]
    # Identical rows have no variance; what rounding could leave of it stands for zero.
    floor = np.maximum(ROUNDING_VARIANCE * square, SMALLEST_VARIANCE)
    return mean, np.maximum(square - (mean**2).sum(axis=-1), floor) / mean.shape[-1]


def natural_of(mean: Array, variance: Array) -> Array:
    """The natural parameters of these means and variances."""
    return np.concatenate([mean / variance[..., None], -0.5 / variance[..., None]], axis=-1)
