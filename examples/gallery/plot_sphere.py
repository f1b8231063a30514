"""
Directions in space
===================

Hammer's equal-area map of the sphere, with three von Mises-Fisher components. Simulated.
"""

from kmle import ExponentialFamilyMixture, Mixture
from kmle.plotting import plot_fit

directions = [[1.0, 0.0, 0.0], [0.0, 0.8, 0.6], [0.36, -0.8, -0.48]]
truth = Mixture.from_source("von-mises-fisher", [0.4, 0.3, 0.3], direction=directions, concentration=[9.0, 30.0, 15.0])
X = truth.sample(1000, random_state=1)
model = ExponentialFamilyMixture(3, family="von-mises-fisher", random_state=0).fit(X)
plot_fit(model, X, columns=["x", "y", "z"])
