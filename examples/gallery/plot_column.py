"""
One column with its components
==============================

The velocities of 82 galaxies (Roeder 1990) under four Gaussian components. The dashed line is the mixture.
"""

import numpy as np

from kmle import ExponentialFamilyMixture
from kmle.plotting import plot_fit

X = np.loadtxt("../data/galaxies.csv", delimiter=",", skiprows=1, ndmin=2) / 1000
model = ExponentialFamilyMixture(4, random_state=0).fit(X)
plot_fit(model, X, columns=["velocity of a galaxy (1000 km/s)"])
