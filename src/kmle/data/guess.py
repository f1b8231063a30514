"""Which family suits a table, told by what its columns hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import scipy

from ..families import (
    Bernoulli,
    Beta,
    Categorical,
    DiagonalGaussian,
    Dirichlet,
    ExponentialFamily,
    Gamma,
    Gaussian,
    LogNormal,
    Poisson,
    Product,
    VonMises,
    VonMisesFisher,
)
from ..families.support import TOLERANCE, Simplex, UnitSphere
from ..numerics.arrays import Array
from ..numerics.grid import grid_step
from ..numerics.solvers import gamma_shape

# Whole numbers that start below this are counts; those that start above are measurements in whole units.
SMALL_COUNT = 10
# Whole numbers with at least this mean, or with a variance this many times the mean, are amounts rather than counts:
# a mixture of Poisson distributions, whose variance is their mean, would need a component for every few rows.
LARGE_MEAN = 1000
MUCH_VARIANCE = 30
# Positive numbers that span at least this factor reach down towards zero; others are as good as real.
WIDE_SPAN = 10
# Columns that end within this of both ends of a turn, without a telling name, are angles; so is half of it with one.
TURN_GAP = 0.03
ANGLE_WORDS = ("angle", "direction", "heading", "bearing", "azimuth", "theta", "phi", "phase", "radian")
# Names of columns that tell rows apart: id, customer_id, CustomerID, index, row, Unnamed: 0, ...
ID_NAME = re.compile(
    r"(.*[_ .-])?(id|ids|uid|uuid|key|index|idx|rownum|rowid|row|record|nr|no|no\.|number|#)|.*[a-z]id|unnamed.*"
)
# So few rows number themselves by chance.
FEWEST_NUMBERED = 5
# Full covariances need this many rows for each of their entries.
ROWS_FOR_COVARIANCE = 5

# A positive column beside others is taken alone where that gains this much, in nats per row, over one Gaussian of all.
SKEWED_GAIN, MOST_JUDGED = 0.1, 5000
# This is added to the variances of scaled columns, so that combinations of others have a likelihood.
SMALLEST_SHARE = 1e-6

# Twice the entropy of a standard Gaussian, log(2 pi e).
GAUSSIAN_ENTROPY = 1 + float(np.log(2 * np.pi))
# Proportions are rounded to no more than this share of their total.
ROUNDED_TOTAL = 0.01

CONTINUOUS = ("real", "positive", "bounded")
WORDS = {
    "binary": "zeros and ones",
    "counts": "counts",
    "amounts": "whole numbers that vary far more than Poisson counts",
    "large": "whole numbers too large for Poisson counts",
    "categories": "categories",
    "angles": "angles in radians",
    "bounded": "numbers strictly between 0 and 1",
    "positive": f"positive numbers that span a factor of {WIDE_SPAN} or more",
    "real": "real numbers",
}


def listed(names: list[str], most: int = 8) -> str:
    """Names in a sentence, cut short when there are many.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


@dataclass(frozen=True)
class Guess:
    """A family that fits a kind of data, as far as the rows tell.

    Attributes
    ----------
    family : ExponentialFamily
        The family.
    reason : str
        Why it was chosen.
    """

    family: ExponentialFamily
    reason: str


def guess_family(
    X: Array, columns: Sequence[str] | None = None, categories: Mapping[str, Sequence[Any]] | None = None
) -> Guess:
    """Guesses a family from the content of the columns: the one with the smallest support that holds every row.

    Correlated real columns give full Gaussians.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    columns : sequence of str, default=None
        The names of the columns.
    categories : mapping of str to sequence, default=None
        The names of the levels of columns that hold codes.

    Returns
    -------
    Guess
        The family and the reason.

    Examples
    --------
    >>> guess_family(np.array([[3.0], [0.0], [7.0]]), ["visits"]).reason
    "'visits' holds counts"
    """
    names = [f"x{place}" for place in range(X.shape[1])] if columns is None else list(columns)
    levels = [len((categories or {}).get(name, ())) for name in names]
    if X.shape[1] > 1 and not any(levels) and (whole := _whole_rows(X)) is not None:
        return whole
    entries = [_entries(X[:, place]) for place in range(len(names))]
    found = ["categories" if levels[place] else _kind(entries[place], name) for place, name in enumerate(names)]
    modelled = [_modelled(kind, entries[place]) for place, kind in enumerate(found)]
    kinds = _decided(modelled, [float(column.min()) > 0 for column in entries], len(X))
    kinds = _with_skewed(kinds, modelled, X)
    reason = _reason(names, found, kinds, len(X))
    total = None if any(levels) else _rounded_total(X)
    if total is not None:
        reason += (
            f"; rows sum to about {total}, as proportions do: divide each by its sum, and replace zeros, for the family"
            " dirichlet"
        )
    return Guess(_family(kinds, levels, len(X)), reason)


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


def _rounded_total(X: Array) -> int | None:
    """The total of proportions or percentages: 1 or 100 in every row, as closely as the rounding of entries allows."""
    if len(X) < FEWEST_NUMBERED or X.shape[1] < 2:
        return None
    for place in (slice(0, FEWEST_NUMBERED), slice(None)):
        rows = X[place]
        sums = rows.sum(axis=1, dtype=float)
        total = 100 if sums[0] > 50 else 1
        if not (rows >= 0).all() or np.abs(sums - total).max() > total * ROUNDED_TOTAL * X.shape[1]:
            return None
    numbers = X.astype(np.result_type(X.dtype, np.float32), copy=False)
    steps = [grid_step(column) for column in numbers.T]
    exact = np.abs(sums - total).max() <= TOLERANCE * total
    if (exact and min(steps) == max(steps) == 1) or np.isin(X, (0.0, 1.0)).all():
        return None
    return total if exact or np.abs(sums - total).max() <= 0.501 * sum(steps) else None


def _entries(column: Array) -> Array:
    """The values of a column that are there; zero where none is, which a fit refuses."""
    seen = column[~np.isnan(column)] if np.isnan(column).any() else column
    return seen if len(seen) else np.zeros(1)


def _kind(column: Array, name: str) -> str:
    low, high = float(column.min()), float(column.max())
    if low >= 0 and low < SMALL_COUNT and _is_whole(column):
        return "binary" if high <= 1 else _count_kind(column)
    if _is_turn(low, high, name):
        return "angles"
    if low > 0:
        return "bounded" if high < 1 else "positive" if high >= WIDE_SPAN * low else "real"
    return "real"


def _count_kind(column: Array) -> str:
    mean = float(column.mean(dtype=float))
    if mean >= LARGE_MEAN:
        return "large"
    variance = float(np.square(column - mean, dtype=float).mean())
    return "amounts" if variance > MUCH_VARIANCE * mean else "counts"


def _modelled(kind: str, column: Array) -> str:
    """Numbers that are whole but no counts are taken as positive ones, or real ones where there are zeros."""
    if kind not in ("amounts", "large"):
        return kind
    low, high = float(column.min()), float(column.max())
    return "positive" if low > 0 and high >= WIDE_SPAN * low else "real"


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


def _decided(kinds: list[str], positive: list[bool], n_rows: int) -> list[str]:
    """Continuous columns of different kinds are taken as real together, so that their correlations are kept.

    Positive ones stay positive where there are too few rows for correlations.
    """
    continuous = [place for place, kind in enumerate(kinds) if kind in CONTINUOUS]
    found = {kinds[place] for place in continuous}
    if len(found) < 2:
        return kinds
    all_positive = "positive" in found and all(positive[place] for place in continuous)
    apart = found == {"positive", "bounded"} or not _full(len(continuous), n_rows)
    common = "positive" if all_positive and apart else "real"
    return [common if kind in CONTINUOUS else kind for kind in kinds]


def _with_skewed(kinds: list[str], modelled: list[str], X: Array) -> list[str]:
    """Positive columns that were taken as real are taken alone where one distribution of each kind tells to.

    What a skewed distribution gains is compared with what the Gaussian knows of a column from those beside it.
    """
    candidates = [place for place, kind in enumerate(kinds) if kind == "real" and modelled[place] == "positive"]
    rows = X[np.linspace(0, len(X) - 1, min(len(X), MOST_JUDGED)).astype(np.intp)].astype(float)
    rows = rows[~np.isnan(rows).any(axis=1)]
    real = [place for place, kind in enumerate(kinds) if kind == "real"]
    if not candidates or len(real) < 2 or len(rows) <= 2 * len(real):
        return kinds
    alone = {place: _skewed(rows[:, place]) for place in candidates}
    best = _gaussian_likelihood(rows, kinds)
    for place in sorted(candidates, key=lambda place: -alone[place][1]):
        kind, likelihood = alone[place]
        trial = [*kinds[:place], kind, *kinds[place + 1 :]]
        reached = _gaussian_likelihood(rows, trial)
        if reached + likelihood > best + SKEWED_GAIN:
            kinds, best = trial, reached
    return kinds


def _skewed(column: Array) -> tuple[str, float]:
    """The better one of gamma and log-normal distributions of a column, and its mean log-likelihood."""
    logs = np.log(column)
    mean, mean_log = float(column.mean()), float(logs.mean())
    log_normal = -0.5 * (GAUSSIAN_ENTROPY + np.log(logs.var())) - mean_log
    shape = float(gamma_shape(np.array(np.log(mean) - mean_log)))
    gamma = (shape - 1) * mean_log - shape - float(scipy.special.gammaln(shape)) + shape * np.log(shape / mean)
    return ("positive", gamma) if gamma >= log_normal else ("skewed", float(log_normal))


def _gaussian_likelihood(rows: Array, kinds: list[str]) -> float:
    """The mean log-likelihood of Gaussians of neighbouring real columns, one of each block."""
    total, place = 0.0, 0
    for kind, run in groupby(kinds):
        width = len(list(run))
        if kind == "real":
            block = rows[:, place : place + width]
            scatter = np.cov(block.T, ddof=0).reshape(width, width)
            if not _full(width, len(rows)):
                scatter = np.diag(np.diagonal(scatter))
            deviations = np.sqrt(np.diagonal(scatter))
            scales = np.where(deviations > 0, deviations, 1.0)
            smallest = np.linalg.slogdet(scatter / np.outer(scales, scales) + SMALLEST_SHARE * np.eye(width))[1]
            total -= 0.5 * (width * GAUSSIAN_ENTROPY + smallest) + float(np.log(scales).sum())
        place += width
    return total


def _family(kinds: list[str], levels: list[int], n_rows: int) -> ExponentialFamily:
    if len(set(kinds)) == 1:
        return _of_kind(kinds[0], levels, n_rows, None)
    blocks: list[tuple[str, list[int]]] = []
    for kind, level in zip(kinds, levels, strict=True):
        if blocks and blocks[-1][0] == kind:
            blocks[-1][1].append(level)
        else:
            blocks.append((kind, [level]))
    return Product(tuple(_of_kind(kind, own, n_rows, len(own)) for kind, own in blocks))


def _of_kind(kind: str, levels: list[int], n_rows: int, n_features: int | None) -> ExponentialFamily:
    if kind == "real":
        return _gaussian(len(levels), n_rows, n_features)
    if kind == "categories":
        return Categorical(n_features=n_features, n_categories=levels[0] if len(set(levels)) == 1 else tuple(levels))
    families: dict[str, Any] = {
        "binary": Bernoulli,
        "counts": Poisson,
        "angles": VonMises,
        "bounded": Beta,
        "positive": Gamma,
        "skewed": LogNormal,
    }
    family: ExponentialFamily = families[kind](n_features=n_features)
    return family


def _gaussian(width: int, n_rows: int, n_features: int | None) -> ExponentialFamily:
    kind = Gaussian if _full(width, n_rows) else DiagonalGaussian
    return kind(n_features=n_features)


def _full(width: int, n_rows: int) -> bool:
    """Whether there are enough rows for full covariances of `width` columns."""
    return width == 1 or n_rows >= ROWS_FOR_COVARIANCE * width * (width + 3) / 2


def _reason(names: list[str], found: list[str], kinds: list[str], n_rows: int) -> str:
    parts = []
    for kind in dict.fromkeys(found):
        own = [name for name, other in zip(names, found, strict=True) if other == kind]
        parts.append(f"{listed(own, 4)} {'holds' if len(own) == 1 else 'hold'} {WORDS[kind]}")
    alone = [name for name, kind, own in zip(names, found, kinds, strict=True) if _is_alone(kind, own, kinds)]
    together = {kind for kind, own in zip(found, kinds, strict=True) if kind in CONTINUOUS and own == "real"}
    if alone:
        one = len(alone) == 1
        parts.append(f"{listed(alone, 4)} {'is skewed and does' if one else 'are skewed and do'} not join the others")
    if len(together) > 1 or (len({kind for kind in found if kind in CONTINUOUS}) > 1 and "real" not in kinds):
        common = "real" if "real" in kinds else "positive"
        parts.append(f"measurements of different kinds are treated together as {common} numbers")
    wide = max((len(list(run)) for kind, run in groupby(kinds) if kind == "real"), default=1)
    if not _full(wide, n_rows):
        parts.append(f"{n_rows} {'row is' if n_rows == 1 else 'rows are'} too few for full covariances")
    return "; ".join(parts)


def _is_alone(found: str, kind: str, kinds: list[str]) -> bool:
    """Whether a positive column beside real ones has a family of its own."""
    positive = found in ("positive", "amounts", "large")
    return positive and (kind == "skewed" or (kind == "positive" and "real" in kinds))


# Columns that say nothing ---------------------------------------------------------------------------------------------


def constant_columns(X: Array, columns: Sequence[str]) -> list[str]:
    """Columns whose values are all the same."""
    if len(X) < 2:
        return []
    entries = [_entries(X[:, place]) for place in range(len(columns))]
    return [name for name, own in zip(columns, entries, strict=True) if (own == own[0]).all()]


def two_valued_columns(X: Array, columns: Sequence[str]) -> list[str]:
    """Columns of two small whole numbers other than zero and one, as 1 and 2: names of groups rather than counts."""
    if len(X) < FEWEST_NUMBERED:
        return []
    return [name for place, name in enumerate(columns) if _is_two_valued(_entries(X[:, place]))]


def _is_two_valued(column: Array) -> bool:
    low, high = float(column.min()), float(column.max())
    small = low >= 0 and low < high < SMALL_COUNT and high > 1
    return (
        small and low == np.floor(low) and high == np.floor(high) and bool(((column == low) | (column == high)).all())
    )


# Ids ------------------------------------------------------------------------------------------------------------------


def index_columns(X: Array, columns: Sequence[str]) -> list[str]:
    """Columns that number or name the rows and measure nothing: 0, 1, 2, ... or different whole numbers called id."""
    if len(X) < FEWEST_NUMBERED or len(columns) < 2:
        return []
    found = [name for place, name in enumerate(columns) if _numbers_rows(X[:, place], name)]
    return found if len(found) < len(columns) else []


def _numbers_rows(column: Array, name: str) -> bool:
    named = name.strip() == "" or bool(ID_NAME.fullmatch(name.strip().lower()))
    step = np.diff(column)
    if column[0] in (0.0, 1.0) and (step == 1).all():
        return True
    return named and _is_whole(column) and len(np.unique(column)) == len(column)
