"""Coordinates in which Gaussians of many columns are scored by triangular factors.

With the precision factored as A^T A, A lower triangular, the first rows of A (x - mean) see the first columns only and
bound the Mahalanobis distance from below. Rows that are many for their columns are turned, y = Q^T (x / scales): the
first columns of y tell components apart.
"""

import numpy as np
import scipy

from ...families import ExponentialFamily, Gaussian
from ...numerics.arrays import Array
from ...numerics.linear_algebra import cholesky_or_nan
from ...numerics.packing import diagonal_places, unpack, unpack_dual

# From about this many columns on panels of factors beat packed statistics, whose cost grows with the products of
# columns: twice as fast at 60, seven times at 200 (20 components that overlap; more where they do not).
PANELS_FROM_COLUMNS = 32
# Collinear columns: a share of every variance this small is added before the scatter is factored.
RIDGE = 1e-9
SMALLEST_PRECISION = 1e-150
# With fewer rows than this for each column, turning them and the components costs more than is given up earlier.
TURN_FROM_ROWS = 300
# Squared distances up to this are rounded by less than 1e-9.
FAR = 1e6


def uses_panels(family: ExponentialFamily, n_columns: int) -> bool:
    """Whether rows are best scored by panels of triangular factors."""
    return isinstance(family, Gaussian) and n_columns >= PANELS_FROM_COLUMNS


class Coordinates:
    """Coordinates whose first columns tell the given components (k, D) apart, where turning rows pays.

    `mean_statistic` (D,) is that of the rows, or of the mixture they are to be scored with.
    """

    def __init__(self, family: ExponentialFamily, mean_statistic: Array, natural: Array, n_rows: int) -> None:
        self.family = family
        d = family.n_features or 1
        mean, second = mean_statistic[:d], unpack(mean_statistic[d:])
        scatter = second - np.outer(mean, mean)
        deviations = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
        # Powers of two: columns of any units become comparable without rounding. A constant column has the units of
        # the components.
        narrowest = 1 / np.sqrt(np.max(-2 * natural[:, d + diagonal_places(d)], axis=0, initial=SMALLEST_PRECISION))
        self.scales = np.exp2(np.round(np.log2(np.where(deviations > 0, deviations, narrowest))))
        self.turn: Array | None = None
        if n_rows >= TURN_FROM_ROWS * d:
            self.turn = _discriminating_turn(scatter / np.outer(self.scales, self.scales), self._precisions(natural))

    def of_rows(self, x: Array) -> Array:
        """Rows (n, d) in these coordinates."""
        scaled = x.astype(float, copy=False) / self.scales
        return scaled if self.turn is None else scaled @ self.turn

    def triangles(self, natural: Array, bias: Array) -> tuple[Array, Array, Array]:
        """Triangular factors, shifts and constants of the scores, as `PanelsRows` wants them."""
        k, d = len(natural), len(self.scales)
        active = np.flatnonzero(np.isfinite(bias))
        factors, shifts, constants = np.zeros((k, d, d)), np.zeros((k, d)), np.full(k, -np.inf)
        if len(active) == 0:
            return factors, shifts, constants
        occupied = natural if len(active) == k else natural[active]
        own = self._plain_factors(occupied) if self.turn is None else self._turned_factors(occupied, self.turn)
        linear = occupied[:, :d] * self.scales
        linear = linear if self.turn is None else linear @ self.turn
        for place, j in enumerate(active):
            shifts[j], _ = scipy.linalg.lapack.dtrtrs(own[place].T, linear[place])
        constants[active] = self._constants(occupied, bias[active], shifts[active], own)
        if len(active) == k:
            return own, shifts, constants
        factors[active] = own
        return factors, shifts, constants

    def _constants(self, natural: Array, bias: Array, shifts: Array, factors: Array) -> Array:
        """The scores of rows at the means.

        The bias holds -F, as large as the squared distance of the mean from the center. Where the digits of that would
        be missed, the very same F is added, which leaves the log-weight without loss.
        """
        squares = 0.5 * np.einsum("kd,kd->k", shifts, shifts)
        far = np.flatnonzero(squares > FAR)
        constants = bias + squares
        if len(far):
            determinants = np.log(np.abs(np.diagonal(factors[far], axis1=1, axis2=2)) / self.scales).sum(axis=1)
            normalizers = self.family.log_normalizer(natural[far]) - 0.5 * len(self.scales) * np.log(2 * np.pi)
            constants[far] = bias[far] + normalizers + determinants
        return np.asarray(constants)

    def _plain_factors(self, natural: Array) -> Array:
        """Lower triangular A (k, d, d) with A^T A the precisions: a Cholesky factor read backwards."""
        d = len(self.scales)
        rows, columns = np.triu_indices(d)
        units = np.where(rows == columns, -2.0, -1.0) * self.scales[rows] * self.scales[columns]
        matrices = np.zeros((len(natural), d, d))
        matrices[:, d - 1 - rows, d - 1 - columns] = natural[:, d:] * units
        return np.swapaxes(cholesky_or_nan(matrices)[:, ::-1, ::-1], 1, 2)

    def _turned_factors(self, natural: Array, turn: Array) -> Array:
        """The same for turned rows.

        With P = L L^T, the triangle of a QR factorisation of L^T Q, columns last to first, is A read backwards: its
        rounding is that of L, not of P, whose condition is squared.
        """
        lower = cholesky_or_nan(self._precisions(natural))
        triangles: Array = np.linalg.qr(np.swapaxes(lower, 1, 2) @ turn[:, ::-1], mode="r")  # type: ignore[assignment]
        return triangles[:, ::-1, ::-1]

    def _precisions(self, natural: Array) -> Array:
        """Precisions (k, d, d) of the scaled columns."""
        return -2 * unpack_dual(natural[:, len(self.scales) :]) * np.outer(self.scales, self.scales)


def _discriminating_turn(scatter: Array, precisions: Array) -> Array:
    """An orthogonal matrix whose first columns span where components are narrow for the spread of all rows.

    They are generalised eigenvectors of the mean precision, each component having the same say, and the scatter.
    """
    d = len(scatter)
    root = scipy.linalg.cholesky(scatter + RIDGE * np.eye(d), lower=True)
    traces = np.einsum("kij,ij->k", precisions, root @ root.T)
    mean = np.einsum("kij,k->ij", precisions, 1 / traces)
    _, vectors = scipy.linalg.eigh(root.T @ mean @ root)
    directions = scipy.linalg.solve_triangular(root, vectors[:, ::-1], trans="T", lower=True)
    return np.asarray(scipy.linalg.qr(directions, mode="economic")[0])
