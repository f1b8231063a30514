"""What a cluster costs: a Dask fit on two processes against the local one on two threads, and dask-ml's KMeans beside.

    python -m benchmarks.cluster [--rows 10000000] [--iterations 12] [--blocks 2]

Seconds are those of an iteration after the first, medians; both fits begin at the same mixture and make the same steps.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from kmle import KMLE, Mixture
from kmle.algorithms.loop import watched

COLUMNS = 5
COMPONENTS = 16


def block(place: int, n: int) -> Any:
    """Rows of overlapping clusters, the same ones for the same place."""
    centers = np.random.default_rng(0).normal(0.0, 2.0, (COMPONENTS, COLUMNS))
    rng = np.random.default_rng([1, place])
    return centers[rng.integers(COMPONENTS, size=n)] + rng.standard_normal((n, COLUMNS))


def timed(model: KMLE, X: Any) -> tuple[list[float], KMLE]:
    """Seconds of each iteration after the first."""
    moments: list[float] = []
    with watched(lambda iteration, objective: moments.append(time.perf_counter())):
        model.fit(X)
    return list(np.diff(moments)), model


def start(family: str) -> Mixture:
    """Components at a few rows."""
    places = block(99, COMPONENTS)
    weights = np.full(COMPONENTS, 1 / COMPONENTS)
    if family == "gaussian":
        return Mixture.from_source(family, weights, mean=places, covariance=[2 * np.eye(COLUMNS)] * COMPONENTS)
    return Mixture.from_source(spherical(), weights, mean=places)


def spherical() -> Any:
    """k-means as a family."""
    from kmle.families import FixedCovarianceGaussian

    return FixedCovarianceGaussian(1.0)


def estimator(family: Any, iterations: int, **settings: Any) -> KMLE:
    """A fit of that many iterations, from the same start every time."""
    return KMLE(
        COMPONENTS, family=family, algorithm="hard-em", init=settings.pop("start"), max_iter=iterations, **settings
    )


def compare(
    family: Any, begin: Mixture, whole: Any, blocks: Any, iterations: int, **settings: Any
) -> tuple[float, float]:
    """Median seconds of an iteration, local and on the cluster."""
    local, one = timed(estimator(family, iterations, start=begin, n_jobs=2, **settings), whole)
    remote, other = timed(estimator(family, iterations, start=begin, **settings), blocks)
    assert np.allclose(one.mixture_.natural, other.mixture_.natural, rtol=1e-8, atol=1e-8), "the fits differ"
    return float(np.median(local)), float(np.median(remote))


def seconds_of(function: Callable[[], Any]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def dask_ml_iteration(blocks: Any, begin: Mixture, iterations: int) -> float | None:
    """Seconds of an iteration of dask-ml's KMeans, or None where it is not installed."""
    try:
        from dask_ml.cluster import KMeans
    except ImportError:
        return None
    centers = begin.source["mean"]
    few, many = (
        seconds_of(lambda n=n: KMeans(COMPONENTS, init=centers, max_iter=n, tol=0.0).fit(blocks))
        for n in (1, iterations)
    )
    return (many - few) / (iterations - 1)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--blocks", type=int, default=2)
    arguments = parser.parse_args()
    size = arguments.rows // arguments.blocks
    print(f"{arguments.rows} x {COLUMNS}, k = {COMPONENTS}, {arguments.blocks} blocks, seconds an iteration")
    whole = np.concatenate([block(place, size) for place in range(arguments.blocks)])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        parts = [
            da.from_delayed(dask.delayed(block)(place, size), (size, COLUMNS), dtype=float)
            for place in range(arguments.blocks)
        ]
        blocks = da.concatenate(parts).persist()
        for name, family in (("full Gaussians", "gaussian"), ("k-means", spherical())):
            begin = start(family)
            weights = None if family == "gaussian" else "uniform"
            local, remote = compare(family, begin, whole, blocks, arguments.iterations, weights=weights)
            print(f"{name:>16}: local {local:.4f}, Dask {remote:.4f}, ratio {remote / local:.2f}")
        peer = dask_ml_iteration(blocks, start(spherical()), arguments.iterations)
        print(
            "dask-ml is not installed" if peer is None else f"{'dask-ml KMeans':>16}: {peer:.4f}, {peer / remote:.1f}x"
        )


if __name__ == "__main__":
    main()
