"""`python -m benchmarks.ablation`: whole fits by every engine against the dense one, hard and soft, on the same data.

Every fit starts from the same mixture and makes the same steps, so that times differ by the engines alone; the labels
of all engines are compared with those of the dense one. Memory is what a fit takes beside the data.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.assignment.choose import ENGINES

from . import machine
from .harness import PAUSE, quietly
from .memory import forget_peak, peak
from .workloads import WORKLOADS, Array

CASES = ("W3", "W3sep", "W4", "W4round", "W5", "W6", "W6sep", "W9", "W50")
# The dense engine comes first: others are measured against it.
NAMES = ("dense", *(name for name in ENGINES if name != "dense"), "compressed", "auto")
ESTIMATORS = {"hard": KMLE, "soft": ExponentialFamilyMixture}
# Iterations of a fit that does not stop before.
ITERATIONS = 30


def ablation(quick: bool, n_threads: int, repeats: int, cases: tuple[str, ...] = CASES) -> list[dict[str, Any]]:
    """Seconds, iterations and peak memory of whole fits, by case, kind and engine."""
    return [entry for case in cases for entry in of_case(case, quick, n_threads, repeats)]


def of_case(case: str, quick: bool, n_threads: int, repeats: int) -> Iterator[dict[str, Any]]:
    """All engines on one workload; those that cannot take it are left out."""
    workload = WORKLOADS[case]
    X = workload.data(quick)
    start = workload.start(X)
    weights = "uniform" if workload.k_means else None
    for kind in ESTIMATORS:
        expected: Any = None
        for engine in NAMES:
            settings = {"assignment": engine, "weights": weights, "tol": workload.tol, "n_jobs": n_threads}
            with quietly(n_threads):
                found = measured(kind, X, start, settings, repeats)
            if found is None:
                continue
            model, entry = found
            expected = model.labels_ if expected is None else expected
            yield entry | {
                "case": case,
                "kind": kind,
                "engine": engine,
                "chosen": model.fit_.engine,
                "same": bool(np.array_equal(model.labels_, expected)),
                "shape": list(X.shape),
                "components": start.n_components,
                "quick": quick,
            }


def measured(
    kind: str, X: Array, start: Mixture, settings: dict[str, Any], repeats: int
) -> tuple[Any, dict[str, Any]] | None:
    """The last model, the median time and the memory of the first fit; None where the engine refuses the data."""
    seconds, megabytes = [], 0.0
    for place in range(repeats):
        model = ESTIMATORS[kind](start.n_components, family=start.family, init=start, max_iter=ITERATIONS, **settings)
        time.sleep(PAUSE)
        forget_peak()
        before, began = peak(), time.perf_counter()
        try:
            model.fit(X)
        except ValueError:
            return None
        seconds.append(time.perf_counter() - began)
        megabytes = megabytes if place else (peak() - before) / 1e6
    told = {"seconds": float(np.median(seconds)), "iterations": int(model.n_iter_), "megabytes": megabytes}
    return model, told


def main(given: list[str] | None = None) -> int:
    from .markdown import ablation_table

    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="sizes about sixteen times smaller")
    parser.add_argument("--only", metavar="W3,W9", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--repeats", type=int, default=3, help="fits of each engine; medians are shown")
    parser.add_argument("--threads", type=int, default=machine.cores())
    chosen = parser.parse_args(given)
    cases = tuple(chosen.only.split(",")) if chosen.only else CASES
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; choose from {', '.join(CASES)}")
    print(ablation_table(ablation(chosen.quick, chosen.threads, chosen.repeats, cases)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
