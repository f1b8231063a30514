"""Separation, outliers and the summary, against closed forms and simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.sparse import csr_array

from cases import CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.inspection import diagnose, outlier_scores, overlap, posterior_entropy, separation

BELLS = Mixture.from_source("diagonal-gaussian", [0.5, 0.5], mean=[[-1.0], [1.0]], variance=[[1.0], [1.0]])


def test_overlap_of_bells_is_the_textbook_one():
    assert_allclose(overlap(BELLS), [[1.0, np.exp(-0.5)], [np.exp(-0.5), 1.0]], rtol=1e-12)


def test_separation_of_bells_is_the_textbook_one():
    found = separation(BELLS, BELLS.sample(50_000, random_state=0))
    # Means two deviations apart: KL 2, Chernoff information 1/2, and Phi(-1) of the rows on the wrong side.
    assert_allclose(found.kl, 2.0, rtol=1e-9)
    assert_allclose(found.chernoff, 0.5, rtol=1e-9)
    wrong = stats.norm.cdf(-1)
    assert_allclose(found.confusion, [[1 - wrong, wrong], [wrong, 1 - wrong]], atol=0.01)
    assert_allclose(found.own_posterior, 1 - wrong, atol=0.01)
    assert found.nearest.tolist() == [1, 0]
    assert found.rows.sum() == 50_000


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_separation_of_every_family(case):
    mixture = Mixture(case.family, [0.2, 0.3, 0.5], case.naturals(3, seed=2))
    X = mixture.sample(200, random_state=0)
    found = separation(mixture, X)
    assert_allclose(found.confusion.sum(axis=1), 1.0)
    assert_allclose(found.overlap, found.overlap.T, rtol=1e-6, atol=1e-12)
    assert_allclose(np.diagonal(found.overlap), 1.0, rtol=1e-9)
    # Bhattacharyya's is the Chernoff coefficient at one half, never below the least one; and KL is above both.
    others = found.overlap - 2 * np.eye(3)
    assert (np.exp(-found.chernoff) <= others.max(axis=1) * (1 + 1e-6) + 1e-300).all()
    assert (found.chernoff <= found.kl * (1 + 1e-9)).all()
    entropy = posterior_entropy(mixture, X)
    assert found.mean_entropy == pytest.approx(entropy.mean(), abs=1e-12)
    assert (entropy >= 0).all()
    assert (entropy <= np.log(3) + 1e-12).all()


def test_entropy_is_that_of_the_posterior():
    X = BELLS.sample(100, random_state=1)
    expected = [stats.entropy(row) for row in BELLS.posterior(X)]
    assert_allclose(posterior_entropy(BELLS, X), expected, atol=1e-12)


def test_tails_of_a_bell_are_two_sided_p_values():
    bell = Mixture.from_source("diagonal-gaussian", [1.0], mean=[[0.0]], variance=[[1.0]])
    x = np.array([0.1, 1.0, 2.0, 2.5, 12.0])
    found = outlier_scores(bell, x[:, None], n_draws=100_000, random_state=0)
    assert_allclose(found.tail, 2 * stats.norm.sf(x), atol=0.006)
    assert_allclose(found.scores, -stats.norm.logpdf(x), rtol=1e-12)


@pytest.mark.parametrize("truth", [BELLS, Mixture.from_source("gamma", [0.5, 0.5], shape=[2.0, 9.0], scale=[1.0, 3.0])])
def test_own_rows_have_uniform_tails(truth):
    tail = outlier_scores(truth, truth.sample(1000, random_state=4), n_draws=50_000, random_state=1).tail
    assert stats.kstest(tail, "uniform").pvalue > 1e-3


def test_equal_rows_have_equal_tails():
    counts = Mixture.from_source("poisson", [1.0], rate=[2.0])
    found = outlier_scores(counts, [[0], [2], [40]], n_draws=20_000, random_state=0)
    assert_allclose(found.tail, [stats.poisson.pmf(0, 2) + stats.poisson.sf(3, 2), 1.0, 0.0], atol=0.015)


def test_the_summary_names_what_stands_out():
    X = np.concatenate([BELLS.sample(500, random_state=0), [[25.0]]])
    text = str(diagnose(BELLS, X))
    assert "The components overlap" in text
    assert "1 row is improbable" in text
    assert "Kolmogorov-Smirnov" in text
    assert text.splitlines()[0].split()[:3] == ["component", "weight", "rows"]
    assert diagnose(BELLS, X).improbable >= 1


def test_the_summary_takes_estimators_and_many_columns():
    X = np.concatenate([np.random.default_rng(0).normal(c, 1, (100, 3)) for c in (0, 9)])
    for model in (KMLE(2, random_state=0), ExponentialFamilyMixture(2, random_state=0)):
        found = diagnose(model.fit(X), X)
        assert found.distance is None
        assert "are well separated" in str(found)
        assert_allclose(found.separation.rows, 100)


def test_what_cannot_be_looked_at_is_said():
    X = np.array([[1.0, 3.0, 0.0], [5.0, 1.0, 1.0], [2.0, 6.0, 0.0], [9.0, 1.0, 2.0]])
    model = KMLE(2, family="multinomial", random_state=0).fit(csr_array(X))
    found = diagnose(model, csr_array(X))
    assert found.improbable is None
    assert "Improbable rows are not available: these rows had different totals" in str(found)


def test_a_single_component_has_no_neighbour():
    alone = Mixture.from_source("poisson", [1.0], rate=[3.0])
    found = diagnose(alone, alone.sample(50, random_state=0))
    assert np.isinf(found.separation.kl).all()
    assert " - " in str(found)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="n_draws is 0"):
        diagnose(BELLS, [[1.0]], n_draws=0)
    with pytest.raises(ValueError, match="n_draws is 0"):
        outlier_scores(BELLS, [[1.0]], n_draws=0)
    with pytest.raises(ValueError, match="row 1, column 0 is infinite"):
        diagnose(BELLS, [[1.0], [np.inf]])
