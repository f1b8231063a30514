"""What is reported of each row by itself, instead of sums over rows."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RowScores:
    """Arrays that a pass fills for n rows and k components; those that are None are not wanted."""

    log_sums: Floats | None = None
    """log sum_j exp(score_j), (n,)"""
    tops: Floats | None = None
    """The highest score, (n,)"""
    shares: Floats | None = None
    """The responsibilities, (n, k)"""
    scores: Floats | None = None
    """All scores, (n, k)"""

    @staticmethod
    def wanting(names: Collection[str], n_rows: int, n_components: int) -> "RowScores":
        """Room for what is named.

        >>> RowScores.wanting(["tops"], 2, 3).tops.shape
        (2,)
        """
        shapes = {"log_sums": (n_rows,), "tops": (n_rows,)}
        return RowScores(**{name: np.empty(shapes.get(name, (n_rows, n_components))) for name in names})

    @property
    def arrays(self) -> tuple[Floats | None, Floats | None, Floats | None, Floats | None]:
        """All of them."""
        return self.log_sums, self.tops, self.shares, self.scores

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.RowScores(*self.arrays)

    @property
    def has_scores(self) -> bool:
        """Whether anything but responsibilities is wanted."""
        return self.log_sums is not None or self.tops is not None or self.scores is not None

    def part(self, rows: slice) -> "RowScores":
        """Room of some of the rows."""
        return RowScores(*(None if array is None else array[rows] for array in self.arrays))

    def check(self, n_rows: int, n_components: int) -> None:
        """Refuses arrays whose shapes do not fit the numbers of rows and components."""
        wanted = {"log_sums": (n_rows,), "tops": (n_rows,)}
        for name, array in vars(self).items():
            shape = wanted.get(name, (n_rows, n_components))
            if array is not None and (
                array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous
            ):
                raise ValueError(
                    f"{name} must be contiguous float64 of shape {shape}, got {array.dtype} {array.shape}."
                )

    def put(self, rows: slice | NDArray[np.intp], scores: NDArray[np.floating[Any]]) -> None:
        """Fills in the places of some rows from their scores (m, k)."""
        top = scores.max(axis=1)
        with np.errstate(invalid="ignore"):
            below = np.where(np.isneginf(top)[:, np.newaxis], -np.inf, scores - top[:, np.newaxis])
            exponentials = np.exp(below)
            total = exponentials.sum(axis=1)
        if self.log_sums is not None:
            with np.errstate(divide="ignore"):
                self.log_sums[rows] = top + np.log(total)
        if self.tops is not None:
            self.tops[rows] = top
        if self.shares is not None:
            with np.errstate(invalid="ignore"):
                self.shares[rows] = exponentials / total[:, np.newaxis]
        if self.scores is not None:
            self.scores[rows] = scores

    def lift(self, by: NDArray[np.floating[Any]]) -> None:
        """Raises what is a score of a row, or a sum of such, by so much for each row (n,)."""
        for values in (self.log_sums, self.tops):
            if values is not None:
                values += by
        if self.scores is not None:
            np.add(self.scores, by[:, np.newaxis], out=self.scores)
