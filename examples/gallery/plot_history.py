"""
The course of a fit
===================

The objective during the search for a start and after every half-step, and why the fit ended.
"""

import numpy as np

from kmle import KMLE
from kmle.plotting import plot_history

X = np.loadtxt("../data/iris.csv", delimiter=",", skiprows=1, usecols=range(4))
model = KMLE(5, algorithm="hartigan", random_state=0).fit(X)
plot_history(model)
