"""The array types every layer uses."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]
Labels: TypeAlias = NDArray[np.int32]
