"""Numbers as they are read: a column of them with as many decimals as they deserve, thousands apart."""

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array

MINUS, NARROW_SPACE = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"
SIGNIFICANT = 4
MOST_DECIMALS = 6
LARGEST = 1e9
# Larger numbers are written out where they differ by less than this share, as times do; floats have this many digits.
CLOSE, DIGITS = 1e-2, 15


def column(values: ArrayLike, errors: ArrayLike | None = None) -> list[str]:
    """Numbers with the same number of decimals, so that their points stand under each other.

    With standard errors, as many as leave two digits of the smallest that is not a thousand times below the largest.

    >>> column([1.5, 20.25]), [text.replace(NARROW_SPACE, ",") for text in column([1.7e9, 1.7e9 + 90000])]
    (['1.50', '20.25'], ['1,700,000,000', '1,700,090,000'])
    """
    numbers = np.asarray(values, dtype=float).ravel()
    decimals = _decimals(numbers, None if errors is None else np.asarray(errors, dtype=float).ravel())
    return [plain(value, decimals) for value in numbers]


def plain(value: float, decimals: int | None) -> str:
    """One number with this many decimals; None asks for powers of ten."""
    if not np.isfinite(value):
        return "\N{EN DASH}"
    written = f"{value:.3e}" if decimals is None else f"{value:,.{decimals}f}"
    if not float(written.replace(",", "")):
        written = written.lstrip("-")
    return written.replace(",", NARROW_SPACE).replace("-", MINUS)


def short(value: float) -> str:
    """One number by itself."""
    return column([value])[0]


def count(value: float) -> str:
    """A number of things."""
    return plain(value, 0 if float(value).is_integer() else 1)


def percent(share: float) -> str:
    """A share, as it is written in a sentence."""
    return "< 0.1 %" if 0 < share < 5e-4 else f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """A time, as it is written in a sentence."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _decimals(numbers: Array, errors: Array | None) -> int | None:
    sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
    if sizes.size == 0:
        return 0
    largest = float(sizes.max())
    if largest >= LARGEST:
        apart = float(np.ptp(numbers[np.isfinite(numbers)]))
        if not 0 < apart < CLOSE * largest:
            return None
        left = DIGITS - 1 - int(np.floor(np.log10(largest)))
        return min(int(np.clip(SIGNIFICANT - 1 - np.floor(np.log10(apart)), 0, MOST_DECIMALS)), max(left, 0))
    if largest < 10.0**-MOST_DECIMALS:
        return None
    if (errors is None and np.array_equal(sizes, np.round(sizes))) or largest >= 1e6:
        return 0
    decimals = SIGNIFICANT - 1 - int(np.floor(np.log10(np.median(sizes) if errors is None else largest)))
    if errors is not None and (known := errors[np.isfinite(errors) & (errors > 0)]).size:
        decimals = 1 - int(np.floor(np.log10(known[known > 1e-3 * known.max()].min())))
    return int(np.clip(decimals, 0, MOST_DECIMALS))
