"""A family as independent blocks of columns: each has statistics of its own, and scores of blocks add."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .derived import ExponentialFamily
from .product import Product


@dataclass(frozen=True)
class Block:
    """Some columns that are independent of all others given the component."""

    family: ExponentialFamily
    """The family of these columns alone."""
    columns: slice
    statistics: NDArray[np.intp]
    """The places of their statistics among those of all columns."""


def blocks_of(family: ExponentialFamily) -> list[Block]:
    """The smallest independent blocks of a family that knows its columns.

    >>> from kmle.families import Gamma, Gaussian, Poisson
    >>> blocks = blocks_of(Product((Poisson(), Gamma(n_features=2), Gaussian(n_features=2))))
    >>> [block.statistics.tolist() for block in blocks]
    [[0], [1, 3], [2, 4], [5, 6, 7, 8, 9]]
    """
    if isinstance(family, Product):
        return _of_product(family)
    width = family.n_features or 1
    if width == 1 or not family.independent_columns:
        return [Block(family, slice(0, width), np.arange(family.n_statistics))]
    one = replace(family, n_features=1)
    places = np.arange(family.n_statistics).reshape(-1, width)
    return [Block(one, slice(c, c + 1), places[:, c]) for c in range(width)]


def _of_product(family: Product) -> list[Block]:
    found: list[Block] = []
    first_column = first_statistic = 0
    for part, width in zip(family.families, family.widths, strict=True):
        for block in blocks_of(part):
            columns = slice(first_column + block.columns.start, first_column + block.columns.stop)
            found.append(Block(block.family, columns, first_statistic + block.statistics))
        first_column += width
        first_statistic += part.n_statistics
    return found
