"""Small data sets by name: public ones, and samples of mixtures whose components overlap."""

import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from sklearn import datasets

from kmle import Mixture
from kmle import families as f

from .competitors import Array

FOLDER = Path(__file__).with_name("data")
SIMULATED_ROWS = 500


def table(name: str, *columns: str) -> Array:
    """Columns of a file; rows that lack a value are left out."""
    with open(FOLDER / f"{name}.csv", encoding="utf-8") as file:
        rows = [[row[column] for column in columns] for row in csv.DictReader(file)]
    return np.array([row for row in rows if "NA" not in row], dtype=float)


def bundled(name: str, columns: slice | list[int] = slice(None)) -> Array:
    """Columns of a data set that comes with scikit-learn."""
    return np.asarray(getattr(datasets, f"load_{name}")().data, dtype=float)[:, columns]


def colours(n: int, seed: int = 0) -> Array:
    """Random pixels of a photograph, from 0 to 1."""
    image = datasets.load_sample_image("china.jpg").reshape(-1, 3) / 255
    return np.asarray(image[np.random.default_rng(seed).choice(len(image), n, replace=False)])


def patch(n: int, seed: int = 2) -> Array:
    """Random pixels of a small part of a photograph, from 0 to 1."""
    part = datasets.load_sample_image("china.jpg")[100:300, 200:420].reshape(-1, 3) / 255
    return np.asarray(part[np.random.default_rng(seed).choice(len(part), n, replace=False)])


# Simulated ------------------------------------------------------------------------------------------------------------


def gaussians(d: int, k: int, spread: float, seed: int, n: int = SIMULATED_ROWS) -> Array:
    """Gaussian components of different shapes and weights; the smaller the spread the more they overlap."""
    rng = np.random.default_rng([seed, d, k])
    factors = rng.standard_normal((k, d, d)) * rng.uniform(0.3, 1.0, (k, 1, 1)) + 0.5 * np.eye(d)
    covariance = factors @ np.swapaxes(factors, 1, 2) + 0.05 * np.eye(d)
    mean = spread * rng.standard_normal((k, d))
    return _sampled("gaussian", rng, n, mean=mean, covariance=covariance)


def _sampled(family: str | f.ExponentialFamily, rng: np.random.Generator, n: int, **parameters: Array) -> Array:
    k = len(next(iter(parameters.values())))
    mixture = Mixture.from_source(family, rng.dirichlet(np.full(k, 4.0)), **parameters)
    return np.asarray(mixture.sample(n, random_state=int(rng.integers(2**31))), dtype=float)


def _between(rng: np.random.Generator, low: float, high: float, *shape: int) -> Array:
    """Log-uniform numbers."""
    return np.exp(rng.uniform(np.log(low), np.log(high), shape))


def _unit(rng: np.random.Generator, k: int, d: int) -> Array:
    raw = rng.standard_normal((k, d))
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True))


def simulated(name: str, k: int = 4, n: int = SIMULATED_ROWS) -> Array:
    """A sample of k components of a family named in FAMILIES, with parameters within a moderate range."""
    rng = np.random.default_rng([len(name), k, *name.encode()])
    family, parameters = FAMILIES[name]
    return _sampled(family, rng, n, **parameters(rng, k))


Draw = Callable[[np.random.Generator, int], dict[str, Array]]
SHAPE_SCALE: Draw = lambda r, k: {"shape": _between(r, 2, 40, k, 1), "scale": _between(r, 0.3, 3, k, 1)}  # noqa: E731
SCALE: Draw = lambda r, k: {"scale": _between(r, 0.1, 20, k, 1)}  # noqa: E731
FAMILIES: dict[str, tuple[f.ExponentialFamily, Draw]] = {
    "gamma": (f.Gamma(), SHAPE_SCALE),
    "gamma-2": (
        f.Gamma(),
        lambda r, k: {"shape": _between(r, 2, 20, k, 2), "scale": _between(r, 0.3, 3, k, 2)},
    ),
    "inverse-gamma": (f.InverseGamma(), SHAPE_SCALE),
    "log-normal": (
        f.LogNormal(),
        lambda r, k: {"log_mean": r.uniform(-2, 2, (k, 2)), "log_std": r.uniform(0.2, 0.8, (k, 2))},
    ),
    "inverse-gaussian": (
        f.InverseGaussian(),
        lambda r, k: {"mean": _between(r, 0.5, 10, k, 1), "shape": _between(r, 2, 60, k, 1)},
    ),
    "weibull": (f.Weibull(2.5), SCALE),
    "exponential": (f.Exponential(), lambda r, k: {"rate": _between(r, 0.05, 20, k, 2)}),
    "rayleigh": (f.Rayleigh(), SCALE),
    "laplace": (f.Laplace(0.0), lambda r, k: {"scale": _between(r, 0.1, 20, k, 2)}),
    "half-normal": (f.HalfNormal(), SCALE),
    "maxwell": (f.Maxwell(), SCALE),
    "fixed-shape-gamma": (f.FixedShapeGamma(2.3), SCALE),
    "chi-square": (f.ChiSquare(), lambda r, k: {"degrees": _between(r, 1, 60, k, 1)}),
    "pareto": (f.Pareto(1.0), lambda r, k: {"shape": _between(r, 0.3, 10, k, 1)}),
    "beta": (
        f.Beta(),
        lambda r, k: {"alpha": _between(r, 1, 30, k, 1), "beta": _between(r, 1, 30, k, 1)},
    ),
    "beta-2": (
        f.Beta(),
        lambda r, k: {"alpha": _between(r, 1, 30, k, 2), "beta": _between(r, 1, 30, k, 2)},
    ),
    "dirichlet": (f.Dirichlet(), lambda r, k: {"concentration": _between(r, 1, 20, k, 3)}),
    "von-mises": (
        f.VonMises(),
        lambda r, k: {"mean": r.uniform(-3.1, 3.1, (k, 1)), "concentration": _between(r, 1, 20, k, 1)},
    ),
    "von-mises-fisher": (
        f.VonMisesFisher(),
        lambda r, k: {"direction": _unit(r, k, 3), "concentration": _between(r, 2, 30, k)},
    ),
    "von-mises-fisher-10": (
        f.VonMisesFisher(),
        lambda r, k: {"direction": _unit(r, k, 10), "concentration": _between(r, 5, 40, k)},
    ),
    "poisson": (f.Poisson(), lambda r, k: {"rate": _between(r, 0.5, 40, k, 1)}),
    "poisson-3": (f.Poisson(), lambda r, k: {"rate": _between(r, 0.5, 20, k, 3)}),
    "geometric": (f.Geometric(), lambda r, k: {"probability": r.uniform(0.03, 0.9, (k, 2))}),
    "binomial": (f.Binomial(20), lambda r, k: {"probability": r.uniform(0.05, 0.95, (k, 2))}),
    "negative-binomial": (f.NegativeBinomial(3), lambda r, k: {"probability": r.uniform(0.05, 0.9, (k, 2))}),
    "bernoulli": (f.Bernoulli(), lambda r, k: {"probability": r.uniform(0.1, 0.9, (k, 10))}),
    "multinomial": (f.Multinomial(12), lambda r, k: {"probabilities": r.dirichlet(np.full(5, 1.5), k)}),
    "categorical": (
        f.Categorical((4, 4, 4, 4, 4)),
        lambda r, k: {"probabilities": np.concatenate([r.dirichlet(np.ones(4), k) for _ in range(5)], axis=1)},
    ),
}
PUBLIC: dict[str, Callable[[], Array]] = {
    "iris": lambda: bundled("iris"),
    "iris petals": lambda: bundled("iris", [2, 3]),
    "wine": lambda: bundled("wine"),
    "wine, 4 columns": lambda: bundled("wine", [0, 6, 9, 12]),
    "breast cancer, 5 columns": lambda: bundled("breast_cancer", slice(0, 5)),
    "breast cancer, 3 columns": lambda: bundled("breast_cancer", [0, 1, 4]),
    "digits, 4 pixels": lambda: bundled("digits", [20, 28, 36, 43]),
    "digits, binary": lambda: (bundled("digits")[:600] > 7).astype(float),
    "diabetes, 4 columns": lambda: bundled("diabetes", [0, 2, 3, 4]),
    "diabetes, progression": lambda: np.asarray(datasets.load_diabetes().target, dtype=float)[:, None],
    "breast cancer, 4 columns": lambda: bundled("breast_cancer", [2, 4, 6, 9]),
    "breast cancer, errors": lambda: bundled("breast_cancer", [10, 12, 14]),
    "wine, 4 other columns": lambda: bundled("wine", [3, 4, 6, 11]),
    "iris sepals": lambda: bundled("iris", [0, 1]),
    "eruptions": lambda: table("faithful", "eruptions"),
    "diabetes, serum": lambda: bundled("diabetes", [4, 5, 6, 7]),
    "digits, 4 other pixels": lambda: bundled("digits", [20, 29, 45, 53])[700:1500],
    "digits, middle rows": lambda: (bundled("digits", slice(34, 54))[200:700] > 7).astype(float),
    "colours of a patch": lambda: patch(800),
    "ozone and temperature": lambda: table("airquality", "Ozone", "Temp"),
    "linnerud": lambda: bundled("linnerud"),
    "faithful": lambda: table("faithful", "eruptions", "waiting"),
    "galaxies": lambda: table("galaxies", "x") / 1000,
    "flexmix": lambda: table("Nclus", "V1", "V2"),
    "air quality": lambda: table("airquality", "Ozone", "Solar.R", "Wind", "Temp"),
    "ozone": lambda: table("airquality", "Ozone"),
    "veteran times": lambda: table("veteran", "time"),
    "veteran ages": lambda: table("veteran", "age"),
    "days absent": lambda: table("quine", "Days"),
    "copper": lambda: table("chem", "x"),
    "colours": lambda: colours(1500),
    "colours, inner": lambda: colours(800).clip(0.002, 0.998),
}


@cache
def data_set(name: str) -> Array:
    """A data set by name; names of simulated ones begin with "sim" or "gaussians"."""
    if name in PUBLIC:
        return PUBLIC[name]()
    kind, _, rest = name.partition(" ")
    if kind == "sim":
        family, _, k = rest.partition(" ")
        return simulated(family, int(k))
    d, k, spread, seed = rest.split()
    return gaussians(int(d), int(k), float(spread), int(seed))
