"""How long do predictions and densities take, and how much memory beside the data? Beside scikit-learn.

    python -m benchmarks.predicting [--quick]

Every line is a process of its own, with the same mixture for all: medians of five calls, and the peak of the first one
beside data and model. `pass` is one pass of a fit over the same rows, hard for `predict` and soft for the others.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kmle import KMLE, Mixture
from kmle.numerics.arrays import Array
from kmle.problem.problem import Problem

from .harness import quietly
from .machine import cores
from .memory import forget_peak, peak

METHODS = ("predict", "predict_proba", "score_samples")
REPEATS = 5


@dataclass(frozen=True)
class Setting:
    """Rows drawn from a mixture of Gaussians; the `one cell` makes one value extreme."""

    family: str
    n: int
    d: int
    k: int
    one_cell: bool = False
    dtype: str = "float64"

    @property
    def title(self) -> str:
        extra = (", one cell 1e6" if self.one_cell else "") + (", float32" if self.dtype == "float32" else "")
        return f"{self.family}, {self.n:,} x {self.d}, k = {self.k}{extra}"

    def mixture(self) -> Mixture:
        rng = np.random.default_rng(0)
        mean, weights = 3 * rng.normal(size=(self.k, self.d)), rng.dirichlet(np.full(self.k, 5.0))
        variance = rng.uniform(0.5, 2.0, (self.k, self.d))
        if self.family == "poisson":
            return Mixture.from_source("poisson", weights, rate=np.exp(rng.uniform(-1, 3, (self.k, self.d))))
        spread = {"variance": variance} if self.family != "gaussian" else {"covariance": _full(variance, rng)}
        return Mixture.from_source(self.family, weights, mean=mean, **spread)

    def rows(self, mixture: Mixture) -> Array:
        X = mixture.sample(self.n, random_state=1).astype(self.dtype)
        if self.one_cell:
            X[0, 0] = 1e6
        return X


SETTINGS = [
    Setting("gaussian", 1_000_000, 10, 20),
    Setting("diagonal-gaussian", 1_000_000, 10, 20),
    Setting("gaussian", 1_000_000, 10, 20, one_cell=True),
    Setting("gaussian", 1_000_000, 10, 20, dtype="float32"),
    Setting("gaussian", 50_000, 100, 10),
    Setting("diagonal-gaussian", 3_000_000, 1, 8),
    Setting("poisson", 1_000_000, 10, 20),
]


def _full(variance: Array, rng: np.random.Generator) -> Array:
    turns = np.linalg.qr(rng.normal(size=(*variance.shape, variance.shape[1])))[0]
    return np.einsum("kab,kb,kcb->kac", turns, variance, turns)


def ours(mixture: Mixture, X: Array, n_threads: int) -> Any:
    """A fitted estimator with this mixture."""
    model = KMLE(mixture.n_components, family=mixture.family, n_jobs=n_threads, init=mixture, max_iter=1, n_init=1)
    model.fit(X[: 50 * mixture.n_components + 1000])
    model.mixture_ = mixture
    return model


def scikit_learn(mixture: Mixture, X: Array, n_threads: int) -> Any:
    """The same as a GaussianMixture."""
    from sklearn.mixture import GaussianMixture

    source = mixture.source
    full = mixture.family.name == "gaussian"
    covariance = source["covariance" if full else "variance"]
    model = GaussianMixture(mixture.n_components, covariance_type="full" if full else "diag")
    model.weights_, model.means_, model.covariances_ = mixture.weights, source["mean"], covariance
    roots = np.linalg.cholesky(np.linalg.inv(covariance)) if full else 1 / np.sqrt(covariance)
    model.precisions_cholesky_, model.n_features_in_ = roots, X.shape[1]
    return model


CONTESTANTS: dict[str, Callable[[Mixture, Array, int], Any]] = {"kmle": ours, "scikit-learn": scikit_learn}


def pass_seconds(mixture: Mixture, X: Array, method: str, n_threads: int) -> float:
    """The median time of a pass of a fit, the first one aside, over rows that are ready."""
    problem = Problem(mixture.family, X, n_threads=n_threads, n_components=mixture.n_components, engine="auto")
    parameters = problem.from_mixture(mixture)
    call = problem.assign if method == "predict" else problem.soften
    return timed(lambda: call(parameters))[0]


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Median seconds of a call, and megabytes at the peak of the first."""
    seconds, megabytes = [], 0.0
    for place in range(REPEATS):
        forget_peak()
        before, began = peak(), time.perf_counter()
        outcome = call()
        seconds.append(time.perf_counter() - began)
        megabytes = megabytes if place else (peak() - before) / 1e6
        del outcome
    return float(np.median(seconds)), megabytes


def measured(place: int, name: str, method: str, quick: bool, n_threads: int) -> dict[str, float]:
    """One line, in this process."""
    setting = SETTINGS[place]
    mixture = setting.mixture()
    X = setting.rows(mixture)[:: 16 if quick else 1]
    with quietly(n_threads):
        if name == "pass":
            return {"seconds": pass_seconds(mixture, X, method, n_threads), "megabytes": 0.0}
        model = CONTESTANTS[name](mixture, X, n_threads)
        call = getattr(model, method)
        call(X[:100])
        seconds, megabytes = timed(lambda: call(X))
    return {"seconds": seconds, "megabytes": megabytes}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.predicting", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="sixteen times fewer rows")
    parser.add_argument("--only", type=int, help="one of the settings, by its place")
    parser.add_argument("--threads", type=int, default=cores())
    parser.add_argument("--line", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.line:
        place, name, method = chosen.line
        print(json.dumps(measured(int(place), name, method, chosen.quick, chosen.threads)))
        return
    places = range(len(SETTINGS)) if chosen.only is None else [chosen.only]
    print("| | method | pass, ms | kmle, ms | MB | scikit-learn, ms | MB |\n|---|---|---|---|---|---|---|")
    for place in places:
        for method in METHODS:
            names = ["pass", "kmle"] + (["scikit-learn"] if SETTINGS[place].family != "poisson" else [])
            found = {name: _apart(place, name, method, chosen) for name in names}
            print(f"| {SETTINGS[place].title} | `{method}` | {_cells(found)} |", flush=True)


def _cells(found: dict[str, dict[str, float]]) -> str:
    cells = [f"{1e3 * found['pass']['seconds']:.1f}"]
    for name in CONTESTANTS:
        line = found.get(name)
        cells += ["", ""] if line is None else [f"{1e3 * line['seconds']:.1f}", f"{line['megabytes']:.0f}"]
    return " | ".join(cells)


def _apart(place: int, name: str, method: str, chosen: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.predicting", "--line", str(place), name, method]
    command += ["--threads", str(chosen.threads)] + ["--quick"] * chosen.quick
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


if __name__ == "__main__":
    main()
