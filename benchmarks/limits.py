"""What the machine can do (matrix products, memory), and what a dense hard pass does on it."""

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kmle._kernels import Clusters, PackedRows
from kmle.problem.problem import Problem

from .harness import PAUSE, quietly
from .workloads import WORKLOADS

LIMIT_WORKLOADS = ("W1", "W2", "W6")


def median_seconds(call: Callable[[], Any], repeats: int = 7) -> float:
    """The median time of a call, after one that does not count."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def gemm_rate(dtype: DTypeLike, n_threads: int, size: int = 3000) -> float:
    """Floating-point operations a second in a large matrix product."""
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((size, size)).astype(dtype) for _ in range(2))
    with quietly(n_threads):
        return 2 * size**3 / median_seconds(lambda: left @ right, 3)


def bandwidth(n_threads: int, size: int = 1 << 25) -> float:
    """Bytes a second in a + b -> c on arrays too large for any cache."""
    a, b, c = (np.ones(size) for _ in range(3))
    parts = [slice(i * size // n_threads, (i + 1) * size // n_threads) for i in range(n_threads)]
    with ThreadPoolExecutor(n_threads) as pool:

        def triad() -> None:
            list(pool.map(lambda part: np.add(a[part], b[part], out=c[part]), parts))

        return 24 * size / median_seconds(triad, 5)


def pass_seconds(rows: PackedRows, natural: Any, bias: Any) -> float:
    """Seconds of a hard pass in which no label changes, as in most iterations."""
    clusters = Clusters.empty(rows.n_rows, len(bias), rows.n_statistics)
    time.sleep(PAUSE)
    return median_seconds(lambda: rows.hard_pass(natural, bias, clusters))


def limits(quick: bool, n_threads: int) -> list[dict[str, Any]]:
    """The part of the large-product rate that dense hard passes reach."""
    entries = []
    rates = {name: gemm_rate(name, n_threads) for name in ("float64", "float32")}
    for name in LIMIT_WORKLOADS:
        workload = WORKLOADS[name]
        try:
            X = workload.data(quick)
        except ImportError:
            continue
        start = workload.start(X)
        for kind, gemm in rates.items():
            problem = Problem(start.family, X.astype(kind, copy=False), n_threads=n_threads)
            parameters = problem.from_mixture(start)
            seconds = pass_seconds(problem.rows.packed, parameters.natural, problem.bias(parameters))
            rate = 2 * len(X) * problem.rows.n_statistics * start.n_components / seconds
            entries.append({"name": name, "type": kind, "seconds": seconds, "rate": rate, "gemm": gemm, "quick": quick})
    return entries


# Scaling --------------------------------------------------------------------------------------------------------------


def random_pass(n: int, k: int, d: int, n_threads: int) -> float:
    """Seconds of a hard pass of full Gaussians on random rows."""
    rng = np.random.default_rng(0)
    rows = PackedRows(n, d, "quadratic", n_threads=n_threads)
    rows.load(0, rng.standard_normal((n, d)))
    natural = 0.1 * rng.standard_normal((k, rows.n_statistics))
    return pass_seconds(rows, natural, np.zeros(k))


def scaling(quick: bool, n_threads: int) -> dict[str, Any]:
    """Times against n, k and d, each with the others held, and the machine's limits."""
    base = {"n": 20_000 if quick else 200_000, "k": 16, "d": 6}
    grids = {
        "n": [int(base["n"] * factor) for factor in (0.01, 0.03, 0.1, 0.3, 1, 3, 10)],
        "k": [2, 4, 8, 16, 32, 64, 128, 256],
        "d": [1, 2, 3, 4, 6, 8, 12, 16, 24],
    }
    seconds = {
        name: [random_pass(**(base | {name: value}), n_threads=n_threads) for value in grid]
        for name, grid in grids.items()
    }
    return {
        "base": base,
        "grids": grids,
        "seconds": seconds,
        "gemm": gemm_rate("float64", n_threads),
        "bandwidth": bandwidth(n_threads),
        "n_threads": n_threads,
    }
