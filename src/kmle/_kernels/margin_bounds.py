"""What bounds passes know of spans of rows and of the steps of components; bounds/spans.hpp says what each array is.

Passes in NumPy take these objects as they are, compiled ones as the objects of the same names that `compiled` makes.
"""

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

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.Balls(self.rows_each, self.centers, self.anchors, self.radii, self.scale)


@dataclass(frozen=True)
class Step:
    """How components have moved, last and since the beginning (the structure of this name in bounds/spans.hpp).

    `rounding` bounds the error of the difference of two changes, for any row.
    """

    change: Singles
    apart: Singles
    rounding: float
    gained: Singles
    reached: Singles
    most_gained: Floats
    most_apart: Floats

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        last, since = (self.change, self.apart, self.rounding), (self.gained, self.reached)
        return module.Step(*last, *since, self.most_gained, self.most_apart)


@dataclass(frozen=True)
class MarginBounds:
    """Lower bounds on the margins of spans of rows (m, width), limits (m,), and balls (`Spans` in bounds/spans.hpp)."""

    margin_bounds: Singles
    limits: Floats
    balls: Balls

    def forget(self, n_components: int) -> None:
        """Nothing is known any more."""
        self.margin_bounds[:, :n_components] = -np.inf
        self.limits[:] = -np.inf

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.MarginBounds(self.margin_bounds, self.limits, self.balls.compiled(module))
