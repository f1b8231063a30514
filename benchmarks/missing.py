"""Rows with missing entries beside the libraries that learn from them, from the same start, at equal likelihood.

    python -m benchmarks.missing

Latent classes of binary answers and Gaussians with independent columns, 10 % of the entries missing: StepMix, and
pomegranate with masked tensors for the Gaussians, where they are installed. Each side takes EM steps until its own rule
ends them; the log-likelihoods are those of the entries that are there, computed by kmle for every side. kmle also runs
on the complete rows, as a measure of what the missing entries cost.
"""

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from kmle import ExponentialFamilyMixture, Mixture
from kmle.numerics.arrays import Array

from .shapes import Outcome, medians

SHARE = 0.1
# What the others stop at: the gain per row and step.
TOLERANCE, MOST_STEPS = 1e-6, 500


def ours(X: Array, start: Mixture, judged: Array | None = None) -> Outcome:
    """EM from a start; the likelihood is that of the rows learned from, unless others are given."""
    began = time.perf_counter()
    model = ExponentialFamilyMixture(
        start.n_components, family=start.family, init=start, prior_strength=0, resolution=None, random_state=0
    ).fit(X)
    return Outcome(time.perf_counter() - began, likelihood(model.mixture_, X if judged is None else judged))


def likelihood(mixture: Mixture, X: Array) -> float:
    """The log-likelihood of the entries that are there."""
    return float(mixture.log_density(X).sum())


def step_mix(X: Array, start: Mixture, measurement: str, parameters: dict[str, Array]) -> Outcome:
    """EM of StepMix, which has no argument for a start: it is put where its own would be made."""
    from stepmix import StepMix

    class FromStart(StepMix):  # type: ignore[misc]
        def _initialize_parameters(self, X: Any, random_state: Any) -> None:
            self.weights_ = start.weights.copy()
            self._initialize_parameters_measurement(X, random_state, init_emission=False)
            self._mm.set_parameters({name: value.copy() for name, value in parameters.items()})

    model = FromStart(
        start.n_components, measurement=measurement, abs_tol=TOLERANCE, rel_tol=0.0, max_iter=MOST_STEPS, progress_bar=0
    )
    began = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - began
    found = model.get_parameters()
    own, weights = found["measurement"], found["weights"] / found["weights"].sum()
    if measurement == "bernoulli_nan":
        learned = Mixture.from_source(start.family, weights, probability=np.clip(own["pis"], 0, 1))
    else:
        learned = Mixture.from_source(start.family, weights, mean=own["means"], variance=own["covariances"])
    return Outcome(seconds, likelihood(learned, X))


def pomegranate(X: Array, start: Mixture) -> Outcome:
    """EM of pomegranate on a masked tensor, in single precision."""
    import torch
    from pomegranate.distributions import Normal
    from pomegranate.gmm import GeneralMixtureModel

    rows = X.astype(np.float32)
    there = torch.from_numpy(~np.isnan(rows))
    masked = torch.masked.MaskedTensor(torch.from_numpy(np.nan_to_num(rows)), there)
    source = {name: value.astype(np.float32) for name, value in start.source.items()}
    components = [Normal(m, v, covariance_type="diag") for m, v in zip(source["mean"], source["variance"], strict=True)]
    model = GeneralMixtureModel(
        components, priors=start.weights.astype(np.float32), max_iter=MOST_STEPS, tol=TOLERANCE * len(X)
    )
    began = time.perf_counter()
    model.fit(masked)
    seconds = time.perf_counter() - began
    weights = model.priors.numpy().astype(float)
    mean, variance = (
        np.array([getattr(own, name).numpy() for own in model.distributions], dtype=float) for name in ("means", "covs")
    )
    return Outcome(
        seconds, likelihood(Mixture.from_source(start.family, weights / weights.sum(), mean=mean, variance=variance), X)
    )


def cases(n: int = 50_000) -> Iterator[tuple[str, dict[str, Callable[[], Outcome]]]]:
    """The name of each comparison, and all sides of it."""
    rng = np.random.default_rng(0)
    k = 5
    answers = Mixture.from_source("bernoulli", rng.dirichlet(np.full(k, 5.0)), probability=rng.beta(1, 1, (k, 20)))
    X, start = answers.sample(n, random_state=1), _perturbed(answers, "probability", rng)
    H = _masked(X, rng)
    sides = {
        "StepMix": lambda: step_mix(H, start, "bernoulli_nan", {"pis": start.source["probability"]}),
    }
    yield f"{k} classes of 20 answers, {n} rows", _sides(X, H, start, sides)
    mean = rng.normal(0, 1.5, (k, 8))
    blobs = Mixture.from_source("diagonal-gaussian", np.full(k, 1 / k), mean=mean, variance=np.ones((k, 8)))
    Y, first = blobs.sample(n, random_state=1), _perturbed(blobs, "mean", rng)
    G = _masked(Y, rng)
    parameters = {"means": first.source["mean"], "covariances": first.source["variance"]}
    others: dict[str, Callable[[], Outcome]] = {
        "StepMix": lambda: step_mix(G, first, "gaussian_diag_nan", parameters),
        "pomegranate": lambda: pomegranate(G, first),
    }
    yield f"{k} Gaussians of 8 columns, {n} rows", _sides(Y, G, first, others)


def _sides(
    X: Array, H: Array, start: Mixture, others: dict[str, Callable[[], Outcome]]
) -> dict[str, Callable[[], Outcome]]:
    installed = {name: run for name, run in others.items() if find_spec(name.lower()) is not None}
    return {"kmle": lambda: ours(H, start), "kmle, complete rows": lambda: ours(X, start, H), **installed}


def _perturbed(mixture: Mixture, name: str, rng: np.random.Generator) -> Mixture:
    """A start some way from the truth."""
    value = mixture.source[name]
    moved = value + rng.normal(0, 0.5, value.shape) if name == "mean" else 0.5 * value + 0.5 * rng.random(value.shape)
    k = mixture.n_components
    return Mixture.from_source(mixture.family, np.full(k, 1 / k), **(mixture.source | {name: moved}))


def _masked(X: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.random(X.shape) < SHARE, np.nan, X)


def main() -> None:
    """Prints a line for each side of each comparison."""
    for name, sides in cases():
        for side, outcome in medians(sides).items():
            print(f"{name:<40} {side:<20} {outcome.seconds:9.3f} s  {outcome.log_likelihood:16.2f}", flush=True)


if __name__ == "__main__":
    main()
