"""Small tables with what real data has and drawn data has not: edges, outliers, grids, heavy tails, mixed scales."""

import numpy as np


def image(rng, side=64):
    """x, y and three colours of every pixel, standardised: flat patches, gradients and no noise."""
    down, across = np.mgrid[:side, :side] / side
    shapes = [(down - a) ** 2 + (across - b) ** 2 < r for a, b, r in rng.uniform([0, 0, 0.01], [1, 1, 0.1], (12, 3))]
    colours = np.zeros((side, side, 3)) + across[..., None] * rng.uniform(0, 0.5, 3)
    for shape, colour in zip(shapes, rng.uniform(0, 1, (12, 3)), strict=True):
        colours[shape] = colour
    colours = np.round(255 * colours)
    rows = np.column_stack([across.ravel(), down.ravel(), colours.reshape(-1, 3)])
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def clusters(rng, n=6000, d=10, k=8):
    """Rows around k centers."""
    return 3 * rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))


def one_cell(rng):
    """The same with one extreme cell."""
    X = clusters(rng)
    X[0, 0] = 1e6
    return X


def whole_numbers(rng):
    """The same in whole numbers."""
    return np.round(10 * clusters(rng, d=4))


def cauchy(rng):
    """Tails without a mean."""
    return clusters(rng, d=5) + 0.3 * rng.standard_cauchy((6000, 5))


def rounded(rng):
    """Rounded to 0.1."""
    return np.round(clusters(rng, d=4), 1)


def adult(rng):
    """Age, a skewed weight, schooling, two amounts that are nearly always zero, and hours that are mostly 40."""
    n = 6000
    gains = np.where(rng.uniform(size=n) < 0.08, np.round(np.exp(rng.normal(8.5, 1, n))), 0)
    losses = np.where(rng.uniform(size=n) < 0.05, np.round(rng.normal(1870, 370, n)), 0)
    hours = np.where(rng.uniform(size=n) < 0.47, 40, np.clip(np.round(rng.normal(40, 15, n)), 1, 99))
    return np.column_stack(
        [
            np.clip(np.round(17 + rng.gamma(2.2, 10, n)), 17, 90),
            np.round(np.exp(rng.normal(12, 0.55, n))),
            np.clip(np.round(rng.normal(10, 2.5, n)), 1, 16),
            gains,
            losses,
            hours,
        ]
    )


RAW = {
    "picture": image,
    "one cell": one_cell,
    "whole numbers": whole_numbers,
    "cauchy": cauchy,
    "rounded": rounded,
    "adult": adult,
}
