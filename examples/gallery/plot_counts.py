"""
Counts
======

The share of every count, and the masses of three Poisson components. Simulated calls.
"""

from kmle import ExponentialFamilyMixture, Mixture
from kmle.plotting import plot_fit

calls = Mixture.from_source("poisson", [0.3, 0.4, 0.3], rate=[2.0, 9.0, 25.0]).sample(1000, random_state=1)
model = ExponentialFamilyMixture(3, family="poisson", random_state=0).fit(calls)
plot_fit(model, calls, columns=["calls a day"])
