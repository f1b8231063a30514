"""What skipping passes know of stretches of rows and of the steps of components; passes.hpp says what each array is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Balls:
    """Balls that hold t(x) of stretches of `rows_each` rows (m of them): `homes` (m,) says which of the centres (k, D).

    `radii` (m,) are measured in units of the `scale` (D,), which is in proportion to the deviations from the centres.
    """

    rows_each: int
    centres: Floats
    homes: NDArray[np.int32]
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
class Certain:
    """What is certain of stretches of rows (`Stretches` in passes.hpp): leads (m, width), limits (m,), and balls."""

    leads: Singles
    limits: Floats
    balls: Balls

    def forget(self, n_components: int) -> None:
        """Nothing is known any more."""
        self.leads[:, :n_components] = -np.inf
        self.limits[:] = -np.inf

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As the kernels take them."""
        return self.balls.rows_each, self.leads, self.limits, self.balls.homes, self.balls.radii
