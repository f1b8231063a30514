"""Checks of options that many functions have: one sentence says what is wrong and what may be given."""

from typing import Any

import numpy as np


def whole_number(name: str, value: Any, least: int, other: str = "") -> None:
    """Refuses anything but a whole number of at least `least`; `other` names what else would do.

    >>> whole_number("n_draws", 0, 1)
    Traceback (most recent call last):
    ValueError: n_draws is 0: it must be a whole number, at least 1
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(
            f"{name} is {value!r}: it must be a whole number, at least {least}{',' if other else ''}{other}"
        )


def inner_share(name: str, value: Any) -> None:
    """Refuses anything but a number between 0 and 1, such as a level of confidence.

    >>> inner_share("level", 95)
    Traceback (most recent call last):
    ValueError: level is 95: it must lie between 0 and 1
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value!r}: it must lie between 0 and 1")
