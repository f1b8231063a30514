"""
Choosing family and number
==========================

The criterion of every candidate. The lowest is the choice.
"""

from kmle import Mixture, select
from kmle.plotting import plot_selection

waits = Mixture.from_source("gamma", [0.6, 0.4], shape=[3.0, 40.0], scale=[1.0, 0.5]).sample(600, random_state=0)
chosen = select(waits, ("gamma", "gaussian", "log-normal"), range(1, 6), random_state=0)
print(chosen.sentence)
plot_selection(chosen)
