"""Data as people have it: rounded, saturated, heavy-tailed, zero-inflated, or with one cell that is wrong."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Shape = tuple[int, int]

EXTREME = 1e6


def photograph_rows(shape: Shape, seed: int, noise: bool = False) -> Array:
    """Position and colour of every pixel (or of every few) of a photograph that comes with scikit-learn, standardised.

    Its pixels are whole numbers and many are saturated; noise undoes the rounding.
    """
    from sklearn.datasets import load_sample_image

    pixels = load_sample_image("china.jpg").astype(float)
    step = round(np.sqrt(pixels.shape[0] * pixels.shape[1] / shape[0]))
    pixels = pixels[::step, ::step]
    if noise:
        pixels = pixels + np.random.default_rng(seed).uniform(size=pixels.shape)
    y, x = np.mgrid[: pixels.shape[0], : pixels.shape[1]]
    rows = np.column_stack([x.ravel(), y.ravel(), pixels.reshape(-1, 3)])
    return np.asarray((rows - rows.mean(axis=0)) / rows.std(axis=0))


def with_one_extreme_cell(rows: Array) -> Array:
    """The same rows, one cell of which is far off."""
    rows = rows.copy()
    rows[0, 0] = EXTREME
    return rows


def heavy_rows(shape: Shape, seed: int, n_components: int, spread: float) -> Array:
    """Clusters with the tails of Cauchy distributions (Student's t with one degree of freedom)."""
    rng = np.random.default_rng(seed)
    n, d = shape
    mean = rng.standard_normal((n_components, d)) * spread / np.sqrt(2 * d)
    factor = np.eye(d) + 0.5 * rng.standard_normal((n_components, d, d)) / np.sqrt(d)
    which = rng.integers(n_components, size=n)
    normal = np.einsum("nij,nj->ni", factor[which], rng.standard_normal((n, d)))
    return np.asarray(mean[which] + normal / np.sqrt(rng.chisquare(1, n))[:, None])


def census_rows(shape: Shape, seed: int) -> Array:
    """A table like UCI Adult's numbers: age, sampling weight, years of education, capital gain and loss, hours a week.

    Gain and loss are zero in 92 % and 95 % of the rows and skewed otherwise, half of the hours are 40, and the scales
    of the columns differ by five orders of magnitude. Years of education and gains depend on a class of income.
    """
    rng = np.random.default_rng(seed)
    n = shape[0]
    rich = rng.random(n) < 0.24
    age = np.clip(np.round(17 + rng.gamma(np.where(rich, 5.5, 2.0), np.where(rich, 5.0, 10.0))), 17, 90)
    weight = np.round(np.exp(rng.normal(12.0, 0.6, n)))
    education = np.clip(np.round(rng.normal(np.where(rich, 11.6, 9.6), 2.4)), 1, 16)
    gain = np.where(rng.random(n) < np.where(rich, 0.21, 0.042), np.round(np.exp(rng.normal(8.6, 0.9, n))), 0.0)
    gain = np.where(rich & (rng.random(n) < 0.02), 99_999.0, np.minimum(gain, 99_999.0))
    loss = np.where((gain == 0) & (rng.random(n) < 0.05), np.round(rng.normal(1870, 350, n)).clip(155, 4356), 0.0)
    hours = np.where(rng.random(n) < 0.47, 40.0, np.clip(np.round(rng.normal(np.where(rich, 47, 38), 14)), 1, 99))
    return np.column_stack([age, weight, education, gain, loss, hours])
