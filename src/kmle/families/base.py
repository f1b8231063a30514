"""What follows from a family's formulas, derived once for all: densities, estimates, divergences, centroids.

Natural and moment parameters are (..., D) arrays; functions of two of them broadcast over the leading axes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._kernels import CompressedRows
from ..numerics.arrays import Array
from ..numerics.differentiation import jacobian, natural_steps
from ..numerics.quadrature import integer_nodes, interval_nodes
from .contract import FamilyContract
from .holding import check_held
from .sparse import as_csr, check_sparse, issparse
from .support import Integers, Interval
from .validation import as_rows, check_fixed, check_parameters, check_rows, check_sample_weight

# Statistics are built in blocks of rows of about this many numbers, so wide families never hold all of t(X).
BLOCK_NUMBERS = 1 << 21
DESCENT_STEPS = 200
# A divergence below this fraction of the terms it is the difference of is integrated instead, at so many points.
CANCELLED, INTEGRAL_POINTS = 1e-5, 8


def _slices(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows that hold a bounded number of numbers, `width` in each row."""
    size = max(1, BLOCK_NUMBERS // width)
    for start in range(0, n, size):
        yield slice(start, start + size)


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)


@dataclass(frozen=True)
class ExponentialFamily(FamilyContract):
    """A family of distributions with log-density <t(x), theta> - F(theta) + k(x); see `contract` for what a subclass
    writes.
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
    def check(self, X: ArrayLike, columns: list[str] | None = None, first_row: int = 0) -> Array:
        """X as a float array (n, d) of legal rows, or one sentence naming the first row and column that is not.

        Of a part of larger data `first_row` is where it begins.
        """
        return check_rows(self, X, columns, first_row)

    # Distributions
    # -----------------------------------------------------------------------------------------------------------

    @final
    def member(self, **source: ArrayLike) -> "Member":
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
    def mle(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> "Member":
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
        rows = family.check(X)
        weights = check_sample_weight(sample_weight, len(rows))
        center = family.data_center(rows, weights)
        moment = family.mean_statistic(rows, weights, center)
        natural = family.natural_from_moment(moment[None])
        return Member(family, natural if center is None else family.natural_at_center(natural, center))

    @final
    def mean_statistic(self, X: Array, weights: Array | None = None, center: Array | None = None) -> Array:
        """The weighted mean of t(x) over legal rows, (D,)."""
        total: Array | float = 0.0
        for rows in self.row_blocks(X):
            # In double precision even for float32 data: differences such as log E[x] - E[log x] need the digits.
            block = X[rows].astype(float, copy=False)
            block = block if center is None else self.centered_rows(block, center)
            t = self.sufficient_statistic(block)
            total = total + (t.sum(axis=0, dtype=float) if weights is None else weights[rows] @ t)
        return np.asarray(total / (len(X) if weights is None else weights.sum()))

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
        for block in _slices(len(rows), max(rows.shape[1], len(natural))):
            chunk = rows[block].astype(float, copy=False)
            direct = self.direct_log_density(chunk, natural)
            density[block] = self.packed_log_density(chunk, natural) if direct is None else direct
        return density

    @final
    def packed_log_density(self, X: Array, natural: Array) -> Array:
        """<t(x), theta> - F(theta) + k(x), (n, k), for legal rows."""
        log_normalizer = self.log_normalizer(natural)
        density = np.empty((len(X), len(natural)))
        for block in self.row_blocks(X):
            density[block] = self.sufficient_statistic(X[block]) @ natural.T - log_normalizer
            density[block] += self.log_carrier(X[block])[:, None]
        return density

    @final
    def row_blocks(self, X: Array) -> Iterator[slice]:
        """Slices of rows whose statistics take a bounded amount of memory."""
        yield from _slices(len(X), max(self.n_statistics_for(X.shape[1]), X.shape[1]))

    # Duality and divergences ------------------------------------------------------------------------------------------

    @final
    def conjugate(self, moment: Array) -> Array:
        """F*(eta) = <theta, eta> - F(theta) at theta = grad F*(eta)."""
        natural = self.natural_from_moment(moment)
        return np.asarray(_dot(natural, moment) - self.log_normalizer(natural))

    @final
    def center(self, natural: Array, weights: ArrayLike | None = None) -> Array | None:
        """The weighted mean (d,) of the locations of distributions (k, D); None for families without a location."""
        places = self.locations(natural)
        return None if places is None else _normalised(weights, len(natural)) @ places

    @final
    def centered(self, center: Array | None, *natural: Array) -> tuple[Array, ...]:
        """Natural parameters of the same distributions in coordinates with `center` at zero.

        Far from zero F is many times larger than the differences of F that divergences are made of.
        """
        return natural if center is None else tuple(self.shifted(part, -center) for part in natural)

    @final
    def bregman(self, natural: Array, other: Array) -> Array:
        """B_F(theta : theta') = F(theta) - F(theta') - <theta - theta', grad F(theta')>."""
        return self._bregman(*self.centered(self.locations(other), natural, other))

    def _bregman(self, natural: Array, other: Array) -> Array:
        here, there = self.log_normalizer(natural), self.log_normalizer(other)
        slope = _dot(natural - other, self.moment_from_natural(other))
        value = np.maximum(here - there - slope, 0.0)
        # What is small beside the terms of the difference is rounding: an integral of the gradient has no such terms.
        small = value < CANCELLED * (np.abs(here) + np.abs(there) + np.abs(slope))
        if not small.any():
            return value
        natural, other = (np.broadcast_to(part, (*small.shape, part.shape[-1]))[small] for part in (natural, other))
        value = np.array(value)
        value[small] = self._integrated_bregman(natural, other)
        return value

    def _integrated_bregman(self, natural: Array, other: Array) -> Array:
        """The integral of <grad F(theta' + s (theta - theta')) - grad F(theta'), theta - theta'> over s."""
        step, start = natural - other, self.moment_from_natural(other)
        points, weights = np.polynomial.legendre.leggauss(INTEGRAL_POINTS)
        value = np.zeros(len(step))
        for point, weight in zip(0.5 + 0.5 * points, 0.5 * weights, strict=True):
            value += weight * _dot(self.moment_from_natural(other + point * step) - start, step)
        return np.maximum(value, 0.0)

    @final
    def dual_bregman(self, moment: Array, other: Array) -> Array:
        """B_F*(eta : eta') = F*(eta) - F*(eta') - <eta - eta', grad F*(eta')>, which is B_F(theta' : theta)."""
        return self.bregman(self.natural_from_moment(other), self.natural_from_moment(moment))

    @final
    def kl(self, natural: Array, other: Array) -> Array:
        """Kullback-Leibler divergence of `natural` from `other`: B_F with its arguments swapped."""
        return self.bregman(other, natural)

    @final
    def cross_entropy(self, natural: Array, other: Array) -> Array:
        """-E[log p(x; other)] for x drawn from `natural`, in nats."""
        return np.asarray(self.entropy(natural) + self.kl(natural, other))

    @final
    def entropy(self, natural: Array) -> Array:
        """-E[log p(x)], in nats; for continuous data the differential entropy."""
        direct = self.direct_entropy(natural)
        if direct is not None:
            return direct
        center = self.locations(natural)
        (natural,) = self.centered(center, natural)
        mean = _dot(self.moment_from_natural(natural), natural) - self.log_normalizer(natural)
        volume = 0.0 if center is None else self.log_volume(center)
        return np.asarray(volume - mean - self.mean_log_carrier(natural))

    @final
    def chernoff_coefficient(self, natural: Array, other: Array, alpha: float = 0.5) -> Array:
        """The integral of p^alpha q^(1 - alpha): one for equal distributions, zero for disjoint ones."""
        natural, other = self.centered(self.locations(other), natural, other)
        middle = alpha * natural + (1 - alpha) * other
        return np.exp(-alpha * self._bregman(natural, middle) - (1 - alpha) * self._bregman(other, middle))

    @final
    def bhattacharyya_coefficient(self, natural: Array, other: Array) -> Array:
        """The integral of sqrt(p q)."""
        return self.chernoff_coefficient(natural, other, 0.5)

    @final
    def chernoff_information(self, natural: Array, other: Array) -> Array:
        """-log of the smallest Chernoff coefficient over alpha: the best error exponent for telling p from q."""
        natural, other = self.centered(self.locations(other), natural, other)
        shape = np.broadcast_shapes(natural.shape, other.shape)[:-1]
        low, high = np.zeros(shape), np.ones(shape)
        # The optimal alpha is where the geodesic distribution is as far from p as from q; the difference is monotone in
        # alpha.
        for _ in range(60):
            alpha = 0.5 * (low + high)
            between = alpha[..., None] * natural + (1 - alpha[..., None]) * other
            nearer_p = self._bregman(natural, between) < self._bregman(other, between)
            low, high = np.where(nearer_p, low, alpha), np.where(nearer_p, alpha, high)
        return self._bregman(natural, between)

    @final
    def jensen_diversity(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """J_F: the weighted mean of F over distributions (k, D) minus F at their weighted mean, as a mean of
        divergences.
        """
        w = _normalised(weights, len(natural))
        return np.asarray(w @ self.bregman(natural, (w @ natural)[None]))

    @final
    def bregman_information(self, moment: Array, weights: ArrayLike | None = None) -> Array:
        """J_F*: the least weighted mean of B_F*(eta_i : c), reached at the mean moment."""
        w = _normalised(weights, len(moment))
        return np.asarray(w @ self.dual_bregman(moment, (w @ moment)[None]))

    @final
    def fisher_information(self, natural: Array) -> Array:
        """The covariance of t(x), grad^2 F(theta), (k, D, D): differences of order eight of grad F."""
        natural = np.atleast_2d(np.asarray(natural, dtype=float))
        steps = natural_steps(self.log_normalizer, natural)
        information = jacobian(self.moment_from_natural, natural, steps)
        return np.asarray(0.5 * (information + np.swapaxes(information, -1, -2)))

    # Centroids of distributions (k, D)
    # -----------------------------------------------------------------------------------------

    @final
    def right_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """The theta that minimises the mean of KL(p_i : p_theta): the distribution with the mean moment."""
        center = self.center(natural, weights)
        return self._moved_back(self._right_centroid(self.centered(center, natural)[0], weights), center)

    def _right_centroid(self, natural: Array, weights: ArrayLike | None) -> Array:
        moment = _normalised(weights, len(natural)) @ self.moment_from_natural(natural)
        return self.natural_from_moment(moment[None])[0]

    def _moved_back(self, natural: Array, center: Array | None) -> Array:
        return natural if center is None else self.shifted(natural, center)

    @final
    def left_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """The theta that minimises the mean of KL(p_theta : p_i): the mean natural parameter."""
        return np.asarray(_normalised(weights, len(natural)) @ natural)

    @final
    def symmetrised_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """The theta that minimises the mean of KL(p_i : p_theta) + KL(p_theta : p_i).

        Up to a constant that mean is B_F(left : theta) + B_F(theta : right), left and right being the one-sided
        centroids: a descent with twice the Fisher information as its metric, halving any step that does not pay.
        """
        center = self.center(natural, weights)
        return self._moved_back(self._symmetrised_centroid(self.centered(center, natural)[0], weights), center)

    def _symmetrised_centroid(self, natural: Array, weights: ArrayLike | None) -> Array:
        right, left = self._right_centroid(natural, weights), self.left_centroid(natural, weights)
        right_moment = self.moment_from_natural(right[None])[0]

        def loss(theta: Array) -> float:
            with np.errstate(all="ignore"):
                value = float(self.bregman(left, theta) + self.bregman(theta, right))
            return value if np.isfinite(value) else np.inf

        # Both ends are legal; the better of them and their middle starts.
        center = min((right, left, 0.5 * (left + right)), key=loss)
        current = loss(center)
        for _ in range(DESCENT_STEPS):
            information = self.fisher_information(center)[0]
            slope = self.moment_from_natural(center[None])[0] - right_moment - information @ (left - center)
            step = np.linalg.lstsq(2 * information, -slope, rcond=1e-12)[0]
            while loss(center + step) > current and step @ information @ step > 1e-24:
                step = 0.5 * step
            if step @ information @ step <= 1e-24:
                break
            center = center + step
            current = loss(center)
        # Through the moment and back, so that redundant coordinates come out in their normal form.
        return self.natural_from_moment(self.moment_from_natural(center[None]))[0]

    # Numerical expectations -------------------------------------------------------------------------------------------

    @final
    def nodes(self, natural: Array) -> tuple[Array, Array]:
        """Quadrature nodes (m,) and weights for one univariate distribution (D,): sum(weight * g(x)) is the integral of
        g.
        """
        support = self.support
        one = replace(self, n_features=1)

        def log_density(x: Array) -> Array:
            return one._log_height(x[:, None], natural)

        if isinstance(support, Integers) and not isinstance(support.upper, tuple):
            return integer_nodes(log_density, float(support.lower), float(support.upper))
        if isinstance(support, Interval):
            return interval_nodes(log_density, support.lower, support.upper)
        raise ValueError(f"{self.name} has no quadrature: its support is {support.description}")

    def _log_height(self, X: Array, natural: Array) -> Array:
        """The log-density (n,) of one distribution, up to a constant unless it is direct."""
        direct = self.direct_log_density(X, natural[None])
        return self.sufficient_statistic(X) @ natural + self.log_carrier(X) if direct is None else direct[:, 0]

    @final
    def integrate_entropy(self, natural: Array) -> Array:
        """The entropy as the mean of -log p by quadrature, for families of one statistic in each independent column."""
        one = replace(self, n_features=1)
        entropies = np.empty(natural.shape)
        for index in np.ndindex(natural.shape):
            theta = natural[index].reshape(1)
            x, weight = one.nodes(theta)
            # Long sums are integrals, whose nodes are no whole numbers: the support is not asked.
            log_density = one._log_height(x[:, None], theta)
            if one.direct_log_density(x[:1, None], theta[None]) is None:
                log_density = log_density - one.log_normalizer(theta)
            p = weight * np.exp(log_density)
            entropies[index] = -(p @ np.where(p > 0, log_density, 0.0)) / p.sum()
        return np.asarray(entropies.sum(axis=-1))

    @final
    def integrate_log_carrier(self, natural: Array) -> Array:
        """E[k(x)] by quadrature, column by column, for families of independent columns."""
        natural = np.asarray(natural, dtype=float)
        columns = natural.shape[-1] // self.n_statistics_for(1)
        thetas = np.moveaxis(natural.reshape(*natural.shape[:-1], self.n_statistics_for(1), columns), -1, -2)
        one = replace(self, n_features=1)
        means = np.empty(thetas.shape[:-1])
        # Each distribution has its own nodes, so this goes distribution by distribution.
        for index in np.ndindex(means.shape):
            x, weight = one.nodes(thetas[index])
            k = one.log_carrier(x[:, None])
            t = one.sufficient_statistic(x[:, None])
            log_density = t @ thetas[index] + k
            p = weight * np.exp(log_density - log_density.max())
            # Measured from its value at the mode: k may be many times larger than the digits wanted of its mean.
            base = k[np.argmax(p)]
            means[index] = base + p @ np.where(p > 0, k - base, 0.0) / p.sum()
        return np.asarray(means.sum(axis=-1))


def _normalised(weights: ArrayLike | None, count: int) -> Array:
    if weights is None:
        return np.full(count, 1 / count)
    w = check_sample_weight(weights, count)
    assert w is not None
    return w / w.sum()


@dataclass(frozen=True, eq=False)
class Member:
    """One or several distributions of a family, as a value: natural (k, D)."""

    family: ExponentialFamily
    natural: Array

    @property
    def moment(self) -> Array:
        """The moment parameters (k, D)."""
        return self.family.moment_from_natural(self.natural)

    @property
    def source(self) -> dict[str, Array]:
        """The usual parameters; the first axis counts distributions."""
        return self.family.source_from_natural(self.natural)

    def log_density(self, X: ArrayLike) -> Array:
        """log-densities (n, k)."""
        return self.family.log_density(X, self.natural)

    def sample(self, size: int, random_state: Any = None) -> Array:
        """`size` rows from the first distribution."""
        return self.family.sample(self.natural[0], size, np.random.default_rng(random_state))

    def __repr__(self) -> str:
        def show(value: Array) -> str:
            if value.size == 1:
                return f"{value.item():.6g}"
            return np.array2string(np.squeeze(value), precision=6, separator=", ", threshold=20).replace("\n", "")

        return f"{self.family.name}({', '.join(f'{key}={show(value)}' for key, value in self.source.items())})"
