"""A fit with nothing but k: our defaults beside scikit-learn's, in turns.

    python -m benchmarks.defaults
    python -m benchmarks.defaults --only iris,wine --seeds 5

Time and mean log-likelihood are medians over seeds. A line is marked where ours is behind: in time, unless it takes
less than 30 ms, or in likelihood. Likelihoods of scikit-learn's solutions with a component of few rows or within the
rounding of the data (`benchmarks/regular.py`) are shown and not compared. Run it on a quiet machine: where other
programs compete for the cores, threads of scikit-learn's BLAS wait for each other and its times mean nothing.
"""

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.families import FixedCovarianceGaussian

from .competitors import Array
from .data_sets import bundled, table
from .machine import cores
from .regular import is_regular

# Times below this many seconds are not noticed.
UNNOTICED = 0.03
# Likelihoods count as behind by more than so much per row and so much in all, in nats.
BEHIND_PER_ROW, BEHIND_IN_ALL = 1e-4, 0.5
SEEDS = 3


@dataclass(frozen=True)
class Line:
    """A data set and a number of components; `k_means` compares KMLE of unit covariances with k-means."""

    name: str
    data: Callable[[], Array]
    k: int
    k_means: bool = False


@dataclass(frozen=True)
class Measured:
    """Medians of both sides."""

    line: Line
    shape: tuple[int, ...]
    seconds: float
    likelihood: float
    their_seconds: float
    their_likelihood: float
    comparable: bool

    @property
    def ratio(self) -> float:
        return self.their_seconds / self.seconds

    @property
    def behind(self) -> str:
        """What ours is behind in, or nothing."""
        time_lost = self.seconds > max(self.their_seconds, UNNOTICED)
        lost = self.their_likelihood - self.likelihood
        worse = self.comparable and lost > BEHIND_PER_ROW and lost * self.shape[0] > BEHIND_IN_ALL
        return " ".join(word for word, true in (("time", time_lost), ("likelihood", worse)) if true)


# Data -----------------------------------------------------------------------------------------------------------------


def blobs(n: int, d: int, k: int) -> Array:
    return np.asarray(datasets.make_blobs(n, d, centers=k, random_state=0)[0])


def tilted(n: int, d: int, k: int, spread: float, seed: int = 0) -> Array:
    """Gaussian components of any shape."""
    rng = np.random.default_rng([seed, d, k])
    labels: NDArray[np.intp] = rng.integers(k, size=n)
    X: Array = rng.standard_normal((n, d))
    for j in range(k):
        own = labels == j
        X[own] = X[own] @ (0.6 * rng.standard_normal((d, d)) + 0.5 * np.eye(d)) + spread * rng.standard_normal(d)
    return X


def heavy_tailed(n: int, d: int) -> Array:
    """Raw, rounded amounts: log-normal groups of different sizes."""
    rng = np.random.default_rng(1)
    location = rng.uniform(1, 5, (4, d))[rng.integers(4, size=n)]
    return np.asarray(np.round(np.exp(location + 0.6 * rng.standard_normal((n, d))), 1), dtype=float)


def photograph(name: str, n: int) -> Array:
    """Random pixels of a photograph as positions and colours."""
    image = np.asarray(datasets.load_sample_image(name), dtype=float)
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    rows = np.concatenate([x[..., None], y[..., None], image], axis=2).reshape(-1, 5)
    return np.asarray(rows[np.random.default_rng(0).choice(len(rows), n, replace=False)])


def counts(n: int) -> Array:
    rng = np.random.default_rng(2)
    return rng.poisson(np.array([[2.0, 9.0], [12.0, 3.0], [25.0, 30.0]])[rng.integers(3, size=n)]).astype(float)


LINES = [
    Line("iris", partial(bundled, "iris"), 3),
    Line("wine", partial(bundled, "wine"), 3),
    Line("breast cancer", partial(bundled, "breast_cancer", slice(0, 10)), 2),
    Line("digits", lambda: bundled("digits")[:, [10, 20, 28, 36, 43, 53]], 10),
    Line("faithful", partial(table, "faithful", "eruptions", "waiting"), 2),
    Line("spherical blobs, 10 columns", partial(blobs, 20_000, 10, 8), 8),
    Line("spherical blobs, 50 columns", partial(blobs, 20_000, 50, 8), 8),
    Line("spherical blobs, 100 columns", partial(blobs, 10_000, 100, 6), 6),
    Line("tilted, 20 columns", partial(tilted, 20_000, 20, 8, 1.0), 8),
    Line("tilted, 8 columns", partial(tilted, 100_000, 8, 12, 2.0), 12),
    Line("overlapping, 2 columns", partial(tilted, 1_000_000, 2, 10, 2.0), 10),
    Line("overlapping, 1 column", partial(tilted, 100_000, 1, 4, 2.0), 4),
    Line("heavy-tailed, rounded", partial(heavy_tailed, 5_000, 3), 4),
    Line("photograph", partial(photograph, "china.jpg", 30_000), 8),
    Line("flower", partial(photograph, "flower.jpg", 5_000), 5),
    Line("counts", partial(counts, 10_000), 3),
    Line("k-means, 5 columns", partial(blobs, 20_000, 5, 10), 10, k_means=True),
    Line("k-means, 16 columns", partial(tilted, 100_000, 16, 20, 1.0), 20, k_means=True),
]


# Measuring ------------------------------------------------------------------------------------------------------------


def timed(model: Any, X: Array) -> tuple[float, Any]:
    began = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - began, model


def ours(line: Line, X: Array, seed: int) -> tuple[float, float]:
    """Seconds and mean log-likelihood; for k-means the negative inertia per row."""
    if line.k_means:
        family = FixedCovarianceGaussian(1.0)
        seconds, model = timed(KMLE(line.k, family=family, weights="uniform", random_state=seed), X)
        return seconds, -inertia(model.mixture_.source["mean"], X)
    seconds, model = timed(ExponentialFamilyMixture(line.k, random_state=seed), X)
    return seconds, float(model.score(X))


def theirs(line: Line, X: Array, seed: int) -> tuple[float, float, bool]:
    """The same of scikit-learn, and whether its likelihood compares."""
    if line.k_means:
        seconds, model = timed(KMeans(line.k, random_state=seed), X)
        return seconds, -inertia(model.cluster_centers_, X), True
    seconds, model = timed(GaussianMixture(line.k, random_state=seed), X)
    mixture = Mixture.from_source("gaussian", model.weights_, mean=model.means_, covariance=model.covariances_)
    return seconds, float(model.score(X)), is_regular(mixture, X[:20_000])


def inertia(centers: Array, X: Array) -> float:
    """The mean squared distance to the nearest centre."""
    total = 0.0
    for block in np.array_split(X, len(X) // 10_000 + 1):
        total += float(((block[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1).sum())
    return total / len(X)


def measure(line: Line, seeds: int) -> Measured:
    X = line.data()
    pairs = [(ours(line, X, seed), theirs(line, X, seed)) for seed in range(seeds)]
    own, peer = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    middle = statistics.median
    return Measured(
        line,
        X.shape,
        middle(result[0] for result in own),
        middle(result[1] for result in own),
        middle(result[0] for result in peer),
        middle(result[1] for result in peer),
        all(result[2] for result in peer),
    )


def row(measured: Measured) -> str:
    n, d = measured.shape
    spike = "" if measured.comparable else " (spike)"
    return (
        f"| {measured.line.name}, {n} x {d} ({measured.line.k}) "
        f"| {measured.their_seconds:.3f}, {measured.their_likelihood:.4f}{spike} "
        f"| {measured.seconds:.3f}, {measured.likelihood:.4f} | {measured.ratio:.1f}x | {measured.behind} |"
    )


def summary(all_measured: list[Measured]) -> list[str]:
    """How many lines are behind, and the mean ratio where there is something to gain."""
    behind = [measured.line.name for measured in all_measured if measured.behind]
    noticed = [measured.ratio for measured in all_measured if measured.their_seconds > UNNOTICED]
    large = [measured.ratio for measured in all_measured if measured.shape[0] >= 100_000]
    lines = [f"Behind on {len(behind)} of {len(all_measured)} lines" + (f": {', '.join(behind)}" if behind else "")]
    if noticed:
        lines.append(
            f"Geometric mean where scikit-learn takes more than 30 ms: {statistics.geometric_mean(noticed):.1f}x"
        )
    if large:
        lines.append(f"Least ratio from 100 000 rows on: {min(large):.1f}x")
    return lines


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", default="", help="lines whose names contain one of these words, separated by commas")
    chosen = parser.parse_args(given)
    lines = [line for line in LINES if any(word in line.name for word in chosen.only.split(","))]
    print(f"{cores()} cores\n\n| data (k) | scikit-learn s, mean log-lik. | ours s, mean log-lik. | ratio | behind |")
    print("|---|---|---|---|---|", flush=True)
    measured = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(Line("warm-up", partial(blobs, 500, 2, 2), 2), 1)
        for line in lines:
            measured.append(measure(line, chosen.seeds))
            print(row(measured[-1]), flush=True)
    print("", *summary(measured), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
