"""
More columns: a pair plot
=========================

The four measurements of Fisher's iris. Panels below the diagonal show two columns, the diagonal one.
"""

import numpy as np

from kmle import ExponentialFamilyMixture
from kmle.plotting import plot_fit

X = np.loadtxt("../data/iris.csv", delimiter=",", skiprows=1, usecols=range(4))
model = ExponentialFamilyMixture(3, random_state=0).fit(X)
plot_fit(model, X, columns=["sepal length", "sepal width", "petal length", "petal width"])
