"""The usual parameters of distributions as flat rows, so that they can be differentiated and averaged alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..families.support import Angles
from ..numerics.arrays import Array


@dataclass(frozen=True)
class SourceLayout:
    """Where each usual parameter of a distribution stands in a flat row of all of them."""

    family: ExponentialFamily
    shapes: dict[str, tuple[int, ...]]

    @staticmethod
    def of(family: ExponentialFamily, natural: Array) -> "SourceLayout":
        """The layout of the distributions (k, D) of a family."""
        source = family.source_from_natural(natural)
        return SourceLayout(family, {name: value.shape[1:] for name, value in source.items()})

    def flat(self, natural: Array) -> Array:
        """All usual parameters of distributions (..., D) side by side, (..., m)."""
        leading = natural.shape[:-1]
        values = self.family.source_from_natural(natural).values()
        return np.concatenate([value.reshape(*leading, -1) for value in values], axis=-1)

    def split(self, flat: Array) -> dict[str, Array]:
        """The inverse of `flat`: parameters, or numbers about them such as their errors, by name."""
        sizes = [int(np.prod(shape)) for shape in self.shapes.values()]
        parts = np.split(flat, np.cumsum(sizes)[:-1], axis=-1)
        return {
            name: part.reshape(*flat.shape[:-1], *shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def near(self, flat: Array, base: Array) -> Array:
        """Flat parameters, angles among them shifted by whole turns to lie as close to `base` as they can."""
        turns = np.where(self._circular, np.round((flat - base) / (2 * np.pi)), 0.0)
        return np.asarray(flat - 2 * np.pi * turns)

    @property
    def _circular(self) -> NDArray[np.bool_]:
        domains = self.family.parameters
        marks = [np.full(int(np.prod(s)), isinstance(domains[name], Angles)) for name, s in self.shapes.items()]
        return np.concatenate(marks)
