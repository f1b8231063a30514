"""Conditionals, regression, classification and outliers: how long, how much memory, how good? Beside scikit-learn.

    python -m benchmarks.using [--quick]

Conditionals and the predictions of a regressor stand beside `predict_proba` of the same mixture. Alternating calls,
medians; megabytes are the peak of the first call beside data and model. Classifiers fit a mixture per class. Detectors
are compared by the area under the ROC curve on rows with known contamination.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor

from kmle import ExponentialFamilyMixture, Mixture, MixtureClassifier, MixtureOutlierDetector, MixtureRegressor
from kmle.numerics.arrays import Array

from .memory import forget_peak, peak

REPEATS = 5


def alternated(calls: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, tuple[float, float]]:
    """Median seconds of each call, made in turn, and megabytes at the peak of its first."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    megabytes: dict[str, float] = {}
    for _ in range(repeats):
        for name, call in calls.items():
            forget_peak()
            before, began = peak(), time.perf_counter()
            outcome = call()
            seconds[name].append(time.perf_counter() - began)
            megabytes.setdefault(name, (peak() - before) / 1e6)
            del outcome
    return {name: (float(np.median(each)), megabytes[name]) for name, each in seconds.items()}


# Conditionals ---------------------------------------------------------------------------------------------------------


def joint_mixture(d: int, k: int) -> Mixture:
    """Gaussians that overlap."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(k, d, d))
    covariance = factors @ np.swapaxes(factors, 1, 2) + np.eye(d)
    return Mixture.from_source("gaussian", np.full(k, 1 / k), mean=3 * rng.normal(size=(k, d)), covariance=covariance)


def conditionals(n: int, d: int = 6, k: int = 10) -> None:
    """The share of `predict_proba` that conditionals and predictions take."""
    mixture = joint_mixture(d, k)
    X = mixture.sample(n, 1)
    features, known = np.ascontiguousarray(X[:, :-1]), {place: X[:, place].copy() for place in range(d - 1)}
    few = {place: known[place] for place in range(d // 2)}
    estimator = ExponentialFamilyMixture(k, init=mixture, max_iter=1, n_init=1).fit(X[:2000])
    estimator.mixture_ = mixture
    regressor = MixtureRegressor(k).fit(features[:2000], X[:2000, -1])
    regressor.mixture_ = mixture
    found = alternated(
        {
            "predict_proba": lambda: estimator.predict_proba(X),
            f"condition on {d - 1} columns, mean": lambda: mixture.condition(known).mean(),
            f"condition on {d // 2} columns, mean": lambda: mixture.condition(few).mean(),
            "regressor predict": lambda: regressor.predict(features),
            "regressor predict, return_std": lambda: regressor.predict(features, return_std=True),
        }
    )
    base = found["predict_proba"][0]
    print(f"\nGaussians, {n:,} x {d}, k = {k}\n\n| | ms | times predict_proba | MB |\n|---|---|---|---|")
    for name, (seconds, megabytes) in found.items():
        print(f"| {name} | {1e3 * seconds:.0f} | {seconds / base:.1f} | {megabytes:.0f} |", flush=True)


# Classifiers ----------------------------------------------------------------------------------------------------------


def labelled(n: int, d: int, n_classes: int) -> tuple[Array, Array]:
    """Classes of three Gaussians each."""
    rng = np.random.default_rng(0)
    mixture = joint_mixture(d, 3 * n_classes)
    X, component = mixture.sample_joint(n, rng)
    return X, component // 3


def one_by_one(X: Array, y: Array, k: int) -> list[Any]:
    """A GaussianMixture of scikit-learn for each class."""
    return [GaussianMixture(k, random_state=0).fit(X[y == label]) for label in np.unique(y)]


def classifiers(n: int, d: int = 10, n_classes: int = 10) -> None:
    """Fits of a classifier, beside one scikit-learn mixture for each class; `score` is the mean log-density."""
    X, y = labelled(n, d, n_classes)
    print(f"\n{n_classes} classes, {n:,} x {d}\n\n| components | | s | log-density | accuracy |\n|---|---|---|---|---|")
    for k in (1, 3):
        for name, (seconds, density, accuracy) in _both(X, y, k).items():
            print(f"| {k} | {name} | {seconds:.2f} | {density:.4f} | {accuracy:.4f} |", flush=True)


def _both(X: Array, y: Array, k: int) -> dict[str, tuple[float, float, float]]:
    """Seconds, mean log-density and accuracy of both."""
    makers: dict[str, Callable[[], Any]] = {
        "kmle": lambda: MixtureClassifier(k, random_state=0).fit(X, y),
        "scikit-learn": lambda: one_by_one(X, y, k),
    }
    seconds = alternated(makers, 3)
    return {name: (seconds[name][0], *_merits(make(), X, y)) for name, make in makers.items()}


def _merits(fitted: Any, X: Array, y: Array) -> tuple[float, float]:
    """The mean log-density of rows under the mixture of their class, and the share of rows classified right."""
    if isinstance(fitted, MixtureClassifier):
        scores = np.stack([mixture.log_density(X) for mixture in fitted.mixtures_], axis=1)
    else:
        scores = np.stack([mixture.score_samples(X) for mixture in fitted], axis=1)
    shares = np.bincount(y.astype(int)) / len(y)
    own = scores[np.arange(len(y)), y.astype(int)]
    return float(own.mean()), float(np.mean((scores + np.log(shares)).argmax(axis=1) == y))


# Outliers -------------------------------------------------------------------------------------------------------------


def contaminated(seed: int, n: int, d: int, kind: str) -> tuple[Array, Array]:
    """Rows of three different Gaussians and 5 % outliers: spread evenly, in a far cluster, or beside the groups."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-8, 8, (3, d))
    factors = rng.normal(size=(3, d, d)) / np.sqrt(d) + np.eye(d)
    labels = rng.integers(0, 3, n)
    rows = centers[labels] + np.einsum("nij,nj->ni", factors[labels], rng.normal(size=(n, d)))
    m = n // 20
    if kind == "even":
        outliers = rng.uniform(-16, 16, (m, d))
    elif kind == "cluster":
        outliers = 14 + rng.normal(size=(m, d)) * 0.5
    else:
        steps = rng.normal(size=(m, d))
        outliers = centers[rng.integers(0, 3, m)] + 6 * steps / np.linalg.norm(steps, axis=1, keepdims=True)
    return np.concatenate([rows, outliers]), np.repeat([0, 1], [n, m])


def detectors(n: int, seeds: int = 5) -> None:
    """The mean area under the ROC curve of the rows learned from, and the seconds of all fits."""
    makers: dict[str, Callable[[], Any]] = {
        "kmle": lambda: MixtureOutlierDetector(random_state=0),
        "isolation forest": lambda: IsolationForest(random_state=0),
        "elliptic envelope": lambda: EllipticEnvelope(random_state=0, support_fraction=0.9),
        "local outlier factor": lambda: LocalOutlierFactor(novelty=True),
    }
    print(f"\n{n} rows of three Gaussians and 5 % outliers, mean AUC of {seeds} seeds\n")
    print(f"| outliers | columns | {' | '.join(makers)} |\n|---|---|{'---|' * len(makers)}")
    spent = dict.fromkeys(makers, 0.0)
    for kind in ("even", "cluster", "beside"):
        for d in (2, 5, 10):
            cells = []
            for name, make in makers.items():
                began = time.perf_counter()
                areas = []
                for seed in range(seeds):
                    X, outlier = contaminated(seed, n, d, kind)
                    areas.append(roc_auc_score(outlier, -make().fit(X).score_samples(X)))
                spent[name] += time.perf_counter() - began
                cells.append(f"{np.mean(areas):.3f}")
            print(f"| {kind} | {d} | {' | '.join(cells)} |", flush=True)
    print(f"| seconds | | {' | '.join(f'{seconds:.1f}' for seconds in spent.values())} |")


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.using", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten times fewer rows")
    parser.add_argument("--only", choices=["conditionals", "classifiers", "detectors"])
    chosen = parser.parse_args(given)
    share = 10 if chosen.quick else 1
    if chosen.only in (None, "conditionals"):
        conditionals(1_000_000 // share)
    if chosen.only in (None, "classifiers"):
        classifiers(100_000 // share)
    if chosen.only in (None, "detectors"):
        detectors(1000, seeds=2 if chosen.quick else 5)


if __name__ == "__main__":
    main()
