"""Unordered categories."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..numerics.special import log_sum_exp
from .bernoulli import SMALLEST_PROBABILITY
from .derived import ExponentialFamily
from .support import UNIT_CLOSED, Integers, Support
from .units import Unit

# More categories than this are other things: identifiers, times, measurements.
MOST_CATEGORIES = 1 << 20


@dataclass(frozen=True)
class Categorical(ExponentialFamily):
    """Category codes 0, 1, ..., K-1 in each column; `n_categories` is K, or one K for each column.

    Left out, the numbers of categories are read off the data. The `probabilities` of all columns stand side by side
    in one row, and so do the natural parameters, their logarithms (normalised: F is then zero). A category that was
    never seen is legal: its probability is kept at 1e-12.

    Parameters
    ----------
    n_categories : int, default=None
        The number of categories; by default that of the data.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Categorical().mle([[0], [2], [2], [1]]).source
    {'probabilities': array([[0.25, 0.25, 0.5 ]])}
    """

    n_categories: int | tuple[int, ...] | None = None

    name: ClassVar = "categorical"
    parameters: ClassVar = {"probabilities": UNIT_CLOSED}

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.n_categories, tuple):
            if self.n_features not in (None, len(self.n_categories)):
                raise ValueError(f"n_categories has {len(self.n_categories)} columns, n_features is {self.n_features}")
            object.__setattr__(self, "n_features", len(self.n_categories))
        if self.n_categories is not None and np.min(self.n_categories) < 1:
            raise ValueError(f"n_categories is {self.n_categories}: each column needs at least one category")

    @property
    def support(self) -> Support:
        if self.n_categories is None:
            return Integers()
        levels = self.n_categories
        return Integers(0, levels - 1 if isinstance(levels, int) else tuple(level - 1 for level in levels))

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        fixed = super().fixed_from_data(X)
        if self.n_categories is None:
            # NaN and negative codes are refused later, with their place; here they only must not break the count.
            largest = np.nan_to_num(X, nan=0.0, posinf=0.0).max(axis=0)
            if largest.max() >= MOST_CATEGORIES:
                column = int(np.argmax(largest))
                raise ValueError(
                    f"column {column} holds the category {largest[column]:.6g}: number the categories 0, 1, 2, ..., "
                    f"at most {MOST_CATEGORIES} of them"
                )
            fixed["n_categories"] = tuple(int(code) + 1 for code in np.maximum(largest, 0))
        return fixed

    def merge(self, other: Self) -> Self:
        if self == other or not isinstance(self.n_categories, tuple) or not isinstance(other.n_categories, tuple):
            return super().merge(other)
        pairs = zip(self.n_categories, other.n_categories, strict=True)
        return replace(self, n_categories=tuple(max(mine, theirs) for mine, theirs in pairs))

    def fixed_from_n_statistics(self, order: int) -> dict[str, Any]:
        if self.n_categories is None:
            return {"n_categories": order, "n_features": 1}
        return super().fixed_from_n_statistics(order)

    @property
    def redundancy(self) -> int:
        return self.n_features or 1

    @property
    def takes_missing(self) -> bool:
        return True

    def units(self) -> tuple[Unit, ...]:
        levels = self._levels(self.n_features or 1)
        ends = np.cumsum(levels).tolist()
        return tuple(
            Unit(Categorical((level,)), (column,), tuple(range(end - level, end)))
            for column, (level, end) in enumerate(zip(levels, ends, strict=True))
        )

    def _levels(self, n_features: int) -> tuple[int, ...]:
        if isinstance(self.n_categories, tuple):
            return self.n_categories
        if self.n_categories is None:
            raise ValueError("categorical has no categories yet: use family.for_data(X)")
        return (self.n_categories,) * n_features

    def _columns(self, parameter: Array) -> list[Array]:
        """The span of each column, as (..., K)."""
        levels = self._levels(1)
        if len(levels) == 1 and parameter.shape[-1] != levels[0]:
            levels = levels * (parameter.shape[-1] // levels[0])
        return np.split(parameter, np.cumsum(levels)[:-1], axis=-1)

    def n_statistics_for(self, n_features: int) -> int:
        return sum(self._levels(n_features))

    def sufficient_statistic(self, X: Array) -> Array:
        levels = self._levels(X.shape[1])
        starts: NDArray[np.intp] = np.concatenate([[0], np.cumsum(levels)[:-1]]).astype(np.intp)
        one_hot = np.zeros((len(X), sum(levels)))
        np.put_along_axis(one_hot, X.astype(np.intp) + starts, 1.0, axis=1)
        return one_hot

    def log_normalizer(self, natural: Array) -> Array:
        return np.sum([log_sum_exp(column) for column in self._columns(natural)], axis=0)

    def moment_from_natural(self, natural: Array) -> Array:
        return np.concatenate([scipy.special.softmax(column, axis=-1) for column in self._columns(natural)], axis=-1)

    def natural_from_moment(self, moment: Array) -> Array:
        return np.concatenate([log_proportions(column) for column in self._columns(moment)], axis=-1)

    def natural_from_source(self, *, probabilities: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        probabilities : array (k, d, n_categories) or (k, total)
            The probabilities of the categories, column after column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        probabilities = np.atleast_2d(probabilities)
        family = self if self.n_categories is not None else Categorical(probabilities.shape[-1])
        return np.concatenate([log_probabilities(column) for column in family._columns(probabilities)], axis=-1)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"probabilities": self.moment_from_natural(natural)}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        draws = [rng.choice(column.size, size, p=scipy.special.softmax(column)) for column in self._columns(natural)]
        return np.stack(draws, axis=1).astype(float)


def log_proportions(moment: Array) -> Array:
    """log of the proportions of non-negative numbers, none below the smallest probability, summing to one."""
    total = np.maximum(moment.sum(axis=-1, keepdims=True), SMALLEST_PROBABILITY)
    proportions = moment / total
    np.maximum(proportions, SMALLEST_PROBABILITY, out=proportions)
    floored_total = proportions.sum(axis=-1, keepdims=True)
    np.log(proportions, out=proportions)
    proportions -= np.log(floored_total)
    return proportions


def log_probabilities(given: Array) -> Array:
    """log of probabilities given by hand, however small; a zero stands for the smallest probability."""
    positive = np.where(given == 0, SMALLEST_PROBABILITY, given)
    return np.log(positive) - np.log(positive.sum(axis=-1, keepdims=True))
