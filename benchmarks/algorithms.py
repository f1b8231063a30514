"""How long algorithms and starts take that are not the default, beside an alternative, with their peak memory.

    python -m benchmarks.algorithms

Memory is what Python and NumPy allocate at most during the fit, beside the data, in megabytes.
"""

import tracemalloc
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.special import gammaln

from kmle import KMLE, Mixture
from kmle.families import CustomFamily, FixedCovarianceGaussian, Wishart, from_functions
from kmle.families.support import POSITIVE
from kmle.numerics.arrays import Array
from kmle.selection import simplify


def gamma_of_functions() -> CustomFamily:
    """Gamma distributions from t and F alone."""

    def log_normalizer(natural: Array) -> Array:
        shape, rate = natural[..., 0] + 1, -natural[..., 1]
        return np.where((shape > 0) & (rate > 0), gammaln(shape) - shape * np.log(rate), np.nan)

    return from_functions("mine", lambda X: np.hstack([np.log(X), X]), log_normalizer, support=POSITIVE)


def gaussian_rows(n: int, d: int, k: int) -> Array:
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((k, d, d)) / np.sqrt(d) + np.eye(d)
    labels = rng.integers(k, size=n)
    return np.einsum("nij,nj->ni", factors[labels], rng.standard_normal((n, d))) + rng.standard_normal((k, d))[labels]


def lines() -> dict[str, Callable[[], object]]:
    """What is measured, by name; pairs stand beside each other."""
    rng = np.random.default_rng(0)
    waits = rng.gamma(np.repeat([2.0, 9.0, 30.0, 30.0], 25_000))[:, None]
    rows, line = gaussian_rows(40_000, 5, 8), 3 * rng.standard_normal((1_000_000, 1))
    many = gaussian_rows(200_000, 5, 10)
    kernels = Mixture.from_source(
        "gaussian", np.full(10_000, 1e-4), mean=rows[:10_000, :2], covariance=np.tile(0.05 * np.eye(2), (10_000, 1, 1))
    )
    known = FixedCovarianceGaussian([[1.0]])
    short = rng.normal(np.repeat([-2.0, 0.0, 3.0], 10_000))[:, None]
    factors = rng.standard_normal((100_000, 3, 6))
    matrices = (factors @ np.swapaxes(factors, 1, 2)).reshape(-1, 9)
    wishart = Wishart().for_data(matrices)
    return {
        "gamma, built in": lambda: KMLE(3, family="gamma", random_state=0).fit(waits),
        "gamma, from functions": lambda: KMLE(3, family=gamma_of_functions(), random_state=0).fit(waits),
        "hard-em": lambda: KMLE(8, algorithm="hard-em", random_state=0).fit(rows),
        "hartigan": lambda: KMLE(8, algorithm="hartigan", random_state=0).fit(rows),
        "k-mle++": lambda: KMLE(10, init="k-mle++", max_iter=1, random_state=0).fit(many),
        "k-mle||": lambda: KMLE(10, init="k-mle||", max_iter=1, random_state=0).fit(many),
        "grid": lambda: KMLE(10, init="grid", max_iter=1, random_state=0).fit(many),
        "k-mle on a line": lambda: KMLE(10, family=known, weights="uniform", random_state=0).fit(line),
        "exact on a line": lambda: KMLE(10, family=known, algorithm="exact", weights="uniform").fit(line),
        "exact on a line, free weights": lambda: KMLE(3, family=known, algorithm="exact").fit(short),
        "hard-em, free weights": lambda: KMLE(3, family=known, algorithm="hard-em", random_state=0).fit(short),
        "support of Wishart matrices": lambda: wishart.check(matrices),
        "simplify 10 000 kernels": lambda: simplify(kernels, 10),
    }


def main() -> None:
    print(f"{'':28}{'seconds':>10}{'MB':>10}")
    for name, call in lines().items():
        begun = perf_counter()
        call()
        seconds = perf_counter() - begun
        tracemalloc.start()
        call()
        megabytes = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"{name:28}{seconds:10.2f}{megabytes:10.1f}", flush=True)


if __name__ == "__main__":
    main()
