"""Lifetimes whose shape is given or estimated."""

from dataclasses import dataclass
from typing import ClassVar, Self, cast

import numpy as np

from ..numerics.arrays import Array
from ..numerics.line_search import increasing_root
from .derived import ExponentialFamily
from .gamma import Gamma
from .scale_family import ScaleFamily
from .shaped import Shaped, Values, is_estimated, shares_shape
from .shapes import as_columns
from .support import POSITIVE


@dataclass(frozen=True)
class Weibull(ScaleFamily):
    """Lifetimes: density (c/s) (x/s)^(c-1) exp(-(x/s)^c), c being the shape and s the scale, on x > 0.

    Without a shape each component has an estimated one, and with shape="shared" they have one together.

    Parameters
    ----------
    shape : float, default=None
        The shape; by default it is estimated.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Weibull(shape=2.0).mle([[1.0], [2.0], [3.0]])
    weibull(scale=2.16025)
    >>> Weibull().mle([[1.0], [2.0], [3.0]])
    weibull(scale=2.25859, shape=2.73857)
    """

    shape: float = None  # type: ignore[assignment]

    name: ClassVar = "weibull"
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"scale": POSITIVE}
    fixed: ClassVar = {"shape": POSITIVE}

    def __new__(cls, shape: float | str | None = None, *, n_features: int | None = None) -> Self:
        if not is_estimated(shape):
            return super().__new__(cls)
        return cast(Self, ShapedWeibull(shared=shares_shape("shape", shape), n_features=n_features))

    def __getnewargs__(self) -> tuple[float]:
        return (self.shape,)

    @property
    def statistic_shape(self) -> float:
        return 1.0

    @property
    def log_constant(self) -> float:
        return 0.0

    def sufficient_statistic(self, X: Array) -> Array:
        return X**self.shape

    def log_carrier(self, X: Array) -> Array:
        return (np.log(self.shape) + (self.shape - 1) * np.log(X)).sum(axis=-1)

    def natural_from_source(self, *, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        scale : array (k, d) or (k,)
            The scale of each column: 63 % of the values are below.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return -(as_columns(scale) ** -self.shape)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": (-natural) ** (-1 / self.shape)}

    def mean_log_carrier(self, natural: Array) -> Array:
        return (np.log(self.shape) + (1 - 1 / self.shape) * self.mean_log_statistic(natural)).sum(axis=-1)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.sample_statistic(natural, size, rng) ** (1 / self.shape)


# A component of one value has no bound on its shape.
SMALLEST_SHAPE, LARGEST_SHAPE = 0.02, 1e4
# A draw of zero would be a lifetime of zero.
SMALLEST_DRAW = float(np.finfo(float).tiny)
# The standard deviation is the scale times this, over the shape, where that is large.
SPREAD_TIMES_SHAPE = float(np.pi / np.sqrt(6))


@dataclass(frozen=True, repr=False)
class ShapedWeibull(Shaped):
    """Lifetimes with an estimated shape: the root of an increasing function, by Newton's method."""

    name: ClassVar = "weibull"
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"scale": POSITIVE, "shape": POSITIVE}
    shapes: ClassVar = {"shape": (SMALLEST_SHAPE, LARGEST_SHAPE)}

    def given(self, **shapes: float) -> ExponentialFamily:
        return Weibull(shapes["shape"])

    @property
    def stand_in(self) -> ExponentialFamily:
        return Gamma()

    def deviations(self, source: Values) -> Array:
        wide = SPREAD_TIMES_SHAPE * source["scale"] / source["shape"]
        return np.where(source["shape"] <= 1, np.inf, wide)

    def column_log_density(self, x: Array, values: Values) -> Array:
        scale, shape = values["scale"], values["shape"]
        power = np.log(x)[:, None] - np.log(scale)
        power *= shape
        density = power + (np.log(shape) - np.log(x)[:, None])
        with np.errstate(over="ignore"):
            density -= np.exp(power, out=power)
        return density

    def column_log_probability(self, lower: Array, upper: Array, values: Values) -> Array:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            low, high = ((end[:, None] / values["scale"]) ** values["shape"] for end in (np.maximum(lower, 0), upper))
            return np.where(np.isinf(low), -np.inf, -low + np.log(-np.expm1(low - high)))

    def column_estimate(self, x: Array, shares: Array, before: Values | None, spread: float) -> Values:
        log_x, counts = np.log(x), shares.sum(axis=0)
        mean = shares.T @ log_x / counts
        if before is None:
            variance = shares.T @ (log_x - log_x.max()) ** 2 / counts - (mean - log_x.max()) ** 2
            deviation = np.sqrt(np.maximum(variance, 1e-300))
            start = np.clip(SPREAD_TIMES_SHAPE / deviation, SMALLEST_SHAPE, LARGEST_SHAPE)
        else:
            start = before["shape"]
        return self._root(log_x, shares, counts, mean, start, spread, 1e-12 if before is None else 1e-9)

    def censored_estimate(
        self, x: Array, shares: Array, above: Array, shares_above: Array, before: Values, spread: float
    ) -> Values:
        """The same equation: only what was seen counts in its means of logarithms (Cohen, 1965)."""
        counts, known = shares.sum(axis=0), above > 0
        seen = counts > 0
        log_x = np.log(np.concatenate([x, above[known]]))
        every = np.concatenate([shares, shares_above[known]])[:, seen]
        mean = shares[:, seen].T @ log_x[: len(x)] / counts[seen]
        found = self._root(log_x, every, counts[seen], mean, before["shape"][seen], spread, 1e-9)
        values = {name: before[name].copy() for name in found}
        for name, value in found.items():
            values[name][seen] = value
        return values

    def _root(
        self, log_x: Array, shares: Array, counts: Array, mean: Array, start: Array, spread: float, precision: float
    ) -> Values:
        """The most likely scale and shape for shares (n, k) of lifetimes, of which `counts` (k,) ended.

        `mean` (k,) are the means of the logarithms of those that ended.
        """
        top = float(log_x.max())
        y, mean = log_x - top, mean - top
        # Powers are measured from the longest lifetime of each component: of a large shape they are zero elsewhere.
        longest = np.array([np.max(y, initial=-np.inf, where=own > 0) for own in shares.T])
        mean = mean - longest

        def slope(shape: Array) -> tuple[Array, Array]:
            """Minus the derivative of the mean profile likelihood by the shape, and its own derivative."""
            sums = _tilted_sums(y, longest, shares, np.broadcast_to(shape, start.shape))
            tilted = sums[1] / sums[0]
            value = tilted - 1 / shape - mean
            change = sums[2] / sums[0] - tilted**2 + 1 / shape**2
            if not self.shared:
                return value, change
            return np.atleast_1d(counts @ value), np.atleast_1d(counts @ change)

        first = np.atleast_1d(start.mean()) if self.shared else start
        root = increasing_root(slope, first, SMALLEST_SHAPE, LARGEST_SHAPE, precision)
        shape = np.array(np.broadcast_to(root, start.shape))
        log_scale = self._log_scale(y, longest, shares, counts, shape)
        if spread > 0:
            widest = SPREAD_TIMES_SHAPE * np.exp(top + log_scale) / spread
            narrow = shape > np.maximum(widest, 1.0)
            if narrow.any():
                shape = np.where(narrow, np.maximum(widest, 1.0), shape)
                shape = np.full(shape.shape, shape.min()) if self.shared else shape
                log_scale = self._log_scale(y, longest, shares, counts, shape)
        return {"scale": np.exp(top + log_scale), "shape": shape}

    # A large shape makes the natural parameter, a power of the scale, too small for a number: usual parameters serve.

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        source = self.source_from_natural(natural)
        draws = rng.standard_exponential((size, source["scale"].size))
        return np.asarray(source["scale"] * np.maximum(draws, SMALLEST_DRAW) ** (1 / source["shape"]))

    def direct_entropy(self, natural: Array) -> Array:
        source = self.source_from_natural(natural)
        shape = source["shape"]
        return np.asarray((np.euler_gamma * (1 - 1 / shape) + np.log(source["scale"] / shape) + 1).sum(axis=-1))

    def _log_scale(self, y: Array, longest: Array, shares: Array, counts: Array, shape: Array) -> Array:
        each = zip(shares.T, longest, shape, strict=True)
        powers = np.array([own @ np.exp(np.minimum(c * (y - end), 0.0)) for own, end, c in each])
        return longest + np.log(powers / counts) / shape


def _tilted_sums(y: Array, longest: Array, shares: Array, shape: Array) -> Array:
    """Sums (3, k) of shares times exp(shape z), times that and z, and times that and z squared, where z = y - longest.

    Where a component has shares z is at most zero.
    """
    sums = np.empty((3, len(shape)))
    for j, c in enumerate(shape):
        z = np.minimum(y - longest[j], 0.0)
        tilted = np.exp(c * z)
        tilted *= shares[:, j]
        sums[0, j] = tilted.sum()
        sums[1, j] = tilted @ z
        tilted *= z
        sums[2, j] = tilted @ z
    return sums
