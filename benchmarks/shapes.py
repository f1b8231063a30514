"""Estimated shapes beside what people use for them, in turns, at equal likelihood.

    python -m benchmarks.shapes

Weibull with censored times and mixtures of two Weibulls: SurPyval and reliability, where they are installed. Mixtures
of negative binomials: SciPy's L-BFGS on the mixture likelihood of the distinct counts. Student t: scikit-learn's
GaussianMixture on the same rows, for its time; its likelihood is that of another family.
"""

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy

from kmle import ExponentialFamilyMixture, Intervals, Mixture
from kmle.numerics.arrays import Array

REPEATS = 3


class Outcome(NamedTuple):
    """Seconds, and the log-likelihood reached (NaN where it does not compare)."""

    seconds: float
    log_likelihood: float


def ours(X: Any, k: int, family: str) -> Outcome:
    """A default fit."""
    began = time.perf_counter()
    model = ExponentialFamilyMixture(k, family=family, random_state=0).fit(X)
    return Outcome(time.perf_counter() - began, float(model.result_.log_likelihood))


def surpyval_weibull(x: Array, censored: Array) -> Outcome:
    """Maximum likelihood of one Weibull with right-censored times."""
    import surpyval

    began = time.perf_counter()
    model = surpyval.Weibull.fit(x, c=censored.astype(int))
    return Outcome(time.perf_counter() - began, float(-model.neg_ll()))


def reliability_weibull(x: Array, censored: Array) -> Outcome:
    """The same by reliability."""
    from reliability.Fitters import Fit_Weibull_2P

    began = time.perf_counter()
    settings = {"show_probability_plot": False, "print_results": False}
    model = Fit_Weibull_2P(failures=x[~censored], right_censored=x[censored], **settings)
    return Outcome(time.perf_counter() - began, float(model.loglik))


def surpyval_mixture(x: Array) -> Outcome:
    """EM for two Weibulls."""
    import surpyval

    began = time.perf_counter()
    model = surpyval.MixtureModel(dist=surpyval.Weibull, m=2)
    model.fit(x)
    return Outcome(time.perf_counter() - began, float(np.log(model.df(x)).sum()))


def scipy_negative_binomials(counts: Array, k: int) -> Outcome:
    """L-BFGS on weights, means and sizes of a mixture, from quantiles, on the distinct counts."""
    began = time.perf_counter()
    x, n = np.unique(counts, return_counts=True)

    def loss(point: Array) -> float:
        logits, mean, size = point[:k], np.exp(point[k : 2 * k]), np.exp(point[2 * k :])
        log_p = scipy.stats.nbinom.logpmf(x[:, None], size, size / (size + mean))
        log_w = logits - scipy.special.logsumexp(logits)
        return float(-n @ scipy.special.logsumexp(log_p + log_w, axis=1))

    means = np.quantile(counts, (np.arange(k) + 0.5) / k) + 0.5
    start = np.concatenate([np.zeros(k), np.log(means), np.zeros(k)])
    found = scipy.optimize.minimize(loss, start, method="L-BFGS-B", options={"maxiter": 500, "maxfun": 10**6})
    return Outcome(time.perf_counter() - began, -float(found.fun))


def scikit_learn_gaussians(X: Array, k: int) -> Outcome:
    """Gaussians on the same rows."""
    from sklearn.mixture import GaussianMixture

    began = time.perf_counter()
    GaussianMixture(k, random_state=0).fit(X)
    return Outcome(time.perf_counter() - began, float("nan"))


def cases() -> Iterator[tuple[str, Callable[[], Outcome], dict[str, Callable[[], Outcome]]]]:
    """The name of each comparison, our side and the others."""
    rng = np.random.default_rng(0)
    x, limit = 3 * rng.weibull(1.5, 5000), rng.exponential(5.0, 5000)
    times, censored = np.minimum(x, limit), x > limit
    intervals = Intervals.from_events(times, (~censored).astype(int))
    others: dict[str, Callable[[], Outcome]] = {
        "SurPyval": lambda: surpyval_weibull(times, censored),
        "reliability": lambda: reliability_weibull(times, censored),
    }
    yield "Weibull, 5000 times, censored", lambda: ours(intervals, 1, "weibull"), _installed(others)
    two = Mixture.from_source("weibull", [0.6, 0.4], scale=[2.0, 15.0], shape=[1.5, 4.0]).sample(5000, 0)
    others = {"SurPyval": lambda: surpyval_mixture(two[:, 0])}
    yield "two Weibulls, 5000 values", lambda: ours(two, 2, "weibull"), _installed(others)
    truth = Mixture.from_source("negative-binomial", [0.6, 0.4], mean=[3.0, 40.0], size=[2.0, 8.0])
    counts = truth.sample(200_000, 0)
    others = {"SciPy": lambda: scipy_negative_binomials(counts[:, 0], 2)}
    yield "two negative binomials, 200 000 counts", lambda: ours(counts, 2, "negative-binomial"), others
    centers = np.array([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0], [0.0, 12.0, 0.0]])
    X = centers[rng.integers(3, size=30_000)] + rng.standard_t(4, (30_000, 3))
    others = {"scikit-learn (Gaussians)": lambda: scikit_learn_gaussians(X, 3)}
    yield "three Student t, 30 000 x 3", lambda: ours(X, 3, "student-t"), others


def _installed(others: dict[str, Callable[[], Outcome]]) -> dict[str, Callable[[], Outcome]]:
    return {name: run for name, run in others.items() if find_spec(name.lower()) is not None}


def medians(runs: dict[str, Callable[[], Outcome]]) -> dict[str, Outcome]:
    """The median time and the likelihood of each side; sides take turns."""
    found: dict[str, list[Outcome]] = {name: [] for name in runs}
    for _ in range(REPEATS):
        for name, run in runs.items():
            found[name].append(run())
    return {
        name: Outcome(float(np.median([each.seconds for each in own])), own[0].log_likelihood)
        for name, own in found.items()
    }


def main() -> None:
    """Prints a line for each side of each comparison."""
    for name, own, others in cases():
        for side, outcome in medians({"kmle": own, **others}).items():
            print(f"{name:<40} {side:<26} {outcome.seconds:9.3f} s  {outcome.log_likelihood:16.4f}", flush=True)


if __name__ == "__main__":
    main()
