"""What bounds passes know of spans of rows and of the steps of components; passes.hpp says what each array is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Balls:
    """Balls that hold t(x) of spans of `rows_each` rows (m of them): `anchors` (m,) says which of the centers (k, D).

    `radii` (m,) are measured in units of the `scale` (D,), which is in proportion to the deviations from the centers.
    """

    rows_each: int
    centers: Floats
    anchors: NDArray[np.int32]
    radii: Singles
    scale: Floats


@dataclass(frozen=True)
class Step:
    """How components have moved, last and since the beginning (the structure of this name in passes.hpp)."""

    change: Singles
    apart: Singles
    rounding: float
    gained: Singles
    reached: Singles
    most_gained: Floats
    most_apart: Floats

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As the kernels take them."""
        first = (self.change, self.apart, self.rounding)
        return (*first, self.gained, self.reached, self.most_gained, self.most_apart)


@dataclass(frozen=True)
class MarginBounds:
    """What is certain of spans of rows (`Stretches` in passes.hpp): margins (m, width), limits (m,), and balls."""

    margin_bounds: Singles
    limits: Floats
    balls: Balls

    def forget(self, n_components: int) -> None:
        """Nothing is known any more."""
        self.margin_bounds[:, :n_components] = -np.inf
        self.limits[:] = -np.inf

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As the kernels take them."""
        return self.balls.rows_each, self.margin_bounds, self.limits, self.balls.anchors, self.balls.radii
