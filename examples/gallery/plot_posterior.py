"""
How certain the labels are
==========================

The posterior probabilities of the rows, sorted within each component.
"""

import numpy as np

from kmle import ExponentialFamilyMixture
from kmle.plotting import plot_posterior

X = np.loadtxt("../data/iris.csv", delimiter=",", skiprows=1, usecols=range(4))
model = ExponentialFamilyMixture(3, family="diagonal-gaussian", random_state=0).fit(X)
plot_posterior(model, X)
