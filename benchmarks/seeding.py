"""How good is one start? Hard EM from k-MLE++, from random rows, and from k-means++ on whitened data.

    python -m benchmarks.seeding

Twelve mixtures of several families; for each the complete log-likelihood a row that hard EM reaches, averaged over the
seeds of the start. Everything is seeded: the table is the same on every run.
"""

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cluster import kmeans_plusplus

from kmle import KMLE, Mixture
from kmle.families import Multinomial
from kmle.numerics.arrays import Array

N = 2000
STARTS = 10
METHODS = ("k-mle++", "random", "whitened k-means++")


# The mixtures ---------------------------------------------------------------------------------------------------------


def gaussian(k: int, d: int, spread: float, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((k, d, d)) * rng.uniform(0.3, 1.5, (k, 1, 1)) + 0.5 * np.eye(d)
    covariance = factors @ np.swapaxes(factors, 1, 2) + 0.05 * np.eye(d)
    mean = spread * rng.standard_normal((k, d))
    return Mixture.from_source("gaussian", weights(k, rng), mean=mean, covariance=covariance)


def diagonal(k: int, d: int, spread: float, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    mean, variance = spread * rng.standard_normal((k, d)), rng.gamma(1.0, 1.0, (k, d)) + 0.05
    return Mixture.from_source("diagonal-gaussian", weights(k, rng), mean=mean, variance=variance)


def poisson(k: int, d: int, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    return Mixture.from_source("poisson", weights(k, rng), rate=np.exp(rng.uniform(-1, 4.5, (k, d))))


def gamma(k: int, d: int, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    shape, scale = np.exp(rng.uniform(0, 4, (k, d))), np.exp(rng.uniform(-2, 2, (k, d)))
    return Mixture.from_source("gamma", weights(k, rng), shape=shape, scale=scale)


def exponential(k: int, d: int, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    return Mixture.from_source("exponential", weights(k, rng), rate=np.exp(rng.uniform(-5, 5, (k, d))))


def directions(k: int, d: int, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    raw = rng.standard_normal((k, d))
    direction = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    concentration = np.exp(rng.uniform(2, 5, k))
    return Mixture.from_source("von-mises-fisher", weights(k, rng), direction=direction, concentration=concentration)


def bernoulli(k: int, d: int, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    return Mixture.from_source("bernoulli", weights(k, rng), probability=rng.beta(0.4, 0.4, (k, d)).clip(0.01, 0.99))


def multinomial(k: int, d: int, trials: int, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(d, 0.5), k).clip(1e-3)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return Mixture.from_source(Multinomial(trials), weights(k, rng), probabilities=probabilities)


def weights(k: int, rng: np.random.Generator) -> Array:
    return rng.dirichlet(np.full(k, 5.0))


MIXTURES: dict[str, Callable[[], Mixture]] = {
    "gaussian, d = 2, k = 8": lambda: gaussian(8, 2, 6.0, 1),
    "gaussian, d = 2, k = 20": lambda: gaussian(20, 2, 8.0, 2),
    "gaussian, d = 3, k = 8": lambda: gaussian(8, 3, 4.0, 3),
    "gaussian, d = 10, k = 6": lambda: gaussian(6, 10, 4.0, 4),
    "diagonal gaussian, d = 5, k = 10": lambda: diagonal(10, 5, 2.0, 5),
    "poisson, d = 1, k = 5": lambda: poisson(5, 1, 6),
    "poisson, d = 4, k = 10": lambda: poisson(10, 4, 7),
    "gamma, d = 2, k = 8": lambda: gamma(8, 2, 8),
    "exponential, d = 3, k = 6": lambda: exponential(6, 3, 9),
    "von mises-fisher, d = 5, k = 10": lambda: directions(10, 5, 10),
    "bernoulli, d = 20, k = 8": lambda: bernoulli(8, 20, 11),
    "multinomial, d = 12, k = 8": lambda: multinomial(8, 12, 30, 12),
}


# The starts -----------------------------------------------------------------------------------------------------------


def nearest_seed(X: Array, k: int, seed: int) -> Array:
    """Labels of the nearest of k k-means++ seeds, after whitening the columns."""
    centered = X - X.mean(axis=0)
    left, values, _ = np.linalg.svd(centered, full_matrices=False)
    whitened = left[:, values > 1e-9 * values[0]] * np.sqrt(len(X))
    seeds, _ = kmeans_plusplus(whitened, k, random_state=seed)
    distances = ((whitened[:, None] - seeds[None]) ** 2).sum(axis=2)
    return np.asarray(distances.argmin(axis=1))


def reached(truth: Mixture, X: Array, method: str, seed: int) -> float:
    """Complete log-likelihood a row after hard EM from one start."""
    init = nearest_seed(X, truth.n_components, seed) if method == METHODS[2] else method
    model = KMLE(truth.n_components, family=truth.family, algorithm="hard-em", init=init, random_state=seed)
    return float(model.fit(X).result_.complete_log_likelihood / len(X))


def results() -> Iterator[tuple[str, list[float]]]:
    """Name of the mixture and the mean of each method."""
    for name, make in MIXTURES.items():
        truth = make()
        X = truth.sample(N, random_state=0)
        yield name, [float(np.mean([reached(truth, X, m, seed) for seed in range(STARTS)])) for m in METHODS]


def main() -> None:
    print(f"{'complete log-likelihood a row':34}" + "".join(f"{method:>20}" for method in METHODS))
    table = []
    for name, means in results():
        table.append(means)
        print(f"{name:34}" + "".join(f"{mean:20.4f}" for mean in means), flush=True)
    print(f"{'mean':34}" + "".join(f"{mean:20.4f}" for mean in np.mean(table, axis=0)))


if __name__ == "__main__":
    main()
