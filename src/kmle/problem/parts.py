"""Problems whose rows lie in several places."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.sparse import SparseRows
from ..data.table import Rows
from .objective import PreciseProblem

T = TypeVar("T")


class PartedProblem(PreciseProblem):
    """A learning problem of rows in parts, each of which can be asked alone."""

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """How many parts there are."""

    @abstractmethod
    def over_part(self, part: int, function: Callable[[Rows | SparseRows, int], T]) -> T:
        """What a function of rows, and of the place of their first one among all, says of one part."""

    @abstractmethod
    def places_in_parts(self, sampled: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Which rows of each part are the rows of `sample` with these indices, in ascending order."""
