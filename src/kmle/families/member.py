"""Distributions of a family as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array

if TYPE_CHECKING:
    from .derived import ExponentialFamily


@dataclass(frozen=True, eq=False)
class Member:
    """One or several distributions of a family, as a value.

    Attributes
    ----------
    family : ExponentialFamily
        The family.
    natural : array (k, D)
        The natural parameters.
    """

    family: ExponentialFamily
    natural: Array

    @property
    def moment(self) -> Array:
        """The moment parameters (k, D)."""
        return self.family.moment_from_natural(self.natural)

    @property
    def source(self) -> dict[str, Array]:
        """The usual parameters; the first axis counts distributions."""
        return self.family.source_from_natural(self.natural)

    def log_density(self, X: ArrayLike) -> Array:
        """log-densities of rows under every distribution.

        Parameters
        ----------
        X : array (n, d)
            The rows.

        Returns
        -------
        array (n, k)
            Natural logarithms.
        """
        return self.family.log_density(X, self.natural)

    def sample(self, size: int, random_state: Any = None) -> Array:
        """Rows from the first distribution.

        Parameters
        ----------
        size : int
            How many.
        random_state : int or Generator, default=None
            Where random numbers come from.

        Returns
        -------
        array (size, d)
            The rows.
        """
        return self.family.sample(self.natural[0], size, np.random.default_rng(random_state))

    def __repr__(self) -> str:
        def show(value: Array) -> str:
            if value.size == 1:
                return f"{value.item():.6g}"
            return np.array2string(np.squeeze(value), precision=6, separator=", ", threshold=20).replace("\n", "")

        return f"{self.family.name}({', '.join(f'{key}={show(value)}' for key, value in self.source.items())})"
