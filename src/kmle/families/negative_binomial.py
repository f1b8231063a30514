"""Overdispersed counts whose size is given or estimated."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self, cast

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.line_search import increasing_root
from ..numerics.saddle_point import LARGE, log_poisson
from ..numerics.special import trigamma
from .derived import ExponentialFamily
from .poisson import draw_counts
from .resolution import Resolution
from .shaped import CLOSE, Shaped, Values, is_estimated, shares_shape
from .shapes import as_columns, over_columns
from .sparse import row_sums
from .support import COUNTS, POSITIVE, Interval

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# A mean of zero (all counts zero) stands for this: finite in every product, zero to twelve digits.
SMALLEST_MEAN = 1e-12
# Means up to about this are drawn by NumPy.
SMALL_ENOUGH = 1e15


@dataclass(frozen=True)
class NegativeBinomial(ExponentialFamily):
    """Overdispersed counts: failures before the `size`-th success, each try succeeding with `probability`.

    The size may be any positive number. Without one each component has an estimated one, and with size="shared" they
    have one together; the other parameter is then the mean, and the variance is mean + mean^2 / size.

    Parameters
    ----------
    size : float, default=None
        The number of successes at which counting stops; by default it is estimated.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> NegativeBinomial(size=2.0).mle([[1], [3]])
    negative-binomial(probability=0.5)
    >>> NegativeBinomial().mle([[0], [1], [1], [2], [9]])
    negative-binomial(mean=2.6, size=0.941974)
    """

    size: float = None  # type: ignore[assignment]

    name: ClassVar = "negative-binomial"
    independent_columns: ClassVar = True
    sparse: ClassVar = True
    support: ClassVar = COUNTS
    parameters: ClassVar = {"probability": Interval(0.0, 1.0, closed_lower=False)}
    fixed: ClassVar = {"size": POSITIVE}

    def __new__(cls, size: float | str | None = None, *, n_features: int | None = None) -> Self:
        if not is_estimated(size):
            return super().__new__(cls)
        return cast(Self, ShapedNegativeBinomial(shared=shares_shape("size", size), n_features=n_features))

    def __getnewargs__(self) -> tuple[float]:
        return (self.size,)

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        return (
            scipy.special.gammaln(X + self.size) - scipy.special.gammaln(self.size) - scipy.special.gammaln(X + 1)
        ).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        return -self.size * np.log(-np.expm1(natural)).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        return self.size / np.expm1(-natural)

    def natural_from_moment(self, moment: Array) -> Array:
        return -np.log1p(self.size / np.maximum(moment, SMALLEST_MEAN))

    def natural_from_source(self, *, probability: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        probability : array (k, d) or (k,)
            The chance of success of each trial, by column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        probability = as_columns(probability)
        return np.log1p(-np.where(probability == 1, 1 - SMALLEST_MEAN, probability))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"probability": -np.expm1(natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        terms = self.log_normalizer(natural) - (natural * self.moment_from_natural(natural)).sum(axis=-1)
        return np.asarray(terms - self.direct_entropy(natural))

    def direct_entropy(self, natural: Array) -> Array:
        return self.integrate_entropy(natural)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, but for rows with counts so large that these would cancel.
        density = self.packed_log_density(X, natural)
        large = (X > LARGE).any(axis=-1) | (self.size > LARGE)
        if large.any():
            density[large] = over_columns(
                partial(_precise_log_density, np.array(self.size)), X[large], -np.expm1(natural), np.exp(natural)
            )
        return density

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        success = -np.expm1(natural)
        if self.size < SMALL_ENOUGH * success.min():
            return rng.negative_binomial(self.size, success, (size, natural.size)).astype(float)
        # Poisson draws at gamma rates: NumPy's own stop at means of 1e18.
        return draw_counts(rng.gamma(self.size, np.exp(natural) / success, (size, natural.size)), rng)

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        return row_sums(X, lambda x: self.log_carrier(x[:, np.newaxis]))  # that of zero is zero


# Beyond the largest size counts are Poisson to seven digits of the variance, unless means are large too.
SMALLEST_SIZE, LARGEST_SIZE = 1e-4, 1e7
# Sizes of at least this many means may be called Poisson, if the likelihood gains no more than this, in nats.
LARGE_SIZE, NO_GAIN = 10.0, 0.5
# The size with which starts are sought.
SIZE_OF_STARTS = 4.0
# Counts up to this are summed one by one.
MOST_COUNTS = 4096
# Counts up to the largest are tabulated where they are at most this many times the rows.
GAPS = 8


@dataclass(frozen=True, repr=False)
class ShapedNegativeBinomial(Shaped):
    """Overdispersed counts with an estimated size: a root, or the Poisson limit where counts vary too little."""

    name: ClassVar = "negative-binomial"
    support: ClassVar = COUNTS
    parameters: ClassVar = {"mean": POSITIVE, "size": POSITIVE}
    shapes: ClassVar = {"size": (SMALLEST_SIZE, LARGEST_SIZE)}

    def given(self, **shapes: float) -> ExponentialFamily:
        return NegativeBinomial(shapes["size"])

    def to_given(self, family: ExponentialFamily, values: Mapping[str, float]) -> Array:
        return np.array([[-np.log1p(values["size"] / values["mean"])]])

    def from_given(self, family: ExponentialFamily, natural: Array, shapes: Mapping[str, float]) -> dict[str, float]:
        return {"mean": float(family.moment_from_natural(natural).item())}

    @property
    def stand_in(self) -> ExponentialFamily:
        return NegativeBinomial(SIZE_OF_STARTS)

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> None:
        return None

    def bounds_reached(self, natural: Array) -> list[str]:
        largest = f"size {LARGEST_SIZE:g}"
        return [f"{end} (in effect Poisson)" if end == largest else end for end in super().bounds_reached(natural)]

    def limits_met(self, natural: Array, n_rows: float) -> list[str]:
        source, found = self.source_from_natural(natural), []
        for mean, size in zip(source["mean"].flat, source["size"].flat, strict=True):
            # The information on 1 / size at the Poisson limit is mean^2 / 2 a row.
            gain = n_rows * (mean / size) ** 2 / 4
            if gain < NO_GAIN and size >= LARGE_SIZE * mean and np.log(LARGEST_SIZE / size) >= CLOSE:
                found.append(f"size {size:.3g} (in effect Poisson)")
        return found

    def column_log_density(self, x: Array, values: Values) -> Array:
        most = float(x.max(initial=0.0))
        if most < min(GAPS * len(x), MOST_COUNTS):
            return _log_densities_up_to(int(most), values)[x.astype(np.intp)]
        return _log_densities(x, values)

    def column_log_probability(self, lower: Array, upper: Array, values: Values) -> Array:
        success = values["size"] / (values["size"] + values["mean"])
        # Whichever tail is shorter keeps its digits.
        below, above = np.ceil(lower)[:, None] - 1, np.floor(upper)[:, None]
        left = [scipy.special.betainc(values["size"], np.maximum(end, 0) + 1, success) for end in (below, above)]
        right = [scipy.special.betainc(np.maximum(end, 0) + 1, values["size"], 1 - success) for end in (below, above)]
        left = [np.where(end < 0, 0.0, tail) for end, tail in zip((below, above), left, strict=True)]
        right = [np.where(end < 0, 1.0, tail) for end, tail in zip((below, above), right, strict=True)]
        left[1], right[1] = np.where(np.isinf(above), 1.0, left[1]), np.where(np.isinf(above), 0.0, right[1])
        with np.errstate(divide="ignore"):
            return np.log(np.where(left[0] < 0.5, left[1] - left[0], right[0] - right[1]))

    def column_estimate(self, x: Array, shares: Array, before: Values | None, spread: float) -> Values:
        counts = shares.sum(axis=0)
        mean = np.maximum(shares.T @ x / counts, SMALLEST_MEAN)
        variance = shares.T @ (x * x) / counts - mean**2
        poisson = variance <= mean * (1 + 1e-9)
        with np.errstate(all="ignore"):
            by_moments = np.where(poisson, LARGEST_SIZE, mean**2 / (variance - mean))
        start = by_moments if before is None else before["size"]
        bounds = np.log(SMALLEST_SIZE), np.log(LARGEST_SIZE)
        # psi(x + s) - psi(s) is the sum of 1 / (s + m) over m below x.
        above = _shares_above(x, shares)
        distinct, shares_of_distinct = (x, shares) if above is not None else _by_count(x, shares)

        def slope(log_size: Array) -> tuple[Array, Array]:
            """Minus the derivative of the profile likelihood by log-size, and its own derivative."""
            size = np.broadcast_to(np.exp(log_size), start.shape)
            first, second = _polygamma_sums(distinct, shares_of_distinct, size, above)
            gradient = first / counts + np.log1p(-mean / (size + mean))
            bend = second / counts + 1 / size - 1 / (size + mean)
            value, change = -size * gradient, -size * gradient - size**2 * bend
            if not self.shared:
                return value, change
            total = counts.sum()
            return np.atleast_1d(counts @ value / total), np.atleast_1d(counts @ change / total)

        first = np.log(np.clip(start, SMALLEST_SIZE, LARGEST_SIZE))
        start_at = np.atleast_1d(first.mean()) if self.shared else first
        root = increasing_root(slope, start_at, *bounds, 1e-10 if before is None else 1e-7)
        size = np.array(np.broadcast_to(np.exp(root), start.shape))
        return {"mean": mean, "size": size if self.shared else np.where(poisson, LARGEST_SIZE, size)}


def _precise_log_density(size: Array, x: Array, success: Array, failure: Array) -> Array:
    """Poisson probabilities of both kinds of tries given their number, the last try being a success."""
    tries = size + x
    given = log_poisson(size, tries * success) + log_poisson(x, tries * failure) - log_poisson(tries, tries)
    return np.log(size / tries) + given


def _log_densities_up_to(most: int, values: Values) -> Array:
    """Log-densities (most + 1, k) of the counts 0, 1, 2, ...: nothing cancels at any size.

    Gamma(x + size) / Gamma(size) is the product of size + m over m below x.
    """
    mean, size, x = values["mean"], values["size"], np.arange(most + 1.0)[:, None]
    rise = np.zeros((most + 1, len(size)))
    np.cumsum(np.log1p(x[:-1] / size), axis=0, out=rise[1:])
    return rise + x * np.log(mean) - scipy.special.gammaln(x + 1) - (size + x) * np.log1p(mean / size)


def _log_densities(x: Array, values: Values) -> Array:
    """Log-densities (n, k) of counts; by the precise form where a count or the size is so large that terms cancel."""
    mean, size, column = values["mean"], values["size"], x[:, None]
    rise = scipy.special.gammaln(column + size) - scipy.special.gammaln(size) - scipy.special.gammaln(column + 1)
    density = rise - size * np.log1p(mean / size) - column * np.log1p(size / mean)
    large = (x > LARGE)[:, None] | (size > LARGE)
    for component in np.flatnonzero(large.any(axis=0)):
        own, mu, rows = size[component], mean[component], large[:, component]
        density[rows, component] = _precise_log_density(own, x[rows], own / (own + mu), mu / (own + mu))
    return density


def _polygamma_sums(x: Array, shares: Array, size: Array, above: Array | None) -> tuple[Array, Array]:
    """Sums (k,) over rows of shares times psi(x + size) - psi(size), and of its derivative."""
    if above is not None:
        inverse = 1 / (size[:, None] + np.arange(above.shape[1]))
        first = np.einsum("km,km->k", above, inverse)
        inverse *= inverse
        return first, -np.einsum("km,km->k", above, inverse)
    moved = x[:, None] + size
    first = np.einsum("nk,nk->k", shares, scipy.special.digamma(moved) - scipy.special.digamma(size))
    second = np.einsum("nk,nk->k", shares, trigamma(moved) - trigamma(size))
    return first, second


def _by_count(x: Array, shares: Array) -> tuple[Array, Array]:
    """The distinct counts (m,), and the shares (m, k) of all rows that have them."""
    distinct, places = np.unique(x, return_inverse=True)
    return distinct, np.stack([np.bincount(places, own, len(distinct)) for own in shares.T], axis=1)


def _shares_above(x: Array, shares: Array) -> Array | None:
    """The shares (k, m) of counts above 0, 1, ..., m - 1; None where counts are so large that these are many."""
    largest = int(x.max())
    if largest > max(MOST_COUNTS, len(x)):
        return None
    places = x.astype(np.intp)
    by_count = np.stack([np.bincount(places, own, largest + 1) for own in shares.T])
    return np.asarray(np.cumsum(by_count[:, :0:-1], axis=1)[:, ::-1], dtype=float)
