"""The maximum-likelihood law is one: nothing near it is more likely, and it is the one SciPy finds."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

from cases import BY_ID, CASES, case_id, for_all


def data(case, seed, size=60):
    """Rows from a typical law: enough for every one of these families to have an interior maximum."""
    return case.sample(case.naturals(1, seed)[0], size, seed)


def likelihood(family, rows, natural, weights=None):
    with np.errstate(all="ignore"):
        return np.average(family.log_density(rows, natural)[:, 0], weights=weights)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_no_neighbour_is_more_likely(case):
    def best(seed):
        rng = np.random.default_rng(seed)
        rows, weights = data(case, seed), rng.exponential(size=60)
        fitted = case.family.mle(rows, weights)
        here = likelihood(fitted.family, rows, fitted.natural, weights)
        values, vectors = np.linalg.eigh(case.family.fisher_information(fitted.natural)[0])
        for size in (1e-3, 1e-2, 0.1):
            step = vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1])) @ rng.normal(size=len(values))
            moved = fitted.natural + size * np.clip(step, -9, 9)  # a nearly empty cell has no information
            if np.isfinite(case.family.log_normalizer(moved)).all():
                moved = case.family.natural_from_moment(case.family.moment_from_natural(moved))
                assert likelihood(fitted.family, rows, moved, weights) <= here + 1e-12 * (1 + abs(here))

    for_all(st.integers(0, 1000), best, examples=10)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_fitted_moment_is_the_weighted_mean_of_the_statistic(case):
    def matched(seed):
        rows = data(case, seed)
        weights = np.random.default_rng(seed).exponential(size=len(rows))
        t = case.family.sufficient_statistic(rows)
        fitted = case.family.mle(rows, weights)
        np.testing.assert_allclose(fitted.moment[0], weights @ t / weights.sum(), rtol=1e-8, atol=1e-8)

    for_all(st.integers(0, 1000), matched, examples=10)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_weight_of_k_is_a_row_k_times(case):
    rows = data(case, seed=5)
    copies = np.random.default_rng(5).integers(0, 4, len(rows))
    weighted = case.family.mle(rows, copies)
    repeated = case.family.mle(np.repeat(rows, copies, axis=0))
    np.testing.assert_allclose(weighted.natural, repeated.natural, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_only_ratios_of_weights_count(case):
    rows = data(case, seed=6)
    weights = np.random.default_rng(6).exponential(size=len(rows))
    plain, scaled = case.family.mle(rows, weights), case.family.mle(rows, 1e-3 * weights)
    np.testing.assert_allclose(scaled.natural, plain.natural, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        case.family.mle(rows).natural, case.family.mle(rows, np.ones(len(rows))).natural, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_single_precision_rows_lose_only_their_own_digits(case):
    """A float32 row is a rounded row; the estimate is that of the rounded rows, in double precision."""
    rows = data(case, seed=7).astype(np.float32)
    natural = case.family.mle(rows).natural
    assert natural.dtype == np.float64
    np.testing.assert_allclose(natural, case.family.mle(rows.astype(float)).natural, rtol=1e-10, atol=1e-10)


# SciPy's `fit`, where it is a closed form or an accurate search: our usual parameters from its answer.
FITS = {
    "diagonal-gaussian-1": lambda x: dict(zip(("mean", "std"), stats.norm.fit(x), strict=True)),
    "log-normal": lambda x: {
        "log_std": stats.lognorm.fit(x, floc=0)[0],
        "log_mean": np.log(stats.lognorm.fit(x, floc=0)[2]),
    },
    "exponential": lambda x: {"rate": 1 / stats.expon.fit(x, floc=0)[1]},
    "rayleigh": lambda x: {"scale": stats.rayleigh.fit(x, floc=0)[1]},
    "laplace": lambda x: {"scale": stats.laplace.fit(x, floc=0.7)[1]},
    "half-normal": lambda x: {"scale": stats.halfnorm.fit(x, floc=0)[1]},
    "gamma-1": lambda x: dict(zip(("shape", "_", "scale"), stats.gamma.fit(x, floc=0), strict=True)),
    "fixed-shape-gamma": lambda x: {"scale": stats.gamma.fit(x, fa=2.3, floc=0)[2]},
    "inverse-gaussian": lambda x: {
        "mean": np.prod(stats.invgauss.fit(x, floc=0)[::2]),
        "shape": stats.invgauss.fit(x, floc=0)[2],
    },
    "pareto": lambda x: {"shape": stats.pareto.fit(x, floc=0, fscale=1.5)[0]},
    "beta": lambda x: dict(zip(("alpha", "beta"), stats.beta.fit(x, floc=0, fscale=1)[:2], strict=True)),
    "von-mises": lambda x: dict(zip(("concentration", "mean"), stats.vonmises.fit(x, fscale=1)[:2], strict=True)),
}


@pytest.mark.parametrize("name", FITS)
def test_it_is_what_scipy_finds(name):
    rows = data(BY_ID[name], seed=8, size=300)
    found = BY_ID[name].family.mle(rows).source
    found["std"] = np.sqrt(found.get("variance", np.nan))
    # Searches of SciPy stop at about seven digits.
    for key, value in FITS[name](rows[:, 0]).items():
        if key != "_":
            assert found[key].item() == pytest.approx(value, rel=1e-6), key


def test_it_is_what_scipy_finds_in_several_dimensions():
    rows = data(BY_ID["gaussian-3"], seed=9)
    found = BY_ID["gaussian-3"].family.mle(rows).source
    mean, covariance = stats.multivariate_normal.fit(rows)
    np.testing.assert_allclose(found["mean"][0], mean, rtol=1e-12)
    np.testing.assert_allclose(found["covariance"][0], covariance, rtol=1e-10, atol=1e-12)
    for name in ("von-mises-fisher-3", "von-mises-fisher-50"):
        rows = data(BY_ID[name], seed=9)
        direction, concentration = stats.vonmises_fisher.fit(rows)
        found = BY_ID[name].family.mle(rows).source
        np.testing.assert_allclose(found["direction"][0], direction, rtol=1e-9, atol=1e-12)
        assert found["concentration"].item() == pytest.approx(concentration, rel=1e-7)
