"""Tails: where a divergence is infinite because one distribution has rows that the other all but rules out.

KL(p : q) is infinite where the mean of -log q under p is. Far out -log q grows like a power of x (2 for Gaussians, 1
for exponential tails), or like log x; near zero it may grow like 1/x. Heavy tails of p have means only of powers below
an index, such as the degrees of freedom of Student t. A mixture has the heaviest tails of its components.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .diagonal_gaussian import DiagonalGaussian

Source: TypeAlias = dict[str, Any]

# -log of the density grows like |x| to this power, far from the center.
POWERS: dict[str, Callable[[Source], float]] = {
    "beta": lambda source: np.inf,
    "chi-square": lambda source: 1.0,
    "exponential": lambda source: 1.0,
    "fixed-shape-gamma": lambda source: 1.0,
    "gamma": lambda source: 1.0,
    "gaussian": lambda source: 2.0,
    "generalized-gaussian": lambda source: source["shape"],
    "half-normal": lambda source: 2.0,
    "inverse-gaussian": lambda source: 1.0,
    "laplace": lambda source: 1.0,
    "maxwell": lambda source: 2.0,
    "rayleigh": lambda source: 2.0,
    "uniform": lambda source: 0.0 if source["everywhere"] else np.inf,
    "weibull": lambda source: source["shape"],
}
# Near zero it grows like 1/x for these.
RECIPROCAL = ("inverse-gamma", "inverse-gaussian")
# Means of |x|^m are finite for m below this.
HEAVY: dict[str, Callable[[Source], float]] = {
    "inverse-gamma": lambda source: source["shape"],
    "pareto": lambda source: source["shape"],
    "student-t": lambda source: source["degrees"],
}
# Means of 1/x^m are finite for m below this.
NEAR_ZERO: dict[str, Callable[[Source], float]] = {
    "beta": lambda source: source["alpha"],
    "chi-square": lambda source: 0.5 * source["degrees"],
    "exponential": lambda source: 1.0,
    "fixed-shape-gamma": lambda source: source["shape"],
    "gamma": lambda source: source["shape"],
    "half-normal": lambda source: 1.0,
    "maxwell": lambda source: 3.0,
    "rayleigh": lambda source: 2.0,
    "weibull": lambda source: source["shape"],
}


def tails_of(family: ExponentialFamily, natural: Array) -> Array:
    """Indices (2, d) of one distribution (D,): means of |x|^m, and of |x|^-m, are finite for m below them."""
    return _by_column(family, natural, lambda name, source: (_of(HEAVY, name, source), _of(NEAR_ZERO, name, source)))


def growth_of(family: ExponentialFamily, natural: Array) -> Array:
    """Powers (2, d) of |x|, and of 1/|x|, that -log of the density grows with; zero: more slowly, or unknown."""
    return _by_column(family, natural, lambda name, source: (_of(POWERS, name, source, 0.0), float(name in RECIPROCAL)))


def kl_is_infinite(tails: Array, growth: Array) -> bool:
    """Whether tails (m, 2, d) of one mixture's components are too heavy for all of another's (k, 2, d), in a column.

    Tails that are heavy in several columns together are not looked at: False may be wrong, True never is.
    """
    least = growth.min(axis=0)
    return bool(((least > 0) & (least >= tails) & np.isfinite(tails)).any())


def _of(table: dict[str, Callable[[Source], float]], name: str, source: Source, otherwise: float = np.inf) -> float:
    return table[name](source) if name in table else otherwise


def _by_column(family: ExponentialFamily, natural: Array, value: Callable[[str, Source], tuple[float, float]]) -> Array:
    found = np.empty((2, family.n_features or 1))
    for unit in family.units():
        own, theta = unit.family, natural[list(unit.statistics)]
        name = "gaussian" if own.is_gaussian or isinstance(own, DiagonalGaussian) else own.name
        source = {
            key.removeprefix("fixed_"): number for key, number in vars(own).items() if isinstance(number, int | float)
        }
        given = own.source_from_natural(theta[None]).items()
        source |= {key: number.item() for key, number in given if number.size == 1}
        found[:, list(unit.columns)] = np.array(value(name, source))[:, None]
    return found
