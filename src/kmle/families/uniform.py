"""The uniform distribution over a box: a component for noise (Banfield and Raftery, 1993)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .._kernels import summarize_columns
from ..numerics.arrays import Array
from .parameterless import Parameterless
from .support import OUTSIDE, REALS
from .units import Unit, whole

# Equal parts of a column's box that stand for it in numeric integrals.
PARTS = 400


@dataclass(frozen=True)
class Uniform(Parameterless):
    """Noise over the box from `low` to `high`, one bound per column; the data determines a box that is left out.

    With `everywhere` the density outside the box is the one inside it. It then integrates to more than one, but no row
    is refused: this is the noise component of `noise=True`.

    Parameters
    ----------
    low : array (d,), default=None
        The lower corner of the box; by default that of the data.
    high : array (d,), default=None
        The upper corner of the box; by default that of the data.
    everywhere : bool, default=False
        Whether the density is the same outside of the box too.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Uniform().for_data([[1.0, 0.0], [3.0, 5.0]])
    Uniform(n_features=2, low=(1.0, 0.0), high=(3.0, 5.0), everywhere=False)
    """

    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    everywhere: bool = False

    name: ClassVar = "uniform"
    support: ClassVar = REALS

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            value = getattr(self, name)
            if value is not None:
                bounds = tuple(float(bound) for bound in np.atleast_1d(np.asarray(value, dtype=float)))
                object.__setattr__(self, name, bounds)
        if self.low is None or self.high is None:
            if self.low is not self.high:
                raise ValueError("uniform needs both low and high, or neither: the data then determines the box")
            return
        if len(self.low) != len(self.high) or self.n_features not in (None, len(self.low)):
            raise ValueError(f"uniform has {len(self.low)} low and {len(self.high)} high bounds: give one per column")
        object.__setattr__(self, "n_features", len(self.low))
        for column, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if not (np.isfinite(low) and np.isfinite(high) and high > low):
                raise ValueError(
                    f"the box of uniform has no volume: column {column} goes from {low:.6g} to {high:.6g}; "
                    "drop the column or give low and high"
                )

    @property
    def takes_missing(self) -> bool:
        return True

    def units(self) -> tuple[Unit, ...]:
        # Of the columns that a row has the distribution is uniform, too.
        if self.low is None or self.high is None:
            return whole(self)
        boxes = zip(self.low, self.high, strict=True)
        return tuple(Unit(Uniform((low,), (high,), self.everywhere), (c,), ()) for c, (low, high) in enumerate(boxes))

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        if self.low is not None:
            return {}
        summary = summarize_columns(X)
        low, high = (tuple(float(bound) for bound in end) for end in (summary.lowest, summary.highest))
        return {"n_features": X.shape[1], "low": low, "high": high}

    def merge(self, other: Self) -> Self:
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return self
        low = tuple(map(min, self.low, other.low))
        return type(self)(low=low, high=tuple(map(max, self.high, other.high)), everywhere=self.everywhere)

    @property
    def log_volume_of_box(self) -> float:
        """The logarithm of the volume of the box."""
        if self.low is None or self.high is None:
            raise ValueError("uniform has no box yet: use family.for_data(X)")
        return float(np.log(np.subtract(self.high, self.low)).sum())

    def log_carrier(self, X: Array) -> Array:
        inside = np.full(X.shape[:-1], -self.log_volume_of_box)
        if self.everywhere:
            return inside
        assert self.low is not None  # it has a volume
        assert self.high is not None
        return np.where(((np.array(self.low) <= X) & (np.array(self.high) >= X)).all(axis=-1), inside, OUTSIDE)

    def midpoints(self) -> Array:
        """Returns the middles of equal parts of the box of one column.

        Returns
        -------
        array (m,)
            The middles.
        """
        assert self.low is not None  # it has a box
        assert self.high is not None
        edges = np.linspace(self.low[0], self.high[0], PARTS + 1)
        return np.asarray(0.5 * (edges[1:] + edges[:-1]))

    def mean_log_carrier(self, natural: Array) -> Array:
        return np.full(natural.shape[:-1], -self.log_volume_of_box)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        low, high = np.array(self.low), np.array(self.high)
        return rng.uniform(low, high, (size, len(low)))
