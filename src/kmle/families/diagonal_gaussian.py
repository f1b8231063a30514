"""Gaussians with independent columns."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._kernels import Centered
from .._kernels.columns import ColumnSummary, center_of_columns
from ..numerics.arrays import Array
from ..numerics.truncated import gaussian_statistics
from .gaussian import RESOLUTION, ROUNDING_VARIANCE, SMALLEST_VARIANCE
from .rank_one import gaussian_growth
from .resolution import Resolution
from .scaled_columns import ScaledColumns
from .shapes import as_columns, blocks, join
from .support import POSITIVE, REALS


@dataclass(frozen=True)
class DiagonalGaussian(ScaledColumns):
    """Real columns, each with a `mean` and a `variance` of its own: t(x) = (x, x^2).

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> DiagonalGaussian().mle([[1.0], [3.0]])
    diagonal-gaussian(mean=2, variance=1)
    """

    name: ClassVar = "diagonal-gaussian"
    independent_columns: ClassVar = True
    ordered_cells: ClassVar = True
    support: ClassVar = REALS
    parameters: ClassVar = {"mean": REALS, "variance": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return 2 * n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return join(X, X * X)

    def log_normalizer(self, natural: Array) -> Array:
        linear, quadratic = blocks(natural, 2)
        return (-0.25 * linear * (linear / quadratic) + 0.5 * np.log(-np.pi / quadratic)).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        mean, variance = _mean_variance(natural)
        return join(mean, variance + mean**2)

    def natural_from_moment(self, moment: Array) -> Array:
        return natural_of(*mean_variance_of(moment))

    def natural_from_source(self, *, mean: Array, variance: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        mean : array (k, d) or (k,)
            The mean of each column.
        variance : array (k, d) or (k,)
            The variance of each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return natural_of(as_columns(mean), as_columns(variance))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        mean, variance = _mean_variance(natural)
        return {"mean": mean, "variance": variance}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        mean, variance = _mean_variance(natural)
        return rng.normal(mean, np.sqrt(variance), (size, mean.size))

    def interval_formula(self, lower: Array, upper: Array, natural: Array) -> tuple[Array, Array] | None:
        return gaussian_statistics(lower, upper, natural)

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        return center_of_columns(X, weights, summary)

    def centered_rows(self, X: Array, center: Array) -> Array:
        return (X - center).astype(X.dtype, copy=False)

    def resolvable(self, natural: Array, center: Array) -> Array:
        mean, variance = _mean_variance(natural)
        floor = (RESOLUTION * center) ** 2
        return natural if np.all(variance >= floor) else natural_of(mean, np.maximum(variance, floor))

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        mean, variance = _mean_variance(self.resolvable(natural, center))
        return natural_of(mean + center, variance)

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        return resolution.spread if center is None else np.maximum(resolution.spread, RESOLUTION * np.abs(center))

    def column_spread(self, natural: Array) -> Array:
        return np.sqrt(_mean_variance(natural)[1])

    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        return natural_of(_mean_variance(natural)[0], spread**2)

    def locations(self, natural: Array) -> Array:
        return _mean_variance(natural)[0]

    def shifted(self, natural: Array, offset: Array) -> Array:
        # From the mean, not from mean / variance: what is left of a mean that is moved to zero is zero.
        quadratic = blocks(natural, 2)[1]
        linear = -2 * quadratic * (_mean_variance(natural)[0] + offset)
        return join(linear, np.broadcast_to(quadratic, linear.shape))

    def kernel_columns(self, X: Array) -> tuple[Array, str]:
        return X, "diagonal"

    def kernel_shift(self, center: Array) -> Array:
        return center

    def conjugate_growth(self, fit: Array, share: Array) -> Array:
        return gaussian_growth(fit, share, self.n_features or 1)

    def centered_form(self, natural: Array) -> Centered:
        mean, variance = _mean_variance(natural)
        return Centered(mean, 1 / np.sqrt(variance), -0.5 * np.log(2 * np.pi * variance).sum(axis=-1))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # By differences to the means: no second moments, so no digits lost far from the center.
        mean, variance = _mean_variance(natural)
        density = np.tile(-0.5 * np.log(2 * np.pi * variance).sum(axis=-1), (len(X), 1))
        # Column by column: two dimensions at a time never make an n x k x d array.
        for column, m, v in zip(X.T, mean.T, variance.T, strict=True):
            density -= 0.5 * (column[:, None] - m) ** 2 / v
        return density


def _mean_variance(natural: Array) -> tuple[Array, Array]:
    linear, quadratic = blocks(natural, 2)
    variance = -0.5 / quadratic
    return linear * variance, variance


def mean_variance_of(moment: Array) -> tuple[Array, Array]:
    """Means and variances (..., d) of these moments."""
    mean, second = blocks(moment, 2)
    # A constant column has no variance; what rounding could leave of it stands for zero.
    floor = np.maximum(ROUNDING_VARIANCE * second, SMALLEST_VARIANCE)
    return mean, np.maximum(second - mean**2, floor)


def natural_of(mean: Array, variance: Array) -> Array:
    """The natural parameters of these means and variances."""
    return join(mean / variance, -0.5 / variance)
