"""Mixtures of the families under test, to try the laws of mixtures on."""

import numpy as np

from kmle import Mixture


def typical(case, k=3, seed=0):
    """k typical laws with unequal weights, and the points of the cube they come from."""
    rng = np.random.default_rng(seed)
    points = rng.random((k, case.size))
    return Mixture(case.family, rng.dirichlet(np.full(k, 5.0)), case.naturals_at(points)), points
