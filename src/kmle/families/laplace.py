"""Heavy-tailed errors around a location that is given or estimated."""

from dataclasses import dataclass
from typing import ClassVar, Self, cast

import numpy as np

from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .diagonal_gaussian import DiagonalGaussian
from .resolution import Resolution
from .scale_family import SMALLEST_MOMENT, ScaleFamily
from .shaped import Shaped, Values
from .shapes import as_columns
from .support import POSITIVE, REALS


@dataclass(frozen=True)
class Laplace(ScaleFamily):
    """Errors around a location: density exp(-|x - location| / scale) / (2 scale) in each column.

    Without a location each component has an estimated one: the weighted median of its rows.

    Parameters
    ----------
    location : float, default=None
        The center; by default it is estimated.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Laplace(location=1.0).mle([[0.0], [4.0]])
    laplace(scale=2)
    >>> Laplace().mle([[0.0], [1.0], [5.0]])
    laplace(location=1, scale=1.66667)
    """

    location: float = None  # type: ignore[assignment]

    name: ClassVar = "laplace"
    support: ClassVar = REALS
    parameters: ClassVar = {"scale": POSITIVE}
    fixed: ClassVar = {"location": REALS}

    def __new__(cls, location: float | None = None, *, n_features: int | None = None) -> Self:
        return super().__new__(cls) if location is not None else cast(Self, ShapedLaplace(n_features=n_features))

    def __getnewargs__(self) -> tuple[float]:
        return (self.location,)

    @property
    def statistic_shape(self) -> float:
        return 1.0

    @property
    def log_constant(self) -> float:
        return -float(np.log(2.0))

    @property
    def edge(self) -> float:
        return self.location

    def sufficient_statistic(self, X: Array) -> Array:
        return np.abs(X - self.location)

    def natural_from_source(self, *, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        scale : array (k, d) or (k,)
            The mean absolute distance from the location, by column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return -1 / as_columns(scale)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": -1 / natural}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.location + rng.choice([-1.0, 1.0], (size, natural.size)) * self.sample_statistic(natural, size, rng)


@dataclass(frozen=True, repr=False)
class ShapedLaplace(Shaped):
    """Errors around an estimated location: weighted medians and mean absolute deviations, both exact."""

    name: ClassVar = "laplace"
    support: ClassVar = REALS
    smooth: ClassVar = False
    parameters: ClassVar = {"location": REALS, "scale": POSITIVE}
    shapes: ClassVar = {"location": (-np.inf, np.inf)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shared:
            raise ValueError("components of laplace cannot share an estimated location: give its value")

    def given(self, **shapes: float) -> ExponentialFamily:
        return Laplace(shapes["location"])

    @property
    def stand_in(self) -> ExponentialFamily:
        return DiagonalGaussian()

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        return resolution.spread

    def deviations(self, source: Values) -> Array:
        return source["scale"]

    def column_log_density(self, x: Array, values: Values) -> Array:
        gap = np.abs(x[:, None] - values["location"])
        gap /= -values["scale"]
        gap -= np.log(2 * values["scale"])
        return gap

    def column_estimate(self, x: Array, shares: Array, before: Values | None, spread: float) -> Values:
        location = weighted_medians(x, shares)
        gaps = np.array([own @ np.abs(x - place) for own, place in zip(shares.T, location, strict=True)])
        return {"location": location, "scale": np.maximum(gaps / shares.sum(axis=0), max(spread, SMALLEST_MOMENT))}


def weighted_medians(x: Array, shares: Array) -> Array:
    """The medians (k,) of numbers (n,) with weights (n, k): the middle of all of them where there are several.

    >>> weighted_medians(np.array([3.0, 1.0, 2.0]), np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    array([2. , 2.5])
    """
    if (x[1:] < x[:-1]).any():
        order = np.argsort(x, kind="stable")
        x, shares = x[order], shares[order]
    medians = np.empty(shares.shape[1])
    for j, own in enumerate(shares.T):
        below = np.cumsum(own)
        half = 0.5 * below[-1]
        first = int(np.searchsorted(below, half))
        last = int(np.searchsorted(below, half, side="right"))
        medians[j] = 0.5 * (x[min(first, len(x) - 1)] + x[min(last, len(x) - 1)])
    return medians
