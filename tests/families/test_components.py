"""Components of different families: one inner product, the same as each family alone."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kmle import KMLE, ExponentialFamilyMixture, Mixture, select
from kmle import families as f
from kmle.families.support import OUTSIDE

DATA = Path(__file__).parents[2] / "examples" / "data"
MEMBERS = [
    f.Gaussian().member(mean=[[1.0]], covariance=[[[2.0]]]),
    f.Laplace(3.0).member(scale=[1.5]),
    f.Gamma().member(shape=[2.0], scale=[1.5]),
    f.Uniform(low=[-1.0], high=[4.0]).member(),
]
WEIGHTS = [0.4, 0.3, 0.2, 0.1]


def mixed():
    return Mixture.from_members(WEIGHTS, MEMBERS)


def two_clusters(seed, n=(300, 200, 60)):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(0, 1, (n[0], 2)), rng.normal(8, 1, (n[1], 2)), rng.uniform(-10, 20, (n[2], 2))])


def test_the_density_is_the_weighted_sum_of_scipys():
    x = np.array([-3.0, -0.5, 0.5, 3.0, 7.0])
    expected = (
        0.4 * stats.norm.pdf(x, 1, np.sqrt(2))
        + 0.3 * stats.laplace.pdf(x, 3, 1.5)
        + 0.2 * stats.gamma.pdf(x, 2, scale=1.5)
        + 0.1 * stats.uniform.pdf(x, -1, 5)
    )
    np.testing.assert_allclose(mixed().log_density(x[:, None]), np.log(expected), rtol=1e-12)


def test_a_row_outside_a_support_has_no_posterior_there():
    posterior = mixed().posterior([[-3.0], [7.0]])
    assert posterior[0, 2] == posterior[0, 3] == posterior[1, 3] == 0.0
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


def test_the_stand_in_is_held_by_single_precision():
    assert float(np.float32(OUTSIDE)) == OUTSIDE


def test_a_mixture_is_written_and_read():
    mixture = mixed()
    assert Mixture.from_json(mixture.to_json()) == mixture


def test_members_and_sources_are_by_component():
    mixture = mixed()
    assert [member.family.name for member in mixture.members] == ["gaussian", "laplace", "gamma", "uniform"]
    np.testing.assert_allclose(mixture.source["gamma_shape"], [[np.nan], [np.nan], [2.0], [np.nan]])


def test_samples_come_from_each_family():
    rows, labels = mixed().sample_joint(20_000, 0)
    ends = stats.kstest(rows[labels == 1, 0], stats.laplace(3, 1.5).cdf).pvalue
    assert ends > 1e-3
    assert stats.kstest(rows[labels == 3, 0], stats.uniform(-1, 5).cdf).pvalue > 1e-3


def test_parameters_are_counted_by_family():
    # 2 of the Gaussian, 1 of Laplace, 2 of gamma, none of uniform, and three weights.
    assert mixed().n_parameters == 8


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (["poisson", "gaussian"], "probabilities of counts (poisson) and densities of real numbers (gaussian)"),
        (["uniform", "uniform"], "uniform has no parameters"),
        ("gaussian*two", "'two' is not a number of components"),
        ([], "name at least one family"),
        ([3], "a family of the list is a int"),
    ],
)
def test_what_does_not_combine_is_refused_in_one_sentence(family, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        ExponentialFamilyMixture(family=family).fit(np.arange(20.0)[:, None])
    assert words in str(caught.value)


def test_noise_on_counts_is_refused():
    with pytest.raises(ValueError, match="probabilities of counts"):
        KMLE(2, family="poisson", noise=True).fit(np.arange(20.0)[:, None])


def test_a_box_without_volume_is_refused():
    X = two_clusters(0)
    X[:, 1] = 3.0
    with pytest.raises(ValueError, match="the box of uniform has no volume: column 1 goes from 3 to 3"):
        KMLE(2, noise=True).fit(X)


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_noise_has_the_label_minus_one_and_the_last_column(kind):
    X = two_clusters(1)
    model = kind(2, noise=True, random_state=0).fit(X)
    assert set(np.unique(model.labels_)) == {-1, 0, 1}
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    far = np.array([[1e4, -1e4]])
    assert model.predict(far) == [-1]
    np.testing.assert_allclose(model.predict_proba(far), [[0.0, 0.0, 1.0]])
    box = np.prod(X.max(axis=0) - X.min(axis=0))
    np.testing.assert_allclose(model.score_samples(far), np.log(model.weights_[-1] / box))
    assert model.mixture_.n_parameters == 2 * 5 + 2


def test_noise_far_from_zero_is_the_same_fit():
    X = two_clusters(2)
    here, there = (ExponentialFamilyMixture(2, noise=True, random_state=0).fit(rows) for rows in (X, X + 1e7))
    np.testing.assert_allclose(here.score(X), there.score(X + 1e7), atol=1e-7)


def test_quine_zero_inflated_poisson():
    """R's optimum (share .061644, rate 17.54015, log-likelihood -1211.90653) on quine's Days (MASS)."""
    days = np.genfromtxt(DATA / "quine.csv", delimiter=",", names=True)["Days"][:, None]
    model = ExponentialFamilyMixture(family="zero-inflated-poisson", prior_strength=0, tol=0, random_state=0).fit(days)
    assert model.result_.log_likelihood == pytest.approx(-1211.90653, abs=5e-6)
    assert model.weights_[0] == pytest.approx(0.061644, abs=5e-7)
    assert model.mixture_.members[1].source["rate"].item() == pytest.approx(17.54015, abs=5e-6)


def test_a_hurdle_has_the_share_of_zeros_and_the_likelihood_of_its_parts():
    rng = np.random.default_rng(3)
    counts = np.where(rng.random(500) < 0.3, 0, 1 + rng.poisson(2, 500))[:, None]
    family = ["point-mass", "zero-truncated-poisson"]
    model = ExponentialFamilyMixture(family=family, prior_strength=0, random_state=0).fit(counts)
    share = np.mean(counts == 0)
    np.testing.assert_allclose(model.weights_, [share, 1 - share])
    positive = f.ZeroTruncatedPoisson().mle(counts[counts[:, 0] > 0])
    np.testing.assert_allclose(model.mixture_.members[1].natural, positive.natural, atol=1e-9)


POOL = ["gaussian", "diagonal-gaussian", "uniform", "laplace", f.Laplace(4.0), f.Uniform(everywhere=True)]


@pytest.mark.slow
def test_two_gaussians_and_noise_are_found_in_nine_of_ten():
    right = 0
    for seed in range(10):
        X = two_clusters(seed, (250, 200, 50))
        chosen = select(X, [("gaussian", "uniform"), "gaussian"], range(1, 5), random_state=seed)
        right += chosen.best.name == "gaussian,uniform" and chosen.best.n_components == 2
    assert right >= 9


def test_streams_and_chunks_give_the_same_mixture():
    X = two_clusters(4)
    whole = ExponentialFamilyMixture(2, noise=True, random_state=0).fit(X)
    streamed = ExponentialFamilyMixture(2, noise=True, random_state=0).fit(
        lambda: (X[i : i + 100] for i in range(0, len(X), 100))
    )
    np.testing.assert_allclose(streamed.mixture_.weights, whole.mixture_.weights, atol=1e-6)
    assert streamed.score(X) == pytest.approx(whole.score(X), abs=1e-7)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("families", [["gaussian", "spherical-gaussian"], ["gaussian", "uniform"]])
def test_groups_of_one_row_change_nothing(families, width):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(5, 1, (60, width)), rng.normal(14, 2, (60, width))])
    plain = ExponentialFamilyMixture(family=families, random_state=0).fit(X)
    grouped = ExponentialFamilyMixture(family=families, random_state=0).fit(X, groups=np.arange(len(X)))
    assert grouped.result_.log_likelihood == pytest.approx(grouped.mixture_.log_density(X).sum(), rel=1e-12)
    assert grouped.result_.log_likelihood == pytest.approx(plain.result_.log_likelihood, abs=0.1)


def test_rows_that_no_component_holds():
    box = f.Uniform((-1.0,), (1.0,))
    with pytest.raises(ValueError, match="some rows lie outside all components of uniform"):
        ExponentialFamilyMixture(family=[box]).fit([[0.0], [0.5], [3.0]])
    mixture = Mixture.from_members([1.0], [box.member()])
    assert mixture.log_density([[0.0], [3.0]])[1] == mixture.log_joint([[3.0]])[0, 0] == -np.inf
    assert mixture.log_likelihoods([[0.0], [3.0]]) == (-np.inf, -np.inf)
