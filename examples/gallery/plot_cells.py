"""
Cells: which component where
============================

The regions of the plane in which each of three gamma components is the most probable. Simulated.
"""

from kmle import Mixture
from kmle.plotting import plot_cells

shape, scale = [[2.0, 8.0], [20.0, 3.0], [9.0, 9.0]], [[1.0, 1.0], [0.5, 1.0], [2.0, 0.6]]
mixture = Mixture.from_source("gamma", [0.3, 0.3, 0.4], shape=shape, scale=scale)
plot_cells(mixture, mixture.sample(600, random_state=1), columns=["length", "width"])
