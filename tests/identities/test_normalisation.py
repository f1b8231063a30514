"""Densities integrate, or sum, to one."""

import numpy as np
import pytest
from scipy import stats

from cases import BY_ID, INTEGRABLE, case_id, for_all

LARGE = {"gaussian-3", "spherical-gaussian-3", "dirichlet-3"}


@pytest.mark.parametrize("case", INTEGRABLE, ids=case_id)
def test_the_total_is_one(case):
    def total(points):
        rows, weights = case.nodes_at(points)
        density = np.exp(case.family.log_density(rows, case.naturals_at(points)))[:, 0]
        assert weights @ density == pytest.approx(1, abs=1e-9)

    # Every example is thousands of densities, in three dimensions a hundred thousand: one law at a time, and few.
    for_all(case.points(1), total, examples=5 if case.id in LARGE else 25)


@pytest.mark.parametrize(
    ("name", "proposal"),
    [
        ("wishart-2", stats.wishart),
        ("wishart-3", stats.wishart),
        ("wishart-2-fixed", stats.wishart),
        ("inverse-wishart-2", stats.invwishart),
        ("inverse-wishart-2-fixed", stats.invwishart),
    ],
)
def test_the_total_over_matrices_is_one(name, proposal):
    """By importance sampling: SciPy draws from a wider law of its own, and the mean ratio of densities is one."""
    case, size = BY_ID[name], 10_000
    points = np.random.default_rng(5).random((1, case.size))
    source = case.sources_at(points)
    scale = source["scale"][0] * (1.2 if proposal is stats.wishart else 0.85)
    dist = proposal(float(source.get("degrees", [getattr(case.family, "degrees", None)])[0]) * 0.95, scale)
    draws = dist.rvs(size, random_state=6)
    ratio = case.family.log_density(draws, case.naturals_at(points))[:, 0] - dist.logpdf(np.moveaxis(draws, 0, -1))
    weights = np.exp(ratio)
    assert weights.mean() == pytest.approx(1, abs=5 * weights.std() / size**0.5)
    assert weights.std() < 2  # else the line above would say nothing
