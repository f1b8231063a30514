"""`python -m benchmarks.ablation`: whole fits by every engine against the dense one, hard and soft, on the same data.

Every fit starts from the same mixture and makes the same steps, so that times differ by the engines alone; the labels
of all engines are compared with those of the dense one. Memory is what a fit takes beside the data, in a process of
its own.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.engines.choose import ENGINES

from . import machine
from .harness import PAUSE, WARM_UP_ROWS, quietly
from .memory import forget_peak, peak
from .workloads import WORKLOADS, Array

CASES = ("W3", "W3sep", "W4", "W4round", "W5", "W6", "W6sep", "W9", "W50")
# The dense engine comes first: others are measured against it.
NAMES = ("dense", *(name for name in ENGINES if name != "dense"), "compressed", "auto")
ESTIMATORS = {"hard": KMLE, "soft": ExponentialFamilyMixture}
# Iterations of a fit that does not stop before.
ITERATIONS = 30


def ablation(
    quick: bool, n_threads: int, repeats: int, cases: tuple[str, ...] = CASES, memory: bool = True
) -> list[dict[str, Any]]:
    """Seconds, iterations and peak memory of whole fits, by case, kind and engine."""
    return [entry for case in cases for entry in of_case(case, quick, n_threads, repeats, memory)]


def of_case(case: str, quick: bool, n_threads: int, repeats: int, memory: bool) -> Iterator[dict[str, Any]]:
    """All engines on one workload; those that cannot take it are left out."""
    workload = WORKLOADS[case]
    X = workload.data(quick)
    start = workload.start(X)
    with TemporaryDirectory() as folder:
        if memory:
            np.save(Path(folder) / "rows.npy", X)
            (Path(folder) / "start.json").write_text(start.to_json(), encoding="utf-8")
        for kind in ESTIMATORS:
            expected: Any = None
            for engine in NAMES:
                found = measured(estimator(case, kind, engine, start, n_threads), X, n_threads, repeats)
                if found is None:
                    continue
                model, seconds = found
                expected = model.labels_ if expected is None else expected
                yield {
                    "case": case,
                    "kind": kind,
                    "engine": engine,
                    "seconds": seconds,
                    "iterations": int(model.n_iter_),
                    "megabytes": memory_apart(case, kind, engine, folder, n_threads) if memory else None,
                    "chosen": model.result_.engine,
                    "same": bool(np.array_equal(model.labels_, expected)),
                    "shape": list(X.shape),
                    "components": start.n_components,
                    "quick": quick,
                }


def estimator(case: str, kind: str, engine: str, start: Mixture, n_threads: int) -> Any:
    """An estimator that makes the fits of one cell."""
    return ESTIMATORS[kind](
        start.n_components,
        family=start.family,
        init=start,
        weights="uniform" if WORKLOADS[case].k_means else None,
        tol=WORKLOADS[case].tol,
        max_iter=ITERATIONS,
        engine=engine,
        n_jobs=n_threads,
    )


def measured(model: Any, X: Array, n_threads: int, repeats: int) -> tuple[Any, float] | None:
    """The fitted model and the median time of a fit; None where the engine refuses the data."""
    seconds = []
    with quietly(n_threads):
        try:
            model.fit(X[:WARM_UP_ROWS])
        except ValueError:
            return None
        for _ in range(repeats):
            time.sleep(PAUSE)
            began = time.perf_counter()
            model.fit(X)
            seconds.append(time.perf_counter() - began)
    return model, float(np.median(seconds))


def memory_apart(case: str, kind: str, engine: str, folder: str, n_threads: int) -> float:
    """Peak memory of a fit beside the data, in megabytes, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.ablation", "--memory-of", case, kind, engine, folder, str(n_threads)]
    child = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return float(child.stdout.splitlines()[-1])


def memory_of(case: str, kind: str, engine: str, folder: str, n_threads: str) -> float:
    """Peak memory of one fit in this process."""
    X = np.load(Path(folder) / "rows.npy")
    start = Mixture.from_json((Path(folder) / "start.json").read_text(encoding="utf-8"))
    with quietly(int(n_threads)):
        estimator(case, kind, engine, start, int(n_threads)).fit(X[:WARM_UP_ROWS])
        forget_peak()
        before = peak()
        estimator(case, kind, engine, start, int(n_threads)).fit(X)
        return (peak() - before) / 1e6


def main(given: list[str] | None = None) -> int:
    from .markdown import ablation_table

    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="sizes about sixteen times smaller")
    parser.add_argument("--only", metavar="W3,W9", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--repeats", type=int, default=3, help="fits of each engine; medians are shown")
    parser.add_argument("--threads", type=int, default=machine.cores())
    parser.add_argument("--no-memory", action="store_true", help="leave out the peak memory")
    parser.add_argument("--memory-of", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args(given)
    if chosen.memory_of:
        print(memory_of(*chosen.memory_of))
        return 0
    cases = tuple(chosen.only.split(",")) if chosen.only else CASES
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; choose from {', '.join(CASES)}")
    print(ablation_table(ablation(chosen.quick, chosen.threads, chosen.repeats, cases, not chosen.no_memory)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
