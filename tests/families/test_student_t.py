import numpy as np
import pytest
from scipy import stats

import kmle.families as f
from kmle import ExponentialFamilyMixture, Mixture, select
from kmle.estimators.learn import learn
from kmle.estimators.plan import Plan
from kmle.families import student_t
from kmle.families.serialization import family_from_dict, family_to_dict
from kmle.inspection import standard_errors
from kmle.problem import tailed

SCALE = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.2], [0.1, -0.2, 0.5]])
LOCATION = np.array([1.0, -2.0, 30.0])
ONE = f.StudentT(n_features=3).member(location=[LOCATION], scale=[SCALE], degrees=[4.0])


def test_densities_are_those_of_scipy():
    twin = stats.multivariate_t(LOCATION, SCALE, df=4.0, seed=0)
    X = twin.rvs(50)
    np.testing.assert_allclose(ONE.log_density(X)[:, 0], twin.logpdf(X), atol=1e-10)
    assert ONE.family.entropy(ONE.natural)[0] == pytest.approx(twin.entropy(), rel=1e-10)
    line = f.StudentT().member(location=[1.0], scale=[[[4.0]]], degrees=[3.0])
    x = np.linspace(-20, 20, 41)
    mixture = Mixture(line.family, [1.0], line.natural)
    np.testing.assert_allclose(mixture.cdf(x[:, None]), stats.t(3.0, 1.0, 2.0).cdf(x), atol=1e-12)
    np.testing.assert_allclose(mixture.quantile([0.1, 0.5]), stats.t(3.0, 1.0, 2.0).ppf([0.1, 0.5]), atol=1e-7)
    assert f.check_family(line.family, line.natural).ok


def test_draws_have_the_right_spread():
    X = ONE.sample(20000, 0)
    np.testing.assert_allclose(np.median(X, axis=0), LOCATION, atol=0.05)
    np.testing.assert_allclose(ONE.family.mle(X[:3000]).source["scale"][0], SCALE, atol=0.15)


def test_the_conditional_distribution_is_the_ratio_of_densities():
    both = Mixture(ONE.family, [1.0], ONE.natural)
    given_two = both.condition({1: -1.0, 2: 31.0})
    x = np.linspace(-3, 6, 7)
    rows = np.column_stack([x, np.full(7, -1.0), np.full(7, 31.0)])
    expected = both.log_density(rows) - both.marginal([1, 2]).log_density(rows[:, 1:])
    np.testing.assert_allclose(given_two.log_density(x[:, None]), expected, atol=1e-10)
    mixed = Mixture.from_members([0.4, 0.6], [ONE, f.Gaussian().member(mean=[LOCATION + 1], covariance=[SCALE])])
    ratio = mixed.log_density(rows) - mixed.marginal([1, 2]).log_density(rows[:, 1:])
    np.testing.assert_allclose(mixed.condition({1: -1.0, 2: 31.0}).log_density(x[:, None]), ratio, atol=1e-10)


@pytest.mark.parametrize("degrees", [None, "shared", 3.0])
def test_families_are_written(degrees):
    family = f.StudentT(degrees, n_features=2)
    assert family_from_dict(family_to_dict(family)) == family
    assert family.n_parameters_for(3) == 3 * 5 + {None: 3, "shared": 1, 3.0: 0}[degrees]


@pytest.mark.parametrize("degrees", [None, "shared", 3.0])
@pytest.mark.parametrize(
    ("algorithm", "noise", "prior"), [("em", False, 0.0), ("sparse-em", True, 0.1), ("k-mle", True, 0)]
)
def test_many_rows_are_fitted_as_few_are(monkeypatch, degrees, algorithm, noise, prior):
    """The problem whose passes add up rows, against the one whose estimates look at rows."""
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.standard_t(3, (150, 2)), rng.standard_t(5, (100, 2)) + 12, rng.uniform(-60, 60, (20, 2))])
    weights = rng.exponential(size=len(X))
    plan = Plan(2, family=f.StudentT(degrees), algorithm=algorithm, noise=noise, prior_strength=prior, random_state=0)
    few = learn(X, plan, sample_weight=weights)
    monkeypatch.setattr(tailed, "MANY", 0)
    many = learn(X, plan, sample_weight=weights)
    assert (few.engine, many.engine) == ("scored rows", "heavy tails")
    objectives = np.array([step.objective for step in many.history])
    assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[:-1])).all()
    assert many.objective == pytest.approx(few.objective, abs=0.1)
    assert many.log_likelihood == pytest.approx(many.mixture.log_density(X) @ weights / weights.mean(), rel=1e-10)
    np.testing.assert_array_equal(many.labels, many.mixture.predict(X))


@pytest.mark.parametrize(
    ("beside", "algorithm", "noise", "prior"),
    [
        ("gaussian", "em", False, 0.0),
        ("gaussian", "hard-em", False, 0.1),
        ("diagonal-gaussian", "em", True, 0.1),
        ("spherical-gaussian", "sparse-em", True, 0.0),
        (f.FixedCovarianceGaussian(np.eye(2)), "em", False, 0.1),
    ],
)
def test_gaussians_beside_many_heavy_tails_are_fitted_as_few_are(monkeypatch, beside, algorithm, noise, prior):
    rng = np.random.default_rng(3)
    X = np.concatenate(
        [rng.standard_t(2, (150, 2)), rng.normal(0, [1, 2], (100, 2)) + 12, rng.uniform(-40, 40, (9, 2))]
    )
    X += 1e4  # far from zero
    weights = rng.exponential(size=len(X))
    weights /= weights.mean()
    plan = Plan(2, family=["student-t", beside], algorithm=algorithm, noise=noise, prior_strength=prior, random_state=0)
    few = learn(X, plan, sample_weight=weights)
    monkeypatch.setattr(tailed, "MANY", 0)
    many = learn(X, plan, sample_weight=weights)
    assert (few.engine, many.engine) == ("scored rows", "heavy tails")
    objectives = np.array([step.objective for step in many.history])
    assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[:-1])).all()
    assert many.objective == pytest.approx(few.objective, abs=0.1)
    assert many.log_likelihood == pytest.approx(many.mixture.log_density(X) @ weights / weights.mean(), rel=1e-10)
    np.testing.assert_array_equal(many.labels, many.mixture.predict(X))


def test_clusters_with_outliers():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(8, 1, (150, 2)), rng.normal(0, 60, (8, 2))])
    for seed in range(3):
        model = ExponentialFamilyMixture(2, family="student-t", random_state=seed).fit(X)
        found = model.mixture_.source["location"]
        np.testing.assert_allclose(found[np.argsort(found[:, 0])], [[0, 0], [8, 8]], atol=0.35)
        assert model.weights_.min() > 0.35  # none has collapsed onto the outliers


def test_parameters_are_within_four_standard_errors():
    truth = Mixture.from_source(
        "student-t", [0.6, 0.4], location=[[0.0], [12.0]], scale=[[[1.0]], [[4.0]]], degrees=[3.0, 6.0]
    )
    X = truth.sample(3000, 0)
    model = ExponentialFamilyMixture(2, family="student-t", random_state=0).fit(X)
    errors = standard_errors(model, X)
    for name, value in truth.source.items():
        assert (np.abs(model.mixture_.source[name] - value) < 4 * errors.source[name]).all()


@pytest.mark.slow
def test_a_heavy_tail_beside_a_gaussian_is_found():
    tail = f.StudentT().member(location=[[0.0]], scale=[[[1.0]]], degrees=[3.0])
    bell = f.Gaussian().member(mean=[[15.0]], covariance=[[[1.0]]])
    truth, right = Mixture.from_members([0.5, 0.5], [tail, bell]), 0
    for seed in range(2):
        X = truth.sample(500, seed)
        chosen = select(X, [("student-t", "gaussian"), "gaussian"], range(1, 4), random_state=seed)
        right += chosen.best.name == "student-t,gaussian" and chosen.best.n_components == 2
    assert right == 2


# Limits ---------------------------------------------------------------------------------------------------------------


def test_light_tails_are_gaussian():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    fit = learn(X, Plan(1, family="student-t"))
    assert fit.mixture.source["degrees"].item() == pytest.approx(1000.0, rel=1e-3)
    gaussian = f.Gaussian().mle(X).log_density(X).sum()
    assert fit.log_likelihood == pytest.approx(gaussian, abs=0.5)
    assert any("in effect a Gaussian" in note for note in fit.notes)


def test_degrees_that_rows_do_not_tell_from_a_gaussian_are_noted():
    """Below the bound of the degrees, and only where the likelihood has no word on them."""
    for seed, heavy in ((0, False), (3, True)):
        X = np.random.default_rng(seed).standard_t(4.0 if heavy else 80.0, (400, 2))
        fit = learn(X, Plan(1, family="student-t"))
        degrees = fit.mixture.source["degrees"].item()
        assert degrees < 990
        gain = fit.log_likelihood - f.Gaussian().mle(X).log_density(X).sum()
        notes = [note for note in fit.notes if "in effect a Gaussian" in note]
        assert (gain > 2, notes == []) == (heavy, heavy)
        assert heavy or notes == [f"Component 0 has {degrees:.3g} degrees of freedom (in effect a Gaussian)."]


@pytest.mark.parametrize("width", [1, 2])
def test_rows_that_are_all_equal(width):
    X = np.full((12, width), 3.0)
    fit = learn(X, Plan(2, family="student-t", random_state=0))
    assert np.isfinite(fit.log_likelihood)
    assert np.isfinite(fit.mixture.natural).all()
    assert any("All rows are equal" in note for note in fit.notes)


def test_wrong_degrees_are_refused():
    for wrong, message in ((-1.0, "degrees is -1.0"), ("free", "degrees is 'free'")):
        with pytest.raises(ValueError, match=message):
            f.StudentT(wrong)


@pytest.mark.parametrize("degrees", [1.2, 60.0])
def test_maxima_of_many_values_are_those_of_few(monkeypatch, degrees):
    X = stats.t.rvs(degrees, loc=3, scale=2, size=4000, random_state=0)[:, None]
    best = f.StudentT().mle(X).log_density(X).sum()
    monkeypatch.setattr(student_t, "FEW", 1000)
    monkeypatch.setattr(student_t, "SAMPLE", 500)
    assert f.StudentT().mle(X).log_density(X).sum() == pytest.approx(best, abs=1e-3)
