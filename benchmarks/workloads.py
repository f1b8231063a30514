"""The workloads: what data, which model, from which start, against whom."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.cluster import KMeans

from kmle import Mixture
from kmle.families import ExponentialFamily, FixedCovarianceGaussian, resolve

from .raw import Array, Shape, census_rows, heavy_rows, photograph_rows, with_one_extreme_cell

# Starts are found on this many rows at most, by k-means++ and three Lloyd steps.
START_ROWS = 50_000
# Every component of a start is pulled this far to the law of all the data, so that every peer can factor it.
START_SHRINKAGE = 0.01
# Covariances of the workloads are of the order of one; with an eigenvalue below this, likelihoods are not compared.
SINGULAR = 1e-8

GAUSSIAN_PEERS = ("scikit-learn", "scikit-learn float32", "pomegranate float32", "Armadillo")
K_MEANS_PEERS = (
    "scikit-learn lloyd",
    "scikit-learn lloyd float32",
    "scikit-learn elkan",
    "scikit-learn elkan float32",
    "faiss float32",
    "scikit-learn-intelex",
    "scikit-learn-intelex float32",
)
KMLE = ("kmle hard", "kmle hard float32", "kmle soft", "kmle hard then soft")
KMLE_AND_TWIN = (*KMLE, "kmle soft float32", "kmle hard NumPy", "kmle soft NumPy")
KMLE_RAW = ("kmle hard", "kmle soft", "kmle hard then soft")
WIDE_PEERS = ("scikit-learn", "Armadillo")
KMLE_WIDE = ("kmle hard", "kmle soft")
KMLE_K_MEANS = ("kmle k-means", "kmle k-means float32")


@dataclass(frozen=True)
class Workload:
    """Data and a model to learn from it, with the competitors that can."""

    name: str
    title: str
    family: str | ExponentialFamily
    n_components: int
    shape: Shape
    quick_shape: Shape
    make: Callable[[Shape, int], Array]
    """Data of a shape, from a seed."""
    peers: tuple[str, ...]
    ours: tuple[str, ...] = KMLE
    tol: float = 1e-3
    """The gain in mean log-likelihood below which a contestant stops."""
    max_iter: int = 300
    k_means: bool = False
    """Whether components have equal weights and the complete likelihood (minus half the inertia) is compared."""
    raw: bool = False
    """Whether rows may be extreme: the start is found without those outside of the inner 99 % of a column."""
    floored: bool = False
    """Whether values repeat so often that likelihoods say how low a floor under variances is: they are not compared."""

    def data(self, quick: bool, seed: int = 0) -> Array:
        """The rows, in double precision."""
        return np.ascontiguousarray(self.make(self.quick_shape if quick else self.shape, seed), dtype=float)

    def start(self, X: Array, seed: int = 0) -> Mixture:
        """The mixture every contestant starts from: a law for each cluster of a short k-means."""
        rng = np.random.default_rng(seed)
        few = X[np.sort(rng.choice(len(X), START_ROWS, replace=False))] if len(X) > START_ROWS else X
        if self.raw:
            low, high = np.quantile(few, [0.005, 0.995], axis=0)
            few = few[((few >= low) & (few <= high)).all(axis=1)]
        labels = KMeans(self.n_components, n_init=1, max_iter=3, random_state=seed).fit_predict(few)
        family = resolve(self.family).for_data(few)
        overall = family.mean_statistic(few)
        own = np.array([family.mean_statistic(few[labels == j]) for j in range(self.n_components)])
        natural = family.natural_from_moment((1 - START_SHRINKAGE) * own + START_SHRINKAGE * overall)
        counts = np.ones(self.n_components) if self.k_means else np.bincount(labels, minlength=self.n_components)
        return Mixture(family, counts / counts.sum(), natural)

    def is_singular(self, mixture: Mixture) -> bool:
        """Whether a covariance is so thin that its likelihood is a matter of rounding and of floors."""
        if "covariance" not in mixture.source:
            return False
        return bool(np.linalg.eigvalsh(mixture.source["covariance"]).min() < SINGULAR)

    def log_likelihood(self, mixture: Mixture, X: Array) -> float:
        """What competitors are compared by, a row: one function for all of them."""
        if self.k_means:
            return mixture.complete_log_likelihood(X) / len(X)
        return float(mixture.log_density(X).mean())


# Data -----------------------------------------------------------------------------------------------------------------


def gaussian_rows(shape: Shape, seed: int, n_components: int, spread: float, spherical: bool = False) -> Array:
    """A Gaussian mixture whose means lie about `spread` standard deviations apart."""
    rng = np.random.default_rng(seed)
    n, d = shape
    mean = rng.standard_normal((n_components, d)) * spread / np.sqrt(2 * d)
    factor = np.eye(d) + (0 if spherical else 0.5) * rng.standard_normal((n_components, d, d)) / np.sqrt(d)
    weights = rng.dirichlet(np.full(n_components, 5.0))
    covariance = factor @ np.swapaxes(factor, 1, 2)
    return Mixture.from_source("gaussian", weights, mean=mean, covariance=covariance).sample(n, rng)


def wide_rows(shape: Shape, seed: int, n_components: int, spread: float) -> Array:
    """The same for many columns, drawn by matrix products alone."""
    rng = np.random.default_rng(seed)
    n, d = shape
    rows = np.empty(shape)
    which = rng.integers(n_components, size=n)
    for j in range(n_components):
        own = np.flatnonzero(which == j)
        factor = np.eye(d) + 0.5 * rng.standard_normal((d, d)) / np.sqrt(d)
        rows[own] = rng.standard_normal(d) * spread / np.sqrt(2 * d) + rng.standard_normal((len(own), d)) @ factor.T
    return rows


def univariate_gaussian_rows(shape: Shape, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    mean, variance = np.linspace(0, 35, 8)[:, None], rng.uniform(0.5, 4.0, (8, 1, 1))
    weights = rng.dirichlet(np.full(8, 5.0))
    return Mixture.from_source("gaussian", weights, mean=mean, covariance=variance).sample(shape[0], rng)


def count_rows(shape: Shape, seed: int) -> Array:
    rates = [2.0, 8.0, 18.0, 32.0, 55.0]
    return Mixture.from_source("poisson", [0.25, 0.25, 0.2, 0.2, 0.1], rate=rates).sample(shape[0], seed)


def binary_rows(shape: Shape, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    probability = 0.12 * np.exp(0.4 * rng.standard_normal((10, shape[1])) - 0.08)
    return Mixture.from_source("bernoulli", np.full(10, 0.1), probability=np.minimum(probability, 0.9)).sample(
        shape[0], rng
    )


def direction_rows(shape: Shape, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal((20, shape[1]))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    mixture = Mixture.from_source(
        "von-mises-fisher", np.full(20, 0.05), direction=direction, concentration=np.full(20, 25.0)
    )
    return mixture.sample(shape[0], rng)


def positive_rows(shape: Shape, seed: int) -> Array:
    mixture = Mixture.from_source(
        "gamma", [0.3, 0.3, 0.2, 0.2], shape=[2.0, 9.0, 20.0, 60.0], scale=[0.5, 0.6, 0.7, 0.5]
    )
    return mixture.sample(shape[0], seed)


def image(seed: int) -> Array:
    """512 x 512 colour pixels, with the rounding to whole numbers undone by noise.

    Saturated pixels are all alike otherwise, and the likelihood of the components they fill says only how low a floor
    under variances was set.
    """
    from skimage.data import astronaut

    pixels = astronaut().astype(float)
    return pixels + np.random.default_rng(seed).uniform(size=pixels.shape)


def whitened(rows: Array) -> Array:
    """Mean zero and covariance one, so that a floor under variances means the same in every direction."""
    centered = rows - rows.mean(axis=0)
    return np.linalg.solve(np.linalg.cholesky(np.cov(centered.T)), centered.T).T


def pixel_rows(shape: Shape, seed: int) -> Array:
    """Position and colour of every pixel (or of every few), whitened."""
    side = round(np.sqrt(shape[0]))
    pixels = image(seed)
    step = len(pixels) // side
    pixels = pixels[::step, ::step]
    y, x = np.mgrid[:side, :side]
    rows = np.column_stack([x.ravel(), y.ravel(), pixels.reshape(-1, 3)])
    return whitened(rows)


def patch_rows(shape: Shape, seed: int) -> Array:
    """Square patches of the picture with their position, whitened."""
    places, edge = round(np.sqrt(shape[0])), round(np.sqrt((shape[1] - 2) / 3))
    pixels = image(seed)
    step = (len(pixels) - edge) // (places - 1)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (edge, edge), axis=(0, 1))[::step, ::step]
    y, x = np.mgrid[:places, :places]
    rows = np.column_stack([x.ravel(), y.ravel(), windows.reshape(places * places, -1)])
    return whitened(rows)


# The table ------------------------------------------------------------------------------------------------------------

OVERLAPPING, SEPARATED = 4.0, 16.0

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "W1", "pixels of an image (x, y, red, green, blue), full Gaussians", "gaussian", 32,
            (262_144, 5), (16_384, 5), pixel_rows, GAUSSIAN_PEERS, KMLE_AND_TWIN,
        ),
        Workload(
            "W2", "overlapping full Gaussians in 10 dimensions", "gaussian", 20,
            (1_000_000, 10), (60_000, 10), partial(gaussian_rows, n_components=20, spread=OVERLAPPING),
            GAUSSIAN_PEERS, KMLE_AND_TWIN,
        ),
        Workload(
            "W2sep", "separated full Gaussians in 10 dimensions", "gaussian", 20,
            (1_000_000, 10), (60_000, 10), partial(gaussian_rows, n_components=20, spread=SEPARATED), GAUSSIAN_PEERS,
        ),
        Workload(
            "W3", "overlapping full Gaussians in the plane", "gaussian", 10,
            (1_000_000, 2), (60_000, 2), partial(gaussian_rows, n_components=10, spread=OVERLAPPING),
            GAUSSIAN_PEERS, KMLE_AND_TWIN,
        ),
        Workload(
            "W3sep", "separated full Gaussians in the plane", "gaussian", 10,
            (1_000_000, 2), (60_000, 2), partial(gaussian_rows, n_components=10, spread=SEPARATED), GAUSSIAN_PEERS,
        ),
        Workload(
            "W4", "univariate Gaussians", "gaussian", 8,
            (10_000_000, 1), (500_000, 1), univariate_gaussian_rows, GAUSSIAN_PEERS,
        ),
        Workload(
            "W5", "counts, Poisson", "poisson", 5,
            (10_000_000, 1), (500_000, 1), count_rows, ("pomegranate float32",),
        ),
        Workload(
            "W6", "k-means (Gaussians of a fixed covariance, equal weights), overlapping",
            FixedCovarianceGaussian(1.0), 100, (1_000_000, 16), (60_000, 16),
            partial(gaussian_rows, n_components=100, spread=OVERLAPPING, spherical=True),
            K_MEANS_PEERS, KMLE_K_MEANS, tol=0.0, max_iter=100, k_means=True,
        ),
        Workload(
            "W6sep", "k-means, separated",
            FixedCovarianceGaussian(1.0), 100, (1_000_000, 16), (60_000, 16),
            partial(gaussian_rows, n_components=100, spread=SEPARATED, spherical=True),
            K_MEANS_PEERS, KMLE_K_MEANS, tol=0.0, max_iter=100, k_means=True,
        ),
        Workload(
            "W7", "binary patterns of 500 columns, 12 % ones, Bernoulli", "bernoulli", 10,
            (100_000, 500), (8_000, 500), binary_rows, ("StepMix", "pomegranate float32"),
        ),
        Workload(
            "W8", "unit vectors in 50 dimensions, von Mises-Fisher", "von-mises-fisher", 20,
            (100_000, 50), (8_000, 50), direction_rows, ("scikit-learn spherical (other model)",),
        ),
        Workload(
            "W9", "positive reals, gamma", "gamma", 4,
            (1_000_000, 1), (60_000, 1), positive_rows, ("pomegranate float32",),
        ),
        Workload(
            "W1raw", "pixels of a raw photograph (x, y, red, green, blue), full Gaussians", "gaussian", 32,
            (273_280, 5), (17_120, 5), photograph_rows, GAUSSIAN_PEERS, KMLE_RAW, raw=True, floored=True,
        ),
        Workload(
            "W1out", "pixels of a photograph, one cell of which is 1e6, full Gaussians", "gaussian", 32,
            (273_280, 5), (17_120, 5), lambda shape, seed: with_one_extreme_cell(photograph_rows(shape, seed, True)),
            GAUSSIAN_PEERS, KMLE_RAW, raw=True,
        ),
        Workload(
            "W2int", "W2 in whole numbers, three to a standard deviation", "gaussian", 20,
            (1_000_000, 10), (60_000, 10),
            lambda shape, seed: np.round(3 * gaussian_rows(shape, seed, 20, OVERLAPPING)), GAUSSIAN_PEERS, KMLE_RAW,
        ),
        Workload(
            "W3heavy", "clusters with Cauchy tails in the plane, full Gaussians", "gaussian", 10,
            (1_000_000, 2), (60_000, 2), partial(heavy_rows, n_components=10, spread=SEPARATED),
            GAUSSIAN_PEERS, KMLE_RAW, raw=True,
        ),
        Workload(
            "W4round", "W4 rounded to 0.1", "gaussian", 8,
            (10_000_000, 1), (500_000, 1),
            lambda shape, seed: np.round(univariate_gaussian_rows(shape, seed), 1), GAUSSIAN_PEERS, KMLE_RAW,
        ),
        Workload(
            "Wadult", "a table like UCI Adult: skewed, zero-inflated, mixed scales; full Gaussians", "gaussian", 8,
            (500_000, 6), (30_000, 6), census_rows, GAUSSIAN_PEERS, KMLE_RAW, raw=True, floored=True,
        ),
        Workload(
            "W50", "overlapping full Gaussians in 50 dimensions", "gaussian", 10,
            (100_000, 50), (8_000, 50), partial(wide_rows, n_components=10, spread=OVERLAPPING),
            WIDE_PEERS, KMLE_WIDE,
        ),
        Workload(
            "W100", "overlapping full Gaussians in 100 dimensions", "gaussian", 10,
            (50_000, 100), (4_000, 100), partial(wide_rows, n_components=10, spread=OVERLAPPING),
            WIDE_PEERS, KMLE_WIDE,
        ),
        Workload(
            "W200", "overlapping full Gaussians in 200 dimensions", "gaussian", 10,
            (30_000, 200), (3_000, 200), partial(wide_rows, n_components=10, spread=OVERLAPPING),
            WIDE_PEERS, KMLE_WIDE,
        ),
        Workload(
            "W10", "colour patches of 8 x 8 pixels with their position, full Gaussians", "gaussian", 32,
            (64_009, 194), (16_384, 50), patch_rows, GAUSSIAN_PEERS,
        ),
    )
}  # fmt: skip
