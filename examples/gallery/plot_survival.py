"""
Survival with censored times
============================

A mixture beside the product-limit estimate of the lung cancer trial of the Veterans' Administration.
"""

import matplotlib.pyplot as plt
import numpy as np

from kmle import ExponentialFamilyMixture, Intervals, inspection

time, died = np.genfromtxt("../data/veteran.csv", delimiter=",", skip_header=1, usecols=(2, 3)).T
times = Intervals.from_events(time, died == 1)
model = ExponentialFamilyMixture(2, family="exponential", random_state=0).fit(times)
curve, observed = inspection.survival(model), inspection.product_limit(times)

figure, ax = plt.subplots()
ax.step(observed.times, observed.survival, where="post", color="black", label="product limit")
ax.fill_between(observed.times, observed.lower, observed.upper, step="post", color="black", alpha=0.12, lw=0)
ax.plot(curve.times, curve.survival, label="two exponentials")
ax.set(xlabel="days", ylabel="proportion alive", xlim=(0, 700))
ax.legend()
