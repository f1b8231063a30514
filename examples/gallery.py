"""Draws the pictures of docs/plotting.md into docs/pictures (or another folder): real data and a few simulated kinds.

Needs the extra `plot`: pip install '.[plot]' && python examples/gallery.py [another-folder]
"""

import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.plotting import plot_cells, plot_fit, plot_history, plot_posterior, plot_qq

HERE = Path(__file__).parent
IRIS = ["sepal length", "sepal width", "petal length", "petal width"]


def table(name: str, columns: int) -> Any:
    return np.loadtxt(HERE / "data" / name, delimiter=",", skiprows=1, usecols=range(columns), ndmin=2)


def soft(X: Any, n_components: int, family: str) -> ExponentialFamilyMixture:
    return ExponentialFamilyMixture(n_components, family=family, random_state=0).fit(X)


def column() -> Any:
    X = table("galaxies.csv", 1) / 1000
    return plot_fit(soft(X, 4, "gaussian"), X, columns=["velocity of a galaxy (1000 km/s)"])


def counts() -> Any:
    X = Mixture.from_source("poisson", [0.3, 0.4, 0.3], rate=[2.0, 9.0, 25.0]).sample(1000, 1)
    return plot_fit(soft(X, 3, "poisson"), X, columns=["calls a day"])


def plane() -> Any:
    X = table("faithful.csv", 2)
    return plot_fit(KMLE(2, random_state=0).fit(X), X, columns=["eruption (minutes)", "wait (minutes)"])


def pairs() -> Any:
    X = table("iris.csv", 4)
    return plot_fit(soft(X, 3, "gaussian"), X, columns=IRIS)


def rose() -> Any:
    truth = Mixture.from_source("von-mises", [0.3, 0.3, 0.4], mean=[0.6, 2.4, -2.0], concentration=[12.0, 25.0, 4.0])
    X = truth.sample(1000, 1)
    return plot_fit(soft(X, 3, "von-mises"), X, columns=["wind"])


def sphere() -> Any:
    directions = np.array([[1.0, 0.0, 0.0], [0.0, 0.8, 0.6], [0.3, -0.9, -0.3]])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    truth = Mixture.from_source(
        "von-mises-fisher", [0.4, 0.3, 0.3], direction=directions, concentration=[9.0, 30.0, 15.0]
    )
    X = truth.sample(1000, 1)
    return plot_fit(soft(X, 3, "von-mises-fisher"), X, columns=["x", "y", "z"])


def triangle() -> Any:
    concentration = [[2.0, 3.0, 20.0], [20.0, 5.0, 5.0], [3.0, 9.0, 3.0]]
    X = Mixture.from_source("dirichlet", [0.3, 0.3, 0.4], concentration=concentration).sample(600, 1)
    return plot_fit(soft(X, 3, "dirichlet"), X, columns=["sand", "silt", "clay"])


def heat_map() -> Any:
    rng = np.random.default_rng(3)
    X = Mixture.from_source("bernoulli", [0.2, 0.3, 0.5], probability=rng.random((3, 10)) ** 2).sample(800, 1)
    return plot_fit(soft(X, 3, "bernoulli"), X, columns=[f"question {number}" for number in range(1, 11)])


def cells() -> Any:
    shape, scale = [[2.0, 8.0], [20.0, 3.0], [9.0, 9.0]], [[1.0, 1.0], [0.5, 1.0], [2.0, 0.6]]
    mixture = Mixture.from_source("gamma", [0.3, 0.3, 0.4], shape=shape, scale=scale)
    return plot_cells(mixture, mixture.sample(600, 1), columns=["length", "width"])


def history() -> Any:
    return plot_history(KMLE(5, algorithm="hartigan", random_state=0).fit(table("iris.csv", 4)))


def posterior() -> Any:
    X = table("iris.csv", 4)
    return plot_posterior(soft(X, 3, "diagonal-gaussian"), X)


def quantiles() -> Any:
    X = table("galaxies.csv", 1) / 1000
    return plot_qq(soft(X, 4, "gaussian"), X, columns=["velocity"])


PICTURES: tuple[Callable[[], Any], ...] = (
    column,
    counts,
    plane,
    pairs,
    rose,
    sphere,
    triangle,
    heat_map,
    cells,
    history,
    posterior,
    quantiles,
)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for draw in PICTURES:
        figure = np.ravel(draw())[0].figure
        drawn = BytesIO()
        figure.savefig(drawn, dpi=90)
        plt.close(figure)
        # A few colours are enough for a picture of a few colours, and make a small file.
        small = Image.open(drawn).convert("RGB").quantize(96, dither=Image.Dither.NONE)
        small.save(folder / f"plot_{draw.__name__}.png", optimize=True)
    print(f"wrote {len(PICTURES)} pictures to {folder}")


if __name__ == "__main__":
    main()
