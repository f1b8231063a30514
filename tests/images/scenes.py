"""Small synthetic pictures."""

import numpy as np


def quarters(side=32):
    """Four flat squares: red, green, blue, white."""
    colours = np.array([[[0.8, 0.1, 0.1], [0.1, 0.7, 0.1]], [[0.1, 0.1, 0.8], [0.9, 0.9, 0.9]]])
    return colours.repeat(side // 2, axis=0).repeat(side // 2, axis=1)


def which_quarter(side=32):
    return np.array([[0, 1], [2, 3]]).repeat(side // 2, axis=0).repeat(side // 2, axis=1)


def slope(side=32):
    """A grey plane, darker at the left."""
    return np.tile(np.linspace(0.1, 0.9, side), (side, 1))


def scene(side=64, seed=0):
    """A lit disc before a sky that fades, with a little noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side
    sky = np.stack([0.3 + 0.2 * y, 0.4 + 0.3 * y, 0.9 - 0.3 * y], axis=2)
    disc = np.stack([0.9 - 0.4 * x, 0.5 - 0.3 * x, 0.1 + 0 * x], axis=2)
    inside = (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.09
    return np.clip(np.where(inside[:, :, None], disc, sky) + rng.normal(0, 0.01, (side, side, 3)), 0, 1)
