"""Special functions SciPy lacks, or loses digits in: accurate where learning needs them, and vectorised."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from .arrays import Array

# Logarithms of factorials of whole numbers below this stand in a table.
TABULATED_FACTORIALS = 1024
# Values that are worked on together: they stay in the cache.
BLOCK_VALUES = 1 << 15

# log a - psi(a) = 1/(2a) + sum_n B_2n / (2n a^2n): the asymptotic series of digamma without its logarithm.
_BERNOULLI_OVER_2N = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# psi'(a) = 1/a + 1/(2a^2) + sum_n B_2n / a^(2n+1): that of its derivative.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_SERIES_FROM = 16.0
_MANY = 200


@lru_cache(maxsize=1)
def _log_factorials() -> Array:
    return np.asarray(scipy.special.gammaln(np.arange(TABULATED_FACTORIALS) + 1.0))


def log_factorial(x: Array) -> Array:
    """log x! of numbers of at least zero; small whole numbers, of which counts consist, are looked up.

    >>> log_factorial(np.array([3.0, 0.0])).round(4)
    array([1.7918, 0.    ])
    """
    # (Nothing is looked up where entries are missing: NaN is not at least zero; nor in what records a formula.)
    if isinstance(x, np.ndarray) and x.min(initial=0.0) >= 0 and x.max(initial=0.0) < TABULATED_FACTORIALS:
        whole = x.astype(np.intp)
        if np.array_equal(whole, x):
            return np.asarray(_log_factorials()[whole])
    found: Array = scipy.special.gammaln(x + 1)
    return found


def log_sum_exp(x: Array) -> Array:
    """log sum exp along the last axis, a few lines at a time.

    >>> log_sum_exp(np.array([[1000.0, 1000.0], [-np.inf, 0.0]])).round(4)
    array([1000.6931,    0.    ])
    """
    lines = np.atleast_2d(x).reshape(-1, x.shape[-1])
    found = np.empty(len(lines))
    step = max(1, BLOCK_VALUES // max(1, lines.shape[1]))
    for first in range(0, len(lines), step):
        block = lines[first : first + step]
        top = block.max(axis=1, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            found[first : first + step] = np.log(np.exp(block - top[:, np.newaxis]).sum(axis=1)) + top
    return found.reshape(x.shape[:-1])


def log_minus_digamma(a: Array) -> Array:
    """log(a) - psi(a) to full relative precision: the plain difference loses a digit for each digit of a.

    >>> bool(abs(log_minus_digamma(np.array(1e9)) * 2e9 - 1) < 1e-8)
    True
    """
    a = np.asarray(a, dtype=float)
    large = np.maximum(a, _SERIES_FROM)
    squared = (1 / large) ** 2
    series = np.zeros_like(large)
    for coefficient in reversed(_BERNOULLI_OVER_2N):
        series = (series + coefficient) * squared
    small = np.minimum(a, _SERIES_FROM)
    return np.where(a >= _SERIES_FROM, 0.5 / large + series, np.log(small) - scipy.special.digamma(small))


def trigamma(a: Array) -> Array:
    """The derivative of digamma at numbers above 0; of many by its series, a hundred times as fast as SciPy.

    >>> (trigamma(np.array([1.0, 1e9])) * [6 / np.pi**2, 1e9]).round(8)
    array([1., 1.])
    """
    a = np.asarray(a, dtype=float)
    if a.size < _MANY:
        return np.asarray(scipy.special.zeta(2.0, a))
    small = a < _SERIES_FROM
    inverse = 1 / np.where(small, a + _SERIES_FROM, a)
    squared = inverse**2
    series = np.zeros_like(inverse)
    for coefficient in reversed(_BERNOULLI):
        series = (series + coefficient) * squared
    found = inverse * (1 + 0.5 * inverse + series)
    # psi'(a) is psi'(a + m) and the sum of 1 / (a + i)^2 over i below m.
    own = a[small]
    with np.errstate(divide="ignore", over="ignore"):
        found[small] += sum(1 / (own + i) ** 2 for i in reversed(range(int(_SERIES_FROM))))
    return found


def digamma_minus_total(alpha: Array) -> Array:
    """psi(alpha_i) - psi(sum alpha) along the last axis, to full relative precision even when one alpha dominates."""
    total = alpha.sum(axis=-1, keepdims=True)
    # What is beside alpha_i: the difference would cancel for the largest of them, and only for that one.
    largest = np.arange(alpha.shape[-1]) == np.argmax(alpha, axis=-1)[..., None]
    rest = np.where(largest, np.where(largest, 0.0, alpha).sum(axis=-1, keepdims=True), total - alpha)
    log_share = np.where(alpha > rest, np.log1p(-np.minimum(rest / total, 0.5)), np.log(alpha / total))
    return np.asarray(log_share - log_minus_digamma(alpha) + log_minus_digamma(total))


def inverse_digamma(y: Array) -> Array:
    """The a > 0 with psi(a) = y, for every real y (Newton from Minka's start, at most ten steps).

    >>> round(float(inverse_digamma(np.array(scipy.special.digamma(3.5)))), 12)
    3.5
    """
    y = np.asarray(y, dtype=float)
    # Beyond these the answer over- or underflows a float; the bounds keep every step finite.
    bounded = np.clip(y, -1e300, 690.0)
    a = np.where(
        bounded >= -2.22, np.exp(bounded) + 0.5, -1 / (np.minimum(bounded, -2.22) - scipy.special.digamma(1.0))
    )
    for _ in range(10):
        step = (scipy.special.digamma(a) - bounded) / trigamma(a)
        a = np.maximum(a - step, a / 2)
        # Digits double: the next step would be too small to see.
        if np.all(np.abs(step) <= 1e-9 * a):
            break
    return a


def multivariate_digamma_gap(a: Array, size: int) -> Array:
    """sum_i psi(a + (1 - i)/2) - size log a for i = 1..size: negative, and free of cancellation."""
    a = np.asarray(a, dtype=float)[..., None]
    offsets = -np.arange(size) / 2
    return np.asarray((np.log1p(offsets / a) - log_minus_digamma(a + offsets)).sum(axis=-1))


def multivariate_trigamma(a: Array, size: int) -> Array:
    """sum_i psi'(a + (1 - i)/2) for i = 1..size."""
    return np.asarray(trigamma(np.asarray(a, dtype=float)[..., None] - np.arange(size) / 2).sum(axis=-1))


class ScaledBessel(NamedTuple):
    """What a von Mises-Fisher distribution of order v asks of the modified Bessel function I_v, all finite at x = 0."""

    log_value: Array  # log(I_v(x) / x^v)
    quotient: Array  # I_{v+1}(x) / (x I_v(x))
    ratio_gap: Array  # 1 - I_{v+1}(x) / I_v(x), accurate also when tiny


_DEBYE_TERMS = 18
_DEBYE_ORDER = 16.0


@lru_cache(maxsize=1)
def _debye_polynomials() -> tuple[Array, Array]:
    """Coefficients of U_k(p) of Debye's uniform expansion (DLMF 10.41.9) and of W_k with V_k = U_k + (1-p^2) W_k."""
    zero = Fraction(0)
    u: list[list[Fraction]] = [[Fraction(1)]]
    for _ in range(_DEBYE_TERMS):
        previous = u[-1]
        following = [zero] * (len(previous) + 3)
        for power, c in enumerate(previous):
            # (1/2) p^2 (1 - p^2) U'  and  (1/8) int_0^p (1 - 5 s^2) U ds
            following[power + 1] += c * power / 2 + c / (8 * (power + 1))
            following[power + 3] -= c * power / 2 + 5 * c / (8 * (power + 3))
        u.append(following)
    w: list[list[Fraction]] = [[zero]]
    for previous in u[:-1]:
        term = [zero] * (len(previous) + 1)
        for power, c in enumerate(previous):
            term[power + 1] -= c / 2 + c * power
        w.append(term)

    def as_matrix(polynomials: Sequence[Sequence[Fraction]]) -> Array:
        matrix = np.zeros((len(polynomials), 3 * _DEBYE_TERMS + 1))
        for row, polynomial in zip(matrix, polynomials, strict=True):
            row[: len(polynomial)] = [float(c) for c in polynomial]
        return matrix

    return as_matrix(u), as_matrix(w)


@lru_cache(maxsize=16)
def _debye_coefficients(order: float) -> Array:
    """Of sum U_k(p) / order^k and of sum W_k(p) / order^k, in powers of p: (powers, 2)."""
    inverse_powers = order ** -np.arange(_DEBYE_TERMS + 1.0)
    return np.column_stack([inverse_powers @ matrix for matrix in _debye_polynomials()])


def _debye_series(p: Array, order: float) -> tuple[Array, Array]:
    """sum U_k(p) / order^k and sum W_k(p) / order^k."""
    coefficients = _debye_coefficients(order)
    # All powers at once and one product: a loop over the powers would take ten times as long.
    powers = np.empty((*p.shape, len(coefficients)))
    powers[..., 0] = 1.0
    powers[..., 1:] = p[..., None]
    series = np.multiply.accumulate(powers, axis=-1) @ coefficients
    return series[..., 0], series[..., 1]


def scaled_bessel(order: float, x: Array) -> ScaledBessel:
    """I_v(x) and its ratio for v >= 0, x >= 0, from v = 0 to tens of thousands and x = 0 to 1e12.

    Debye's uniform expansion at an order of at least 16, then the stable downward recurrence
    q_v = 1 / (2(v+1) + x^2 q_{v+1}) for the quotients q_v = I_{v+1} / (x I_v).
    """
    x = np.asarray(x, dtype=float)
    steps = max(0, int(np.ceil(_DEBYE_ORDER - order)))
    top = order + steps
    root = np.hypot(top, x)
    p = top / root
    u, w = _debye_series(p, top)
    # I_v'/I_v = (root/x)(1 + delta) with delta = (1 - p^2) sum W_k / v^k / sum U_k / v^k, and 1 - p^2 = x^2 / root^2.
    relative_delta = w / u
    quotient = 1 / (root + top) + relative_delta / root
    ratio_gap = 2 * top / (x + top + root) - x * relative_delta / root
    log_value = root - top * np.log(top + root) - 0.5 * np.log(2 * np.pi * root) + np.log(u)
    for v in order + np.arange(steps)[::-1]:
        # 1 - r_v = (2(v+1) - x gap) / (2(v+1) + x - x gap): exact to rounding while x is large; else from the quotient.
        ratio_gap = (2 * (v + 1) - x * ratio_gap) / (2 * (v + 1) + x - x * ratio_gap)
        quotient = 1 / (2 * (v + 1) + x * x * quotient)
        log_value = log_value - np.log(quotient)
    return ScaledBessel(log_value, quotient, np.where(x < 1, 1 - x * quotient, ratio_gap))
