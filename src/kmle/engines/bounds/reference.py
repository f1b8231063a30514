"""What goes with bounds passes in plain NumPy: the statement of what the compiled versions compute."""

import numpy as np
from numpy.typing import NDArray

from ..._kernels.margin_bounds import Balls, Step

Floats = NDArray[np.float64]


def add_drift(moved: Floats, lifted: Floats, balls: Balls, step: Step, threads: int) -> None:
    """Adds the drift of a step of the components (`Moves` in bounds/spans.hpp): moved is (D, k), lines are padded."""
    k = len(lifted)
    for z in range(k):
        others = np.arange(k) != z
        changed = lifted + balls.centers[z] @ moved
        gain = np.where(others, changed - changed[z] + step.rounding, 0.0)
        gap = 1.000001 * np.linalg.norm((moved - moved[:, z : z + 1]) * balls.scale[:, np.newaxis], axis=0)
        step.change[z, :k], step.apart[z, :k] = changed, _rounded_above(gap)
        step.gained[z, :k] = _rounded_above(step.gained[z, :k].astype(float) + gain)
        step.reached[z, :k] = _rounded_above(step.reached[z, :k].astype(float) + gap)
        step.most_gained[z] += gain[others].max() if k > 1 else 0.0
        step.most_apart[z] += gap.max()


def margin_order(
    labels: NDArray[np.int32],
    margins: NDArray[np.float32],
    steps: int,
    typical: float,
    most: float,
    places: NDArray[np.int32],
    threads: int,
) -> None:
    """The rows in order of their labels and, in `steps` steps, of their margins."""
    step = (np.float32(steps) * np.float32(typical)) / (np.fmin(margins, np.float32(most)) + np.float32(typical))
    numbers = labels.astype(np.int64) * steps + steps - 1 - np.minimum(step.astype(np.int64), steps - 1)
    places[:] = np.argsort(numbers.astype(np.uint16), kind="stable")


def _rounded_above(values: Floats) -> NDArray[np.float32]:
    """In single precision, not below."""
    near = values.astype(np.float32)
    return np.where(near < values, np.nextafter(near, np.float32(np.inf)), near)
