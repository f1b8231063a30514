"""Gaussians with a known covariance: k-means and its Mahalanobis kin."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .._kernels import Centered, Mixtures, Pace, PackedRows, Progress, StepSetting, location_steps
from .._kernels.columns import ColumnSummary, center_of_columns
from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .shapes import as_columns
from .sparse import row_sums
from .support import REALS
from .units import Unit, whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class FixedCovarianceGaussian(ExponentialFamily):
    """Points around a `mean` with a known covariance: t(x) = x, and the divergence is half a Mahalanobis distance.

    `covariance` is a variance for all directions, one for each column, or a matrix. With the default of one and equal
    weights, learning a mixture of these is exactly k-means.

    Parameters
    ----------
    covariance : float or array (d, d), default=1.0
        The covariance that all components share; a number stands for that multiple of the identity.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> FixedCovarianceGaussian().mle([[0.0, 0.0], [2.0, 4.0]])
    fixed-covariance-gaussian(mean=[1., 2.])
    """

    covariance: ArrayLike = 1.0

    name: ClassVar = "fixed-covariance-gaussian"
    support: ClassVar = REALS
    sparse: ClassVar = True
    parameters: ClassVar = {"mean": REALS}

    def __post_init__(self) -> None:
        super().__post_init__()
        table = np.asarray(self.covariance, dtype=float)
        size = None if table.ndim == 0 else len(table)
        if table.ndim > 2 or (table.ndim == 2 and table.shape[0] != table.shape[1]):
            raise ValueError(
                f"covariance has shape {table.shape}: give a number, one for each column, or a square matrix"
            )
        if size is not None and self.n_features not in (None, size):
            raise ValueError(f"covariance has {size} columns, n_features is {self.n_features}")
        # Nested tuples, so that the family stays a hashable value.
        plain = (
            tuple(map(tuple, table.tolist())) if table.ndim == 2 else tuple(table.tolist()) if size else float(table)
        )
        object.__setattr__(self, "covariance", plain)
        if size is not None:
            object.__setattr__(self, "n_features", size)
        symmetric = table.ndim < 2 or np.allclose(table, table.T)
        if not symmetric or not np.all((np.linalg.eigvalsh(table) if table.ndim == 2 else table) > 0):
            raise ValueError("covariance must be symmetric and positive definite")

    @property
    def _variances(self) -> Array | None:
        """One for all columns or one for each; None where columns are correlated."""
        return None if isinstance(self.covariance, tuple) and isinstance(self.covariance[0], tuple) else _table(self)

    def _whitened(self, X: Array) -> Array:
        """W x, with |W x|^2 = x^T S^-1 x."""
        return X @ _whitener(self).T if self._variances is None else X / np.sqrt(self._variances)

    def _log_scale(self, d: int) -> float:
        """log|2 pi S| / 2."""
        if self._variances is None:
            return float(0.5 * np.linalg.slogdet(2 * np.pi * _table(self))[1])
        return float(0.5 * np.log(2 * np.pi * np.broadcast_to(self._variances, d)).sum())

    def units(self) -> tuple[Unit, ...]:
        if self._variances is None:
            return whole(self)
        variances = np.broadcast_to(self._variances, self.n_features or 1).tolist()
        return tuple(Unit(FixedCovarianceGaussian(v, n_features=1), (c,), (c,)) for c, v in enumerate(variances))

    def gaussian_form(self, natural: Array) -> tuple[Array, Array]:
        mean = self.moment_from_natural(natural)
        covariance = _table(self) if self._variances is None else self._variances * np.eye(mean.shape[-1])
        return mean, np.broadcast_to(covariance, (*mean.shape, mean.shape[-1]))

    def expected_statistic(self, sums: Array, products: Array) -> Array:
        return sums

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        whitened = self._whitened(X)
        return -0.5 * np.einsum("...d,...d->...", whitened, whitened) - self._log_scale(X.shape[-1])

    def log_normalizer(self, natural: Array) -> Array:
        return 0.5 * np.einsum("...i,...i->...", self.moment_from_natural(natural), natural)

    def moment_from_natural(self, natural: Array) -> Array:
        return natural @ _table(self) if self._variances is None else natural * self._variances

    def natural_from_moment(self, moment: Array) -> Array:
        return self._whitened(moment) @ _whitener(self) if self._variances is None else moment / self._variances

    def natural_from_source(self, *, mean: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        mean : array (k, d) or (k,)
            The mean of each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return self.natural_from_moment(as_columns(mean))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"mean": self.moment_from_natural(natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        # E[x^T S^-1 x] = d + mean^T S^-1 mean, and the latter is 2 F.
        d = natural.shape[-1]
        return -0.5 * d - self.log_normalizer(natural) - self._log_scale(d)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        noise = rng.standard_normal((size, natural.size))
        if self._variances is None:
            return self.moment_from_natural(natural) + noise @ np.linalg.cholesky(_table(self)).T
        return self.moment_from_natural(natural) + noise * np.sqrt(self._variances)

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        return center_of_columns(X, weights, summary)

    def centered_rows(self, X: Array, center: Array) -> Array:
        return (X - center).astype(X.dtype, copy=False)

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        return natural + self.natural_from_moment(center)

    def locations(self, natural: Array) -> Array:
        return self.moment_from_natural(natural)

    def shifted(self, natural: Array, offset: Array) -> Array:
        return self.natural_from_moment(self.moment_from_natural(natural) + offset)

    def log_carrier_from(self, X: Array, center: Array) -> Array:
        return self.log_carrier(X - center)

    def log_carrier_beside_means(self, X: Array) -> Array:
        return np.full(X.shape[:-1], -self._log_scale(X.shape[-1]))

    def mixture_steps(
        self, rows: PackedRows, mixtures: Mixtures, setting: StepSetting, pace: Pace, work: float
    ) -> Progress | None:
        if self._variances is None:
            return None
        variances = np.broadcast_to(self._variances, len(setting.spread))
        return location_steps(rows, mixtures, setting, variances, pace, work)

    def kernel_shift(self, center: Array) -> Array:
        return center

    def carrier_by_squares(self, n_columns: int) -> tuple[Array, float] | None:
        variances = self._variances
        if variances is None:
            return None
        return np.broadcast_to(-0.5 / variances, n_columns), -self._log_scale(n_columns)

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        variances, d = self._variances, X.shape[1]
        if variances is None:
            # The squared length of W x, without W x: x^T (S^-1 x), of the columns that a row has.
            products = X @ self.natural_from_moment(np.eye(d))
            return -0.5 * np.asarray(X.multiply(products).sum(axis=1)).ravel() - self._log_scale(d)
        if variances.ndim:
            X = X.multiply(1 / np.sqrt(variances)).tocsr()
            return -0.5 * row_sums(X, np.square) - self._log_scale(d)
        return -0.5 * row_sums(X, np.square) / float(variances) - self._log_scale(d)

    def centered_form(self, natural: Array) -> Centered:
        # k(x) holds the squares of x and the constant.
        mean = self.moment_from_natural(natural)
        k, d = mean.shape
        table = np.asarray(self.covariance, dtype=float)
        if table.ndim < 2:
            factor = np.broadcast_to(1 / np.sqrt(table), (k, d))
        else:
            # The triangle of a QR factorisation of W has the rounding of W, not that of its square, the precision.
            factor = np.broadcast_to(np.linalg.qr(_whitener(self)).R.T, (k, d, d))
        return Centered(mean, factor, np.zeros(k), carried=True)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # By distances to the means: no squares of coordinates, so no digits lost far from the center.
        distances = scipy.spatial.distance.cdist(
            self._whitened(X), self._whitened(self.moment_from_natural(natural)), "sqeuclidean"
        )
        return -0.5 * distances - self._log_scale(X.shape[-1])


def _table(family: FixedCovarianceGaussian) -> Array:
    return np.asarray(family.covariance, dtype=float)


@lru_cache(maxsize=64)
def _whitener(family: FixedCovarianceGaussian) -> Array:
    """W with |W x|^2 = x^T S^-1 x. Found once: every update of the parameters needs it."""
    whitener = np.linalg.inv(np.linalg.cholesky(_table(family)))
    whitener.flags.writeable = False
    return whitener
