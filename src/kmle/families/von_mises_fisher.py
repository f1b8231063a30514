"""Directions in any dimension."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..numerics.arrays import Array
from ..numerics.solvers import sphere_concentration
from ..numerics.special import scaled_bessel
from .derived import ExponentialFamily
from .shapes import as_columns, as_scalars
from .support import NON_NEGATIVE, UnitSphere


@dataclass(frozen=True)
class VonMisesFisher(ExponentialFamily):
    """Unit vectors in d >= 2 dimensions around a `direction` with a `concentration`; density on the sphere's surface.

    Stable from d = 2 to 10 000 and beyond. Identical rows would send the concentration to infinity; it stops at 1e10.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> VonMisesFisher().mle([[1.0, 0.0], [0.0, 1.0]]).source["direction"].round(4)
    array([[0.7071, 0.7071]])
    """

    name: ClassVar = "von-mises-fisher"
    support: ClassVar = UnitSphere()
    sparse: ClassVar = True
    parameters: ClassVar = {"direction": UnitSphere(), "concentration": NON_NEGATIVE}

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        if X.shape[1] < 2:
            raise ValueError("von-mises-fisher needs at least two columns; for a column of angles use von-mises")
        return super().fixed_from_data(X)

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_normalizer(self, natural: Array) -> Array:
        d = natural.shape[-1]
        bessel = scaled_bessel(d / 2 - 1, np.linalg.norm(natural, axis=-1))
        return 0.5 * d * np.log(2 * np.pi) + bessel.log_value

    def moment_from_natural(self, natural: Array) -> Array:
        d = natural.shape[-1]
        return natural * scaled_bessel(d / 2 - 1, np.linalg.norm(natural, axis=-1)).quotient[..., None]

    def natural_from_moment(self, moment: Array) -> Array:
        length = np.linalg.norm(moment, axis=-1)
        concentration = sphere_concentration(length, moment.shape[-1])
        return moment * (concentration / np.where(length > 0, length, 1.0))[..., None]

    def natural_from_source(self, *, direction: Array, concentration: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        direction : array (k, d)
            The mean directions, of length one.
        concentration : array (k,)
            The concentrations; zero is uniform.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return as_columns(direction) * as_scalars(concentration)[:, None]

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        concentration = np.linalg.norm(natural, axis=-1)
        # Without concentration every direction is as good; the first axis is reported.
        first_axis = (np.arange(natural.shape[-1]) == 0).astype(float)
        scale = np.where(concentration > 0, concentration, 1.0)[..., None]
        direction = np.where(concentration[..., None] > 0, natural / scale, first_axis)
        return {"direction": direction, "concentration": concentration}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        source = self.source_from_natural(natural)
        direction = source["direction"]
        gap = _sample_gaps(float(source["concentration"]), natural.size, size, rng)[:, None]
        # A uniform direction across: Gaussian noise with its part along the axis removed.
        noise = rng.standard_normal((size, natural.size))
        noise -= (noise @ direction)[:, None] * direction
        across = noise / np.linalg.norm(noise, axis=1, keepdims=True)
        rows = (1 - gap) * direction + np.sqrt(gap * (2 - gap)) * across
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _sample_gaps(concentration: float, d: int, size: int, rng: np.random.Generator) -> Array:
    """One minus cosines of the angle to the mean direction, by Wood's rejection (1994).

    At least two in five draws are kept. A cosine near one has lost the digits that tell it from one; its gap has not.
    """
    slope = (d - 1) / (2 * concentration + np.sqrt(4 * concentration**2 + (d - 1) ** 2))
    peak_gap = 2 * slope / (1 + slope)
    ceiling = (d - 1) * np.log(peak_gap * (2 - peak_gap))
    gaps = np.empty(size)
    filled = 0
    while filled < size:
        beta = rng.beta((d - 1) / 2, (d - 1) / 2, 2 * (size - filled) + 16)
        gap = 2 * slope * beta / (1 - (1 - slope) * beta)
        height = concentration * (peak_gap - gap) + (d - 1) * np.log(peak_gap + (1 - peak_gap) * gap) - ceiling
        kept = gap[height >= np.log(rng.random(gap.size))]
        take = min(kept.size, size - filled)
        gaps[filled : filled + take] = kept[:take]
        filled += take
    return gaps
