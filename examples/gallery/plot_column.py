"""
One column with its components
==============================

`plot_fit` draws a histogram, the density of the mixture and its components.
"""

from pathlib import Path

import numpy as np

from kmle import ExponentialFamilyMixture
from kmle.plotting import plot_fit

print(Path.cwd())
X = np.random.default_rng(0).gamma([3.0] * 300 + [40.0] * 200, 1.0)[:, None]
model = ExponentialFamilyMixture(2, family="gamma", random_state=0).fit(X)
plot_fit(model, X)
