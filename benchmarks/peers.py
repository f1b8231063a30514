"""The peers, each behind the same call: a fit from the task's start with a limit of iterations and a tolerance.

All are used as their documentation says, with the settings that suit them best: no copies where they can be avoided, no
initialisation of their own, the same number of threads, data converted to their own type before the clock starts.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kmle import Mixture

from . import armadillo
from .competitors import VARIANCE_FLOOR, Array, Competitor, Outcome, Run, Task


def timed(fit: Callable[[], Any]) -> float:
    """Seconds a call takes."""
    began = time.perf_counter()
    fit()
    return time.perf_counter() - began


def gaussian_mixture(weights: Any, mean: Any, covariance: Any) -> Mixture:
    """A peer's outcome as the mixture everyone is judged by; rounding of single precision is mended."""
    weights, covariance = np.asarray(weights, dtype=float), np.asarray(covariance, dtype=float)
    symmetric = (covariance + np.swapaxes(covariance, 1, 2)) / 2
    return Mixture.from_source(
        "gaussian", weights / weights.sum(), mean=np.asarray(mean, dtype=float), covariance=symmetric
    )


# scikit-learn ---------------------------------------------------------------------------------------------------------


def scikit_learn_gaussian(dtype: DTypeLike, covariance_type: str = "full") -> Callable[[Task], Run]:
    """GaussianMixture; as a stand-in where no peer has the family, with one variance a component."""

    def prepare(task: Task) -> Run:
        from sklearn.mixture import GaussianMixture

        X = task.X.astype(dtype, copy=False)
        if covariance_type == "full":
            mean, covariance = (task.start.source[name] for name in ("mean", "covariance"))
            precisions = np.linalg.inv(covariance)
        else:
            labels = task.start.predict(task.X)
            mean = np.array([task.X[labels == j].mean(axis=0) for j in range(task.start.n_components)])
            precisions = 1 / np.array([task.X[labels == j].var() for j in range(task.start.n_components)])

        def run(max_iter: int, tol: float) -> Outcome:
            model = GaussianMixture(
                task.start.n_components,
                covariance_type=covariance_type,
                tol=tol,
                max_iter=max_iter,
                reg_covar=VARIANCE_FLOOR,
                weights_init=task.start.weights.astype(dtype),
                means_init=mean.astype(dtype),
                precisions_init=precisions.astype(dtype),
            )
            seconds = timed(lambda: model.fit(X))
            return Outcome(
                seconds, model.n_iter_, lambda: gaussian_mixture(model.weights_, model.means_, model.covariances_)
            )

        return run

    return prepare


def means_of(task: Task, dtype: DTypeLike) -> Any:
    """The starting centres."""
    return np.ascontiguousarray(task.start.source["mean"], dtype=dtype)


def centres_as_mixture(task: Task, centers: Any) -> Mixture:
    return Mixture.from_source(task.start.family, task.start.weights, mean=np.asarray(centers, dtype=float))


def k_means_of(module: str, algorithm: str, dtype: DTypeLike) -> Callable[[Task], Run]:
    """KMeans of scikit-learn or of its drop-in by Intel."""

    def prepare(task: Task) -> Run:
        if module == "sklearnex":
            import daal4py
            from sklearnex.cluster import KMeans

            daal4py.daalinit(task.n_threads)
        else:
            from sklearn.cluster import KMeans
        X = task.X.astype(dtype, copy=False)

        def run(max_iter: int, tol: float) -> Outcome:
            model = KMeans(
                task.start.n_components,
                init=means_of(task, dtype),
                n_init=1,
                max_iter=max_iter,
                tol=tol,
                algorithm=algorithm,
                copy_x=False,
            )
            seconds = timed(lambda: model.fit(X))
            return Outcome(seconds, int(model.n_iter_), lambda: centres_as_mixture(task, model.cluster_centers_))

        return run

    return prepare


# faiss ----------------------------------------------------------------------------------------------------------------


def faiss_k_means(task: Task) -> Run:
    import faiss

    faiss.omp_set_num_threads(task.n_threads)
    X = task.X.astype(np.float32)

    def run(max_iter: int, tol: float) -> Outcome:
        # By default faiss learns from 256 rows a centre; everyone else sees all rows.
        model = faiss.Kmeans(
            X.shape[1],
            task.start.n_components,
            niter=max_iter,
            nredo=1,
            max_points_per_centroid=len(X),
            min_points_per_centroid=1,
        )
        seconds = timed(lambda: model.train(X, init_centroids=means_of(task, np.float32)))
        return Outcome(seconds, max_iter, lambda: centres_as_mixture(task, model.centroids), note="no stopping rule")

    return run


# pomegranate ----------------------------------------------------------------------------------------------------------


def pomegranate_laws(start: Mixture) -> list[Any]:
    """The start's components as pomegranate's distributions."""
    import torch
    from pomegranate import distributions

    def columns(*names: str) -> Any:
        tables = [np.asarray(start.source[name], dtype=np.float32) for name in names]
        return zip(*[torch.from_numpy(table.reshape(start.n_components, -1)) for table in tables], strict=True)

    match start.family.name:
        case "gaussian":
            pairs = zip(start.source["mean"], start.source["covariance"], strict=True)
            return [distributions.Normal(m.astype(np.float32), c.astype(np.float32)) for m, c in pairs]
        case "poisson":
            return [distributions.Poisson(rate) for (rate,) in columns("rate")]
        case "bernoulli":
            return [distributions.Bernoulli(probability) for (probability,) in columns("probability")]
        case "gamma":
            return [distributions.Gamma(shape, 1 / scale) for shape, scale in columns("shape", "scale")]
    raise ValueError(f"pomegranate has no {start.family.name}")


def mixture_of_pomegranate(start: Mixture, model: Any) -> Mixture:
    def column(name: str) -> Array:
        return np.array([getattr(distribution, name).numpy() for distribution in model.distributions], dtype=float)

    weights = model.priors.numpy().astype(float)
    weights /= weights.sum()
    match start.family.name:
        case "gaussian":
            return gaussian_mixture(weights, column("means"), column("covs"))
        case "poisson":
            return Mixture.from_source(start.family, weights, rate=column("lambdas"))
        case "bernoulli":
            return Mixture.from_source(start.family, weights, probability=column("probs"))
    return Mixture.from_source(start.family, weights, shape=column("shapes"), scale=1 / column("rates"))


def pomegranate(task: Task) -> Run:
    import torch
    from pomegranate.gmm import GeneralMixtureModel

    torch.set_num_threads(task.n_threads)
    X = torch.from_numpy(task.X.astype(np.float32))

    def run(max_iter: int, tol: float) -> Outcome:
        model = GeneralMixtureModel(
            pomegranate_laws(task.start),
            priors=task.start.weights.astype(np.float32),
            max_iter=max_iter,
            tol=tol * len(X),  # it measures the gain of all rows together
        )
        passes = 0
        summarize = model.summarize

        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal passes
            passes += 1
            return summarize(*arguments, **named)

        model.summarize = counted
        seconds = timed(lambda: model.fit(X))
        return Outcome(seconds, passes, lambda: mixture_of_pomegranate(task.start, model))

    return run


# StepMix --------------------------------------------------------------------------------------------------------------


def step_mix(task: Task) -> Run:
    from stepmix import StepMix

    start = task.start

    class FromStart(StepMix):
        """StepMix has no argument for a start, so it is put where its own would be made."""

        def _initialize_parameters(self, X: Any, random_state: Any) -> None:
            self.weights_ = start.weights.copy()
            self._initialize_parameters_measurement(X, random_state, init_emission=False)
            self._mm.set_parameters({"pis": np.array(start.source["probability"])})

    def run(max_iter: int, tol: float) -> Outcome:
        model = FromStart(
            start.n_components, measurement="bernoulli", abs_tol=tol, rel_tol=0.0, max_iter=max_iter, progress_bar=0
        )
        seconds = timed(lambda: model.fit(task.X))

        def learned() -> Mixture:
            parameters = model.get_parameters()
            weights = parameters["weights"] / parameters["weights"].sum()
            probability = np.clip(parameters["measurement"]["pis"], 0, 1)
            return Mixture.from_source(start.family, weights, probability=probability)

        return Outcome(seconds, model.n_iter_, learned)

    return run


# Armadillo ------------------------------------------------------------------------------------------------------------


def armadillo_gaussian(task: Task) -> Run:
    learn = armadillo.compiled()
    source = task.start.source

    def run(max_iter: int, tol: float) -> Outcome:
        learned = learn(
            task.X, task.start.weights, source["mean"], source["covariance"], max_iter, tol, VARIANCE_FLOOR,
            task.n_threads,
        )  # fmt: skip
        return Outcome(
            learned.seconds,
            learned.iterations,
            lambda: gaussian_mixture(learned.weights, learned.means, learned.covariances),
        )

    return run


class ArmadilloContestant(Competitor):
    """Armadillo is no Python module: its headers and a compiler are looked for instead."""

    def missing(self) -> str | None:
        return armadillo.why_missing()


PEERS = {
    competitor.name: competitor
    for competitor in (
        Competitor("scikit-learn", scikit_learn_gaussian(np.float64)),
        Competitor("scikit-learn float32", scikit_learn_gaussian(np.float32)),
        Competitor(
            "scikit-learn spherical (other model)", scikit_learn_gaussian(np.float64, "spherical"), same_model=False
        ),
        Competitor("scikit-learn lloyd", k_means_of("sklearn", "lloyd", np.float64)),
        Competitor("scikit-learn lloyd float32", k_means_of("sklearn", "lloyd", np.float32)),
        Competitor("scikit-learn elkan", k_means_of("sklearn", "elkan", np.float64)),
        Competitor("scikit-learn elkan float32", k_means_of("sklearn", "elkan", np.float32)),
        Competitor("scikit-learn-intelex", k_means_of("sklearnex", "lloyd", np.float64), ("sklearnex", "daal4py")),
        Competitor(
            "scikit-learn-intelex float32", k_means_of("sklearnex", "lloyd", np.float32), ("sklearnex", "daal4py")
        ),
        Competitor("faiss float32", faiss_k_means, ("faiss",), stops_by_itself=False),
        Competitor("pomegranate float32", pomegranate, ("torch", "pomegranate")),
        Competitor("StepMix", step_mix, ("stepmix",)),
        ArmadilloContestant("Armadillo", armadillo_gaussian),
    )
}
