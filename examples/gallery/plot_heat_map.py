"""
Binary answers: a heat map
==========================

The probabilities of ten questions in three latent classes. Simulated.
"""

import numpy as np

from kmle import ExponentialFamilyMixture, Mixture
from kmle.plotting import plot_fit

probability = np.random.default_rng(3).random((3, 10)) ** 2
answers = Mixture.from_source("bernoulli", [0.2, 0.3, 0.5], probability=probability).sample(800, random_state=1)
model = ExponentialFamilyMixture(3, family="bernoulli", random_state=0).fit(answers)
plot_fit(model, answers, columns=[f"question {number}" for number in range(1, 11)])
