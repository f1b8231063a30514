"""Angles."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from ..numerics.solvers import sphere_concentration
from ..numerics.special import scaled_bessel
from .scaled_columns import ScaledColumns
from .shapes import as_columns, blocks, join
from .support import ANGLES, NON_NEGATIVE

# Anything less is as good as uniform.
SMALLEST_CONCENTRATION = 1e-10


@dataclass(frozen=True)
class VonMises(ScaledColumns):
    """Angles in radians around a `mean` with a `concentration`: density of the form exp(concentration cos(x - mean)).

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> VonMises().mle([[0.1], [0.3], [-0.1]]).source["mean"].round(4)
    array([[0.1]])
    """

    name: ClassVar = "von-mises"
    independent_columns: ClassVar = True
    support: ClassVar = ANGLES
    parameters: ClassVar = {"mean": ANGLES, "concentration": NON_NEGATIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return 2 * n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return join(np.cos(X), np.sin(X))

    def log_normalizer(self, natural: Array) -> Array:
        concentration = np.hypot(*blocks(natural, 2))
        return (np.log(2 * np.pi) + scaled_bessel(0.0, concentration).log_value).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        quotient = scaled_bessel(0.0, np.hypot(*blocks(natural, 2))).quotient
        return natural * join(quotient, quotient)

    def natural_from_moment(self, moment: Array) -> Array:
        length = np.hypot(*blocks(moment, 2))
        ratio = sphere_concentration(length, 2) / np.where(length > 0, length, 1.0)
        return moment * join(ratio, ratio)

    def natural_from_source(self, *, mean: Array, concentration: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        mean : array (k, d) or (k,)
            The mean direction of each column, in radians.
        concentration : array (k, d) or (k,)
            The concentration of each column; zero is uniform.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        angle, length = as_columns(mean), as_columns(concentration)
        return join(length * np.cos(angle), length * np.sin(angle))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        cosine, sine = blocks(natural, 2)
        return {"mean": np.arctan2(sine, cosine), "concentration": np.hypot(cosine, sine)}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        source = self.source_from_natural(natural)
        return rng.vonmises(source["mean"], source["concentration"], (size, natural.size // 2))

    def column_spread(self, natural: Array) -> Array:
        return 1 / np.sqrt(np.maximum(np.hypot(*blocks(natural, 2)), SMALLEST_CONCENTRATION))

    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        ratio = 1 / (spread**2 * np.maximum(np.hypot(*blocks(natural, 2)), SMALLEST_CONCENTRATION))
        return natural * join(ratio, ratio)
