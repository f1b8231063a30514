"""Columns of different kinds of which some have shapes that are estimated."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..numerics.differentiation import FRACTION, natural_steps
from .coordinates import CoordinateFamily
from .derived import ExponentialFamily
from .product import Product


@dataclass(frozen=True)
class ShapedProduct(CoordinateFamily, Product):
    """A `Product` with blocks that are no exponential families; `Product` itself makes it.

    Its coordinates are those of such blocks, and the natural parameters of the others.
    """

    def __post_init__(self) -> None:
        for family in self.families:
            if family.joint:
                raise ValueError(
                    f"{family.name} ties the covariances of components, which a product with estimated shapes cannot: "
                    "use 'gaussian', 'diagonal-gaussian' or 'spherical-gaussian' for these columns"
                )
        super().__post_init__()

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether log-densities have second derivatives by the coordinates."""
        return all(family.smooth for family in self.families if isinstance(family, CoordinateFamily))

    @property
    def in_one_step(self) -> bool:  # type: ignore[override]
        """Whether an estimate is the most likely one."""
        return all(family.in_one_step for family in self.families if isinstance(family, CoordinateFamily))

    @property
    def stand_in(self) -> ExponentialFamily:
        return Product(
            tuple(
                replace(family.stand_in, n_features=family.n_features)
                if isinstance(family, CoordinateFamily)
                else family
                for family in self.families
            )
        )

    def fixed_parameters(self) -> dict[str, Any]:
        return {"families": self.families}

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        density = np.zeros((len(X), len(natural)))
        for family, x, part in zip(self.families, self._columns(X), self._slices(natural), strict=True):
            direct = family.direct_log_density(x, part)
            density += family.packed_log_density(x, part) if direct is None else direct
        return density

    def weighted_estimate(
        self, X: Array, shares: Array, prior: Array | None, before: Array | None, spread: Array | None
    ) -> Array:
        none: list[Array | None] = [None] * len(self.families)
        befores = none if before is None else self._slices(before)
        spreads = none if spread is None else self._columns(spread)
        parts = []
        for family, x, start, narrow in zip(self.families, self._columns(X), befores, spreads, strict=True):
            if isinstance(family, CoordinateFamily):
                parts.append(family.weighted_estimate(x, shares, prior, start, narrow))
            else:
                parts.append(estimate_of_rows(family, x, shares if prior is None else shares + prior[:, None], narrow))
        return np.concatenate(parts, axis=1)

    def bounds_reached(self, natural: Array) -> list[str]:
        return self._of_blocks(natural, lambda family, part: family.bounds_reached(part))

    def limits_met(self, natural: Array, n_rows: float) -> list[str]:
        return self._of_blocks(natural, lambda family, part: family.limits_met(part, n_rows))

    def _of_blocks(self, natural: Array, words: Callable[[CoordinateFamily, Array], list[str]]) -> list[str]:
        """What is said of the blocks that have estimated shapes, with their first columns."""
        widths = [family.n_features or 1 for family in self.families]
        first = np.cumsum([0, *widths])
        blocks = zip(first, self.families, self._slices(natural), strict=False)
        return [
            f"{found} in column {column}"
            for column, family, part in blocks
            if isinstance(family, CoordinateFamily)
            for found in words(family, part)
        ]

    @property
    def n_shared(self) -> int:
        return len(self.shared_places())

    def shared_places(self) -> list[int]:
        ends = np.cumsum([family.n_statistics for family in self.families])
        return [
            int(end) - family.n_statistics + place
            for family, end in zip(self.families, ends, strict=True)
            if isinstance(family, CoordinateFamily)
            for place in family.shared_places()
        ]

    def coordinate_units(self, natural: Array) -> Array:
        parts = [
            family.coordinate_units(part)
            if isinstance(family, CoordinateFamily)
            else natural_steps(family.log_normalizer, part) / FRACTION
            for family, part in zip(self.families, self._slices(natural), strict=True)
        ]
        return np.concatenate(parts, axis=-1)

    def has_spread(self, natural: Array, spread: Array | None) -> NDArray[np.bool_]:
        spreads = [None] * len(self.families) if spread is None else self._columns(spread)
        held = []
        for family, part, narrow in zip(self.families, self._slices(natural), spreads, strict=True):
            if isinstance(family, CoordinateFamily):
                held.append(family.has_spread(part, narrow))  # type: ignore[arg-type]
            else:
                held.append(np.isfinite(family.log_normalizer(part)))
                if narrow is not None:
                    held.append(family.has_spread(part, narrow))
        return np.asarray(np.all(held, axis=0))


def estimate_of_rows(family: ExponentialFamily, X: Array, weights: Array, spread: Array | None) -> Array:
    """Natural parameters (k, D) of an exponential family for weights (n, k) of the rows (n, d)."""
    center = family.data_center(X)
    statistics = family.sufficient_statistic(X if center is None else family.centered_rows(X, center))
    moments = weights.T @ statistics / weights.sum(axis=0)[:, None]
    return family.natural_from_centered(moments, center, spread)
