"""The data sets whose results others have published."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[2] / "examples" / "data"


def table(name, columns=None):
    return np.genfromtxt(FOLDER / name, delimiter=",", skip_header=1, usecols=columns, ndmin=2)


FAITHFUL = table("faithful.csv")
IRIS = table("iris.csv", (0, 1, 2, 3))
NCLUS = table("Nclus.csv")
GALAXIES = table("galaxies.csv").reshape(-1, 1) / 1000
