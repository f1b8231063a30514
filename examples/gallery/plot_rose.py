"""
Angles: a rose
==============

Bars around a circle, and three von Mises components. Simulated directions of the wind.
"""

from kmle import ExponentialFamilyMixture, Mixture
from kmle.plotting import plot_fit

truth = Mixture.from_source("von-mises", [0.3, 0.3, 0.4], mean=[0.6, 2.4, -2.0], concentration=[12.0, 25.0, 4.0])
wind = truth.sample(1000, random_state=1)
model = ExponentialFamilyMixture(3, family="von-mises", random_state=0).fit(wind)
plot_fit(model, wind, columns=["wind"])
