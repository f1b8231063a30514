"""Certificates of fits that are, and are not, optimal."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from cases import CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, Mixture, certify

COUNTS = np.concatenate([np.random.default_rng(0).poisson(3, 150), np.random.default_rng(0).poisson(18, 150)])[:, None]
POINTS = (
    np.concatenate([np.random.default_rng(0).normal(0, 1, (200, 2)), np.random.default_rng(0).normal(3, 1, (200, 2))])
    + 50.0
)


def test_an_exact_fit_is_the_global_optimum_of_its_own_rows_only():
    model = KMLE(3, family="poisson", algorithm="exact").fit(COUNTS)
    assert certify(model, COUNTS).kind == "global optimum"
    assert certify(model.result_, COUNTS).kind == "global optimum"
    assert certify(model, COUNTS[:200]).kind != "global optimum"


@pytest.mark.parametrize("algorithm", ["k-mle", "hard-em", "swap"])
@pytest.mark.parametrize("weights", [None, "uniform"])
def test_what_ended_by_itself_is_stable(algorithm, weights):
    model = KMLE(4, algorithm=algorithm, weights=weights, random_state=1).fit(POINTS)
    assert model.certify(POINTS).kind in ("Lloyd-stable", "Hartigan-stable")


@pytest.mark.parametrize(("family", "X"), [("poisson", COUNTS), ("gaussian", POINTS)])
def test_hartigan_leaves_no_row_that_gains(family, X):
    model = KMLE(4, family=family, algorithm="hartigan", engine="dense", random_state=1).fit(X)
    found = certify(model, X)
    assert found.kind == "Hartigan-stable"
    assert found.stable
    assert found.details["rows_gaining_alone"] == 0


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_ends_where_its_certificate_says(case):
    X = Mixture(case.family, [0.3, 0.7], case.naturals(2, seed=1)).sample(120, random_state=1)
    for algorithm, kinds in (("hard-em", ("Lloyd-stable", "Hartigan-stable")), ("hartigan", ("Hartigan-stable",))):
        model = KMLE(3, family=case.family, algorithm=algorithm, random_state=1, n_jobs=1).fit(X)
        assert model.certify(X).kind in kinds


def test_a_lloyd_optimum_that_hartigan_improves_says_so():
    """Some of many starts end where Hartigan's moves still gain, and the certificate tells which, by that gain."""
    kinds = set()
    for seed in range(12):
        model = KMLE(6, algorithm="hard-em", init="k-mle++", n_init=1, random_state=seed, prior_strength=0.1).fit(
            POINTS
        )
        found = model.certify(POINTS)
        better = KMLE(6, algorithm="hartigan", init=model.mixture_, prior_strength=0.1).fit(POINTS)
        gained = better.objective_ - model.objective_ > 1e-8
        assert gained == (found.kind == "Lloyd-stable")
        kinds.add(found.kind)
    assert kinds == {"Lloyd-stable", "Hartigan-stable"}


@pytest.mark.parametrize("seed", range(4))
def test_components_on_copies_of_few_rows_are_stable(seed):
    """Their parameters are so large that a solver leaves some rounding, which is no gain."""
    values = np.random.default_rng(seed).choice([0.06496694, 0.45318776, 0.48574372, 0.49847419], 6)
    X = np.repeat(np.append(values, 0.06496694), 10)[:, None]
    assert KMLE(3, family="beta", random_state=1, n_init=3).fit(X).certify(X).stable


def test_a_perturbed_fit_is_not_stable():
    model = KMLE(2, random_state=0).fit(POINTS)
    source = model.mixture_.source
    moved = Mixture.from_source("gaussian", model.weights_, mean=source["mean"] + 1.0, covariance=source["covariance"])
    found = replace(model.result_, mixture=moved).certify(POINTS)
    assert found.kind == "not stable"
    assert found.details["rows_moving"] > 0
    assert found.details["parameter_gain"] > 1


def test_weights_count_rows():
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, len(POINTS)).astype(float)
    model = KMLE(3, random_state=0).fit(POINTS, sample_weight=weights)
    assert model.certify(POINTS, sample_weight=weights).stable
    assert not model.certify(POINTS).stable


@pytest.mark.parametrize("algorithm", ["em", "sparse-em"])
def test_em_is_a_fixpoint_up_to_its_tolerance(algorithm):
    model = ExponentialFamilyMixture(2, algorithm=algorithm, tol=1e-8, n_responsibilities=1, random_state=0).fit(POINTS)
    found = model.certify(POINTS)
    assert found.kind == "EM fixpoint"
    assert found.details["gain_per_row"] <= 1e-8
    early = ExponentialFamilyMixture(2, algorithm=algorithm, max_iter=1, init="random", n_init=1, random_state=0).fit(
        POINTS
    )
    assert certify(early, POINTS).kind == "not stable"


def test_batches_leave_a_fit_that_can_be_judged():
    rng = np.random.default_rng(0)
    model = KMLE(2, family="poisson", random_state=0)
    for batch in np.array_split(rng.permutation(COUNTS), 5):
        model.partial_fit(batch)
    assert model.certify(COUNTS).kind in ("not stable", "Lloyd-stable", "Hartigan-stable")


def test_sparse_rows_are_judged_too():
    rng = np.random.default_rng(0)
    X = rng.poisson([[0.2, 3.0, 0.5]] * 60 + [[4.0, 0.1, 0.5]] * 60).astype(float)
    model = KMLE(2, family="poisson", random_state=0).fit(csr_array(X))
    assert model.certify(csr_array(X)).stable


def test_only_fits_are_judged():
    with pytest.raises(TypeError, match="not a list"):
        certify([1], POINTS)
