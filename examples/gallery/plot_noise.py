"""
Clusters in noise
=================

`noise=True` adds a uniform component for rows that belong nowhere. Simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

from kmle import KMLE

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(0, 1, (300, 2)), rng.normal(7, 1, (200, 2)), rng.uniform(-10, 18, (120, 2))])
labels = KMLE(2, noise=True, random_state=0).fit(X).labels_

figure, ax = plt.subplots()
for label, colour in ((-1, "lightgrey"), (0, "tab:blue"), (1, "tab:orange")):
    ax.scatter(*X[labels == label].T, s=9, color=colour, label="noise" if label < 0 else f"component {label}")
ax.legend()
