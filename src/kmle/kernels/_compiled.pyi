from numpy import float32, float64, int32
from numpy.typing import NDArray

def assign(
    statistics: NDArray[float32] | NDArray[float64],
    natural: NDArray[float64],
    bias: NDArray[float64],
) -> tuple[NDArray[int32], NDArray[float64]]: ...
def label_sums(
    statistics: NDArray[float32] | NDArray[float64],
    labels: NDArray[int32],
    n_labels: int,
    weights: NDArray[float64] | None = None,
) -> tuple[NDArray[float64], NDArray[float64]]: ...
def posterior_sums(
    statistics: NDArray[float32] | NDArray[float64],
    natural: NDArray[float64],
    bias: NDArray[float64],
    weights: NDArray[float64] | None = None,
) -> tuple[NDArray[float64], NDArray[float64], NDArray[float64]]: ...
