"""
Proportions: a triangle
=======================

Three proportions that sum to one, with Dirichlet components. Simulated soils.
"""

from kmle import ExponentialFamilyMixture, Mixture
from kmle.plotting import plot_fit

concentration = [[2.0, 3.0, 20.0], [20.0, 5.0, 5.0], [3.0, 9.0, 3.0]]
soils = Mixture.from_source("dirichlet", [0.3, 0.3, 0.4], concentration=concentration).sample(600, random_state=1)
model = ExponentialFamilyMixture(3, family="dirichlet", random_state=0).fit(soils)
plot_fit(model, soils, columns=["sand", "silt", "clay"])
