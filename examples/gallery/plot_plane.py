"""
Two columns
===========

Old Faithful: points by label, ellipses at one and two standard deviations, contours of the mixture.
"""

import numpy as np

from kmle import KMLE
from kmle.plotting import plot_fit

X = np.loadtxt("../data/faithful.csv", delimiter=",", skiprows=1)
model = KMLE(2, random_state=0).fit(X)
plot_fit(model, X, columns=["eruption (minutes)", "wait (minutes)"])
