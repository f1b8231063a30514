"""Which family suits a table, told by what its columns hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..families import (
    Bernoulli,
    Beta,
    DiagonalGaussian,
    Dirichlet,
    ExponentialFamily,
    Gamma,
    Gaussian,
    Poisson,
    Product,
    VonMises,
    VonMisesFisher,
)
from ..families.support import Simplex, UnitSphere
from ..numerics.arrays import Array
from .table import listed

# Whole numbers that start below this are counts; those that start above are measurements in whole units.
SMALL_COUNT = 10
# Positive numbers that span at least this factor reach down towards zero; others are as good as real.
WIDE_SPAN = 10
# Columns that end within this of both ends of a turn, without a telling name, are angles; so is half of it with one.
TURN_GAP = 0.03
ANGLE_WORDS = ("angle", "direction", "heading", "bearing", "azimuth", "theta", "phi", "phase", "radian")
# Full covariances need this many rows for each of their entries.
ROWS_FOR_COVARIANCE = 5

CONTINUOUS = ("real", "positive", "bounded")
WORDS = {
    "binary": "zeros and ones",
    "counts": "counts",
    "angles": "angles in radians",
    "bounded": "numbers strictly between 0 and 1",
    "positive": f"positive numbers over a factor of {WIDE_SPAN} or more",
    "real": "real numbers",
}


@dataclass(frozen=True)
class Guess:
    """A family and why it was chosen."""

    family: ExponentialFamily
    reason: str


def guess_family(X: Array, columns: Sequence[str] | None = None) -> Guess:
    """The family whose support is the least that holds every row; correlated real columns get full Gaussians.

    >>> guess_family(np.array([[3.0], [0.0], [7.0]]), ["visits"]).reason
    "'visits' holds counts"
    """
    names = [f"x{place}" for place in range(X.shape[1])] if columns is None else list(columns)
    if X.shape[1] > 1 and (whole := _whole_rows(X)) is not None:
        return whole
    kinds = _settled([_kind(X[:, place], name) for place, name in enumerate(names)])
    return Guess(_family(kinds, len(X)), _reason(names, kinds, len(X)))


def _whole_rows(X: Array) -> Guess | None:
    """Rows that are proportions or directions as a whole."""
    for place in (np.linspace(0, len(X) - 1, min(len(X), 1000)).astype(np.intp), slice(None)):
        rows = X[place]
        if not np.isfinite(rows).all() or np.isin(rows, (0.0, 1.0)).all():
            return None
        proportions, directions = not Simplex().outside(rows).any(), not UnitSphere().outside(rows).any()
        if not proportions and not directions:
            return None
    if proportions:
        return Guess(Dirichlet(), "every row is positive and sums to one")
    return Guess(VonMisesFisher(), "every row has length one")


def _kind(column: Array, name: str) -> str:
    low, high = float(column.min()), float(column.max())
    if low >= 0 and low < SMALL_COUNT and _is_whole(column):
        return "binary" if high <= 1 else "counts"
    if _is_turn(low, high, name):
        return "angles"
    if low > 0:
        return "bounded" if high < 1 else "positive" if high >= WIDE_SPAN * low else "real"
    return "real"


def _is_whole(column: Array) -> bool:
    blocks = (column[start : start + (1 << 16)] for start in range(0, len(column), 1 << 16))
    return all(bool((np.floor(block) == block).all()) for block in blocks)


def _is_turn(low: float, high: float, name: str) -> bool:
    for start in (0.0, -np.pi):
        inside = low >= start and high <= start + 2 * np.pi
        named = any(word in name.lower() for word in ANGLE_WORDS) and high - low > np.pi / 2
        whole = low - start < TURN_GAP and start + 2 * np.pi - high < TURN_GAP
        if inside and (named or whole):
            return True
    return False


def _settled(kinds: list[str]) -> list[str]:
    """Continuous columns of different kinds are taken as real together, so that their correlations are kept."""
    continuous = {kind for kind in kinds if kind in CONTINUOUS}
    if len(continuous) < 2:
        return kinds
    common = "positive" if continuous == {"positive", "bounded"} else "real"
    return [common if kind in CONTINUOUS else kind for kind in kinds]


def _family(kinds: list[str], n_rows: int) -> ExponentialFamily:
    if len(set(kinds)) == 1:
        return _of_kind(kinds[0], len(kinds), n_rows, None)
    blocks: list[tuple[str, int]] = []
    for kind in kinds:
        if blocks and blocks[-1][0] == kind:
            blocks[-1] = (kind, blocks[-1][1] + 1)
        else:
            blocks.append((kind, 1))
    return Product(tuple(_of_kind(kind, width, n_rows, width) for kind, width in blocks))


def _of_kind(kind: str, width: int, n_rows: int, n_features: int | None) -> ExponentialFamily:
    if kind == "real":
        full = n_rows >= ROWS_FOR_COVARIANCE * width * (width + 3) / 2
        return Gaussian(n_features=n_features) if full else DiagonalGaussian(n_features=n_features)
    families: dict[str, Any] = {
        "binary": Bernoulli,
        "counts": Poisson,
        "angles": VonMises,
        "bounded": Beta,
        "positive": Gamma,
    }
    family: ExponentialFamily = families[kind](n_features=n_features)
    return family


def _reason(names: list[str], kinds: list[str], n_rows: int) -> str:
    told = []
    for kind in dict.fromkeys(kinds):
        own = [name for name, other in zip(names, kinds, strict=True) if other == kind]
        told.append(f"{listed(own, 4)} {'holds' if len(own) == 1 else 'hold'} {WORDS[kind]}")
    if isinstance(_family(kinds, n_rows), DiagonalGaussian):
        told.append(f"{n_rows} rows are too few for full covariances")
    return "; ".join(told)
