"""
Merging components
==================

Eight components of the iris data merged one by one, and what each merge costs.
"""

import numpy as np

from kmle import ExponentialFamilyMixture, simplify
from kmle.plotting import plot_dendrogram

X = np.loadtxt("../data/iris.csv", delimiter=",", skiprows=1, usecols=range(4))
model = ExponentialFamilyMixture(8, family="diagonal-gaussian", random_state=0).fit(X)
plot_dendrogram(simplify(model.mixture_, 3, method="hierarchical"))
