"""The note on rounded columns."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..families.resolution import NARROWEST, NARROWEST_SHAPED
from ..learning import Fit
from ..numerics.arrays import Array

# More columns than this are counted rather than named.
NAMED = 4


def rounded_columns(fit: Fit, names: Sequence[str] | None) -> Iterator[str]:
    """Which columns are rounded to which steps, and what that means for families with a scale."""
    resolution, family = fit.resolution, fit.mixture.family
    spread = None if resolution is None else family.smallest_spread(resolution, None)
    if resolution is None or spread is None:
        return
    # Columns of a product that have no scale have no spread either.
    coarse = np.flatnonzero((resolution.coarse_steps > 0) & (spread > 0))
    if len(coarse):
        shaped = spread is resolution.shaped_spread
        told = f"no component is narrower than {NARROWEST_SHAPED if shaped else NARROWEST} steps"
        yield f"{_columns(coarse, resolution.steps, names)}: {told}, so that none gains by rounding."


def _columns(coarse: NDArray[np.intp], steps: Array, names: Sequence[str] | None) -> str:
    if len(coarse) > NAMED:
        lowest, highest = steps[coarse].min(), steps[coarse].max()
        told = f"of {lowest:.6g}" if lowest == highest else f"from {lowest:.6g} to {highest:.6g}"
        return f"{len(coarse)} columns are rounded to steps {told}"
    each = [f"{f'column {c}' if names is None else repr(names[c])} to steps of {steps[c]:.6g}" for c in coarse]
    return f"Values are rounded, {', '.join(each)}"
