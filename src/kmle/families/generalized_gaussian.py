"""Errors with tails of a power that is given or estimated."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.line_search import MOST_SECTIONS, maximize
from .derived import ExponentialFamily
from .diagonal_gaussian import DiagonalGaussian
from .laplace import weighted_medians
from .resolution import Resolution
from .scale_family import SMALLEST_MOMENT, ScaleFamily
from .shaped import Shaped, Values, is_estimated, shares_shape
from .shapes import as_columns
from .support import POSITIVE, REALS, Interval


@dataclass(frozen=True)
class GeneralizedGaussian(ScaleFamily):
    """Errors with tails exp(-|(x - location) / scale|^shape): shape 2 is Gaussian, shape 1 is Laplace.

    What is left out of shape and location is estimated; shape="shared" is one for all components.

    Parameters
    ----------
    shape : float, default=None
        The shape; by default it is estimated.
    location : float, default=None
        The center; by default it is estimated.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> GeneralizedGaussian(shape=4.0, location=0.0).mle([[-1.0], [1.0]])
    generalized-gaussian(scale=1.41421)
    """

    shape: float = None  # type: ignore[assignment]
    location: float = None  # type: ignore[assignment]

    name: ClassVar = "generalized-gaussian"
    support: ClassVar = REALS
    parameters: ClassVar = {"scale": POSITIVE}
    fixed: ClassVar = {"shape": POSITIVE, "location": REALS}

    def __new__(
        cls, shape: float | str | None = None, location: float | None = None, *, n_features: int | None = None
    ) -> Self:
        if not is_estimated(shape) and location is not None:
            return super().__new__(cls)
        fixed = None if is_estimated(shape) else float(shape)  # type: ignore[arg-type]
        shared = is_estimated(shape) and shares_shape("shape", shape)
        own = ShapedGeneralizedGaussian(fixed, location, shared=shared, n_features=n_features)
        return cast(Self, own)

    def __getnewargs__(self) -> tuple[float, float]:
        return self.shape, self.location

    @property
    def statistic_shape(self) -> float:
        return 1 / self.shape

    @property
    def log_constant(self) -> float:
        return -float(np.log(2.0) + scipy.special.gammaln(1 + 1 / self.shape))

    @property
    def edge(self) -> float:
        return self.location

    def sufficient_statistic(self, X: Array) -> Array:
        return np.abs(X - self.location) ** self.shape

    def natural_from_source(self, *, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        scale : array (k, d) or (k,)
            The scale of each column: the density falls as exp(-(abs(x - location) / scale)^shape).

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return -(as_columns(scale) ** -self.shape)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": (-natural) ** (-1 / self.shape)}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.location + rng.choice([-1.0, 1.0], (size, natural.size)) * self.sample_statistic(
            natural, size, rng
        ) ** (1 / self.shape)


# Below the least shape a component is a spike at one value, which gains likelihood wherever two values are close.
SMALLEST_SHAPE, LARGEST_SHAPE = 0.5, 50.0
# Turns in which location and shape are improved: of one distribution, of a first estimate of several, of a better one.
ALONE_TURNS, FIRST_TURNS, TURNS = 12, 3, 1
# Points of a search in such a turn for a better estimate: the turns of EM go on from there.
POINTS = 8
# How far from the estimate before it begins, in units of the scale and in logarithms of the shape.
NEAR = 0.05


@dataclass(frozen=True, repr=False)
class ShapedGeneralizedGaussian(Shaped):
    """Errors with an estimated location, shape or both, in turns."""

    fixed_shape: float | None = None
    fixed_location: float | None = None

    name: ClassVar = "generalized-gaussian"
    support: ClassVar = REALS
    smooth: ClassVar = False
    in_one_step: ClassVar = False
    fixed: ClassVar = {"fixed_shape": POSITIVE, "fixed_location": REALS}

    @property
    def parameters(self) -> dict[str, Interval]:
        """Those that are estimated."""
        kept = {"shape": self.fixed_shape is None, "location": self.fixed_location is None, "scale": True}
        domains = {"location": REALS, "scale": POSITIVE, "shape": POSITIVE}
        return {name: domain for name, domain in domains.items() if kept[name]}

    @property
    def shapes(self) -> dict[str, tuple[float, float]]:  # type: ignore[override]
        """Those of the exponential family that are estimated."""
        bounds = {"shape": (SMALLEST_SHAPE, LARGEST_SHAPE), "location": (-np.inf, np.inf)}
        return {name: ends for name, ends in bounds.items() if name in self.parameters}

    def given(self, **shapes: float) -> ExponentialFamily:
        return GeneralizedGaussian(shapes.get("shape", self.fixed_shape), shapes.get("location", self.fixed_location))  # type: ignore[arg-type]

    @property
    def stand_in(self) -> ExponentialFamily:
        return DiagonalGaussian()

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        return resolution.spread

    def deviations(self, source: Values) -> Array:
        return source["scale"]

    def fixed_parameters(self) -> dict[str, Any]:
        fixed = {"shape": self.fixed_shape, "location": self.fixed_location}
        return {**{name: value for name, value in fixed.items() if value is not None}, **super().fixed_parameters()}

    def _all(self, values: Values) -> Values:
        """Values with the fixed ones among them."""
        known = {"shape": self.fixed_shape, "location": self.fixed_location}
        size = len(values["scale"])
        return {**{name: np.full(size, value) for name, value in known.items() if value is not None}, **values}

    def column_log_density(self, x: Array, values: Values) -> Array:
        own = self._all(values)
        gap = np.abs(x[:, None] - own["location"]) / own["scale"]
        constant = np.log(2.0) + scipy.special.gammaln(1 + 1 / own["shape"]) + np.log(own["scale"])
        return -(gap ** own["shape"]) - constant

    def column_estimate(self, x: Array, shares: Array, before: Values | None, spread: float) -> Values:
        k, turns, most = shares.shape[1], TURNS, POINTS
        if before is None:
            before = {"shape": np.full(k, 1.5), "location": weighted_medians(x, shares)}
            before["scale"] = np.full(k, max(float(np.ptp(x)), SMALLEST_MOMENT))
            before = {name: before[name] for name in self.parameters}
            turns, most = ALONE_TURNS if k == 1 else FIRST_TURNS, MOST_SECTIONS
        shape, location = self._all(before)["shape"], self._all(before)["location"]
        for _ in range(turns):
            if self.fixed_location is None:
                location = _best_location(x, shares, location, shape, NEAR * before["scale"], most)
            if self.fixed_shape is None:
                shape = self._best_shape(x, shares, location, shape, spread, most)
        scale, _ = _best_scale(x, shares, location, shape, spread)
        found = {"location": location, "scale": scale, "shape": shape}
        return {name: found[name] for name in self.parameters}

    def _best_shape(self, x: Array, shares: Array, location: Array, shape: Array, spread: float, most: int) -> Array:
        log_gaps = [np.log(np.maximum(np.abs(x - place), SMALLEST_MOMENT)) for place in location]

        def value(at: Array) -> Array:
            found = _fit(log_gaps, shares, np.broadcast_to(np.exp(at), shape.shape), spread)
            return np.atleast_1d(found.sum()) if self.shared else found

        start = np.log(shape)
        first = np.atleast_1d(start.mean()) if self.shared else start
        best = maximize(value, first, np.log(SMALLEST_SHAPE), np.log(LARGEST_SHAPE), NEAR, most=most)
        return np.array(np.broadcast_to(np.exp(best), shape.shape))


def _fit(log_gaps: list[Array], shares: Array, shape: Array, spread: float) -> Array:
    """The log-likelihood (k,) at the best scales, for the logarithms of the distances from the locations."""
    counts = shares.sum(axis=0)
    powers = np.array([own @ np.exp(p * gap) for own, gap, p in zip(shares.T, log_gaps, shape, strict=True)]) / counts
    log_scale = np.maximum(np.log(np.maximum(shape * powers, SMALLEST_MOMENT)) / shape, np.log(max(spread, 1e-150)))
    with np.errstate(over="ignore"):
        rest = powers * np.exp(-shape * log_scale)
    return np.asarray(-counts * (np.log(2.0) + scipy.special.gammaln(1 + 1 / shape) + log_scale + rest))


def _best_scale(x: Array, shares: Array, location: Array, shape: Array, spread: float) -> tuple[Array, Array]:
    """Scales (k,) and the mean powers of the distances from the locations."""
    gaps = [own @ np.abs(x - place) ** p for own, place, p in zip(shares.T, location, shape, strict=True)]
    powers = np.array(gaps) / shares.sum(axis=0)
    return np.maximum((shape * np.maximum(powers, SMALLEST_MOMENT)) ** (1 / shape), max(spread, 1e-150)), powers


def _best_location(x: Array, shares: Array, location: Array, shape: Array, near: Array, most: int) -> Array:
    """Locations (k,) with the least mean power of the distances; one of several minima where the shape is below one.

    The search for them begins within `near` (k,) of the locations given, and looks at `most` points.
    """
    width = max(float(np.ptp(x)), SMALLEST_MOMENT)

    def value(at: Array) -> Array:
        found = [own @ np.abs(x - place) ** p for own, place, p in zip(shares.T, at, shape, strict=True)]
        return -np.array(found)

    return maximize(value, location, float(x.min()), float(x.max()), near, 1e-9 * width, most)
