"""
Quantiles of data and mixture
=============================

Points on the diagonal mean that the mixture has the distribution of the data.
"""

import numpy as np

from kmle import ExponentialFamilyMixture
from kmle.plotting import plot_qq

X = np.loadtxt("../data/galaxies.csv", delimiter=",", skiprows=1, ndmin=2) / 1000
model = ExponentialFamilyMixture(4, random_state=0).fit(X)
plot_qq(model, X, columns=["velocity"])
