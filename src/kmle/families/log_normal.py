"""Positive numbers whose logarithm is Gaussian."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._kernels import Centered, ColumnSummary
from ..numerics.arrays import Array
from ..numerics.truncated import gaussian_statistics
from .diagonal_gaussian import DiagonalGaussian
from .rank_one import gaussian_growth
from .resolution import Resolution
from .scaled_columns import ScaledColumns
from .shapes import as_columns, blocks
from .support import POSITIVE, REALS

_LOGARITHM = DiagonalGaussian()
# Enough from any start, as the excess is convex and falls.
NEWTON_STEPS = 12
LARGEST_LOGARITHM = 700.0


@dataclass(frozen=True)
class LogNormal(ScaledColumns):
    """Positive columns whose logarithm is Gaussian with mean `log_mean` and standard deviation `log_std`.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> LogNormal().mle([[1.0], [np.exp(2.0)]])
    log-normal(log_mean=1, log_std=1)
    """

    name: ClassVar = "log-normal"
    independent_columns: ClassVar = True
    ordered_cells: ClassVar = True
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"log_mean": REALS, "log_std": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return 2 * n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return _LOGARITHM.sufficient_statistic(np.log(X))

    def log_carrier(self, X: Array) -> Array:
        return -np.log(X).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        return _LOGARITHM.log_normalizer(natural)

    def moment_from_natural(self, natural: Array) -> Array:
        return _LOGARITHM.moment_from_natural(natural)

    def natural_from_moment(self, moment: Array) -> Array:
        return _LOGARITHM.natural_from_moment(moment)

    def natural_from_source(self, *, log_mean: Array, log_std: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        log_mean : array (k, d) or (k,)
            The mean of the logarithm of each column.
        log_std : array (k, d) or (k,)
            The standard deviation of the logarithm of each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return _LOGARITHM.natural_from_source(mean=log_mean, variance=as_columns(log_std) ** 2)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        source = _LOGARITHM.source_from_natural(natural)
        return {"log_mean": source["mean"], "log_std": np.sqrt(source["variance"])}

    def mean_log_carrier(self, natural: Array) -> Array:
        return -blocks(self.moment_from_natural(natural), 2)[0].sum(axis=-1)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        # Kept inside what a float holds.
        return np.exp(np.clip(_LOGARITHM.sample(natural, size, rng), -LARGEST_LOGARITHM, LARGEST_LOGARITHM))

    def interval_formula(self, lower: Array, upper: Array, natural: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            return gaussian_statistics(np.log(lower), np.log(upper), natural)

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        return _LOGARITHM.data_center(np.log(X), weights)

    def centered_rows(self, X: Array, center: Array) -> Array:
        return (X / np.exp(center)).astype(X.dtype, copy=False)

    def resolvable(self, natural: Array, center: Array) -> Array:
        return _LOGARITHM.resolvable(natural, center)

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        return _LOGARITHM.natural_at_center(natural, center)

    def centered_spread(self, spread: Array, center: Array) -> Array:
        return spread / np.exp(center)

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        spread = resolution.shaped_spread
        return spread if center is None else self.centered_spread(spread, center)

    def column_spread(self, natural: Array) -> Array:
        source = _LOGARITHM.source_from_natural(natural)
        return np.sqrt(source["variance"]) * np.exp(source["mean"])

    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        # Exactly the most likely ones: the mean moves up a little, where the same spread is a smaller share of it.
        mean, variance = _LOGARITHM.source_from_natural(natural).values()
        bound = (spread * np.exp(-mean)) ** 2
        shift = np.zeros_like(mean)
        for _ in range(NEWTON_STEPS):
            excess = bound * np.exp(-2 * shift) - variance - shift - shift**2
            shift = shift + excess / (2 * bound * np.exp(-2 * shift) + 1 + 2 * shift)
        return _LOGARITHM.natural_from_source(mean=mean + shift, variance=bound * np.exp(-2 * shift))

    def locations(self, natural: Array) -> Array:
        return _LOGARITHM.locations(natural)

    def shifted(self, natural: Array, offset: Array) -> Array:
        return _LOGARITHM.shifted(natural, offset)

    def log_volume(self, center: Array) -> Array:
        return np.asarray(center.sum(axis=-1))

    def kernel_columns(self, X: Array) -> tuple[Array, str]:
        return np.log(X), "diagonal"

    def conjugate_growth(self, fit: Array, share: Array) -> Array:
        return gaussian_growth(fit, share, self.n_features or 1)

    def centered_form(self, natural: Array) -> Centered:
        return _LOGARITHM.centered_form(natural)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # The Gaussian of the logarithm, by differences to its mean.
        return _LOGARITHM.direct_log_density(np.log(X), natural) + self.log_carrier(X)[:, None]
