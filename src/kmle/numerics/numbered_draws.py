"""Random numbers by their place in a sequence, so that every part of the data can draw its own."""

import numpy as np

from .arrays import Array

# Philox makes this many numbers with one step of its counter.
AT_ONCE = 4


def uniforms(key: int, first: int, n: int) -> Array:
    """The n uniform numbers from place `first` on of the sequence that belongs to `key`.

    >>> bool((uniforms(7, 0, 10)[3:6] == uniforms(7, 3, 3)).all())
    True
    """
    skipped = first % AT_ONCE
    generator = np.random.Generator(np.random.Philox(key=key).advance(first // AT_ONCE))
    return generator.random(skipped + n)[skipped:]
