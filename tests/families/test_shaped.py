"""Families with estimated shapes: densities, estimates and limits against SciPy and against fixed shapes."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

import kmle.families as f
from kmle import ExponentialFamilyMixture, Mixture
from kmle.families.serialization import family_from_dict, family_to_dict
from kmle.families.shaped import Shaped
from kmle.families.support import POSITIVE

# A family, usual parameters of one distribution, and the same in SciPy.
CASES = {
    "weibull": (f.Weibull(), {"scale": 3.0, "shape": 1.7}, stats.weibull_min(1.7, scale=3.0)),
    "laplace": (f.Laplace(), {"location": -2.0, "scale": 0.5}, stats.laplace(-2.0, 0.5)),
    "generalized-gaussian": (
        f.GeneralizedGaussian(),
        {"location": 1.0, "scale": 2.0, "shape": 1.4},
        stats.gennorm(1.4, 1.0, 2.0),
    ),
    "negative-binomial": (f.NegativeBinomial(), {"mean": 6.0, "size": 2.5}, stats.nbinom(2.5, 2.5 / 8.5)),
}
NAMES = sorted(CASES)


def case(name):
    family, source, twin = CASES[name]
    member = family.member(**{key: [value] for key, value in source.items()})
    return member.family, member.natural, twin


def log_density(twin, x):
    return twin.logpmf(x) if hasattr(twin.dist, "logpmf") else twin.logpdf(x)


@pytest.mark.parametrize("name", NAMES)
def test_densities_and_distribution_functions_are_those_of_scipy(name):
    family, natural, twin = case(name)
    x = np.unique(twin.rvs(200, random_state=0)).astype(float)
    np.testing.assert_allclose(family.log_density(x[:, None], natural)[:, 0], log_density(twin, x), atol=1e-10)
    mixture = Mixture(family, [1.0], natural)
    np.testing.assert_allclose(mixture.cdf(x[:, None]), twin.cdf(x), atol=1e-9)
    np.testing.assert_allclose(mixture.mean(), [twin.mean()], rtol=1e-6)
    np.testing.assert_allclose(mixture.covariance(), [[twin.var()]], rtol=1e-6)
    np.testing.assert_allclose(family.entropy(natural), twin.entropy(), rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_draws_have_the_right_distribution(name):
    family, natural, twin = case(name)
    x = family.sample(natural[0], 4000, np.random.default_rng(0))[:, 0]
    assert abs(x.mean() - twin.mean()) < 4 * twin.std() / np.sqrt(len(x))
    family.check(x[:, None])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_estimates_are_at_the_maximum_of_the_likelihood(name, seed):
    family, natural, twin = case(name)
    rng = np.random.default_rng(seed)
    x, weights = twin.rvs(150, random_state=rng).astype(float), rng.uniform(0.5, 2, 150)
    found = family.mle(x, weights)

    def loss(point):
        with np.errstate(all="ignore"):
            value = -weights @ family.direct_log_density(x[:, None], np.asarray(point)[None])[:, 0]
        return value if np.isfinite(value) else 1e300

    best = min(
        (
            optimize.minimize(
                loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000}
            )
            for start in (natural[0], found.natural[0])
        ),
        key=lambda result: result.fun,
    )
    assert loss(found.natural[0]) <= best.fun + 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_a_better_estimate_never_lowers_the_likelihood(name):
    family, natural, twin = case(name)
    x = twin.rvs(80, random_state=1).astype(float)
    shares = np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], 80)
    before = np.tile(natural, (3, 1)) + np.random.default_rng(2).normal(0, 0.3, (3, natural.shape[1]))
    after = family.weighted_estimate(x[:, None], shares, None, before, None)
    fits = [np.einsum("nk,nk->k", shares, family.direct_log_density(x[:, None], at)) for at in (before, after)]
    assert (fits[1] >= fits[0] - 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_formulas_are_those_of_the_contract(name):
    """Families replace what follows from `given`; both must agree."""
    family, natural, twin = case(name)
    x = twin.rvs(60, random_state=3).astype(float)
    values = family.column_values(natural, 0)
    np.testing.assert_allclose(
        family.column_log_density(x, values), Shaped.column_log_density(family, x, values), rtol=1e-9, atol=1e-9
    )
    low, high = np.floor(x), np.floor(x) + 3
    low, high = (np.maximum(low, 0.25), high) if family.support == POSITIVE else (low, high)
    np.testing.assert_allclose(
        family.column_log_probability(low, high, values),
        Shaped.column_log_probability(family, low, high, values),
        rtol=1e-7,
        atol=1e-9,
    )


@pytest.mark.parametrize("name", ["weibull", "negative-binomial", "generalized-gaussian"])
def test_a_shared_shape_is_one_for_all_and_counted_once(name):
    family, _, twin = case(name)
    shared = type(family)(shared=True, n_features=1)
    x = np.concatenate([twin.rvs(100, random_state=1), 4 * twin.rvs(100, random_state=2)]).astype(float)
    shares = np.repeat(np.eye(2), 100, axis=0)
    found = shared.weighted_estimate(x[:, None], shares, None, None, None)
    shape = shared.source_from_natural(found)[shared.shared_name].ravel()
    assert shape[0] == pytest.approx(shape[1], rel=1e-12)
    assert shared.n_parameters_for(2) == family.n_parameters_for(2) - 1
    best = np.sum(shares * shared.direct_log_density(x[:, None], found))
    for factor in (0.98, 1.02):
        given = shared.given(**{shared.shared_name: factor * shape[0], **_other_shapes(shared, found, 0)})
        other = sum(
            given.log_density(part[:, None], given.mle(part).natural).sum()
            for part in (x[:100], x[100:])
            if name != "generalized-gaussian"
        )
        assert name == "generalized-gaussian" or other < best


def _other_shapes(family, natural, j):
    source = family.source_from_natural(natural)
    return {key: float(source[key][j, 0]) for key in family.shapes if key != family.shared_name}


def test_given_shapes_are_fixed_as_before():
    assert isinstance(f.Weibull(2.0), f.Weibull)
    assert f.Weibull(2.0).n_statistics_for(1) == 1
    assert isinstance(f.resolve("laplace", location=0.0), f.Laplace)
    half = f.GeneralizedGaussian(shape=1.4).mle([[0.0], [1.0], [3.0], [3.5]])
    assert list(half.source) == ["location", "scale"]


@pytest.mark.parametrize("family", [f.Weibull(2.0), f.Laplace(1.0), f.NegativeBinomial(3.0), f.Weibull("shared")])
def test_families_are_copied_and_written(family):
    assert pickle.loads(pickle.dumps(family)) == family
    assert copy.deepcopy(family) == family
    one = replace(family, n_features=1)
    assert family_from_dict(family_to_dict(one)) == one


def test_files_that_say_successes_are_read():
    old = {"name": "negative-binomial", "facts": {"n_features": 1, "successes": 2.0}}
    assert family_from_dict(old) == f.NegativeBinomial(2.0, n_features=1)


@pytest.mark.parametrize("family", [f.Weibull(), f.NegativeBinomial("shared"), f.Laplace(), f.GeneralizedGaussian(1.5)])
def test_families_are_shown_as_they_are_written(family):
    assert eval(repr(family), vars(f)) == family


def test_wrong_words_for_a_shape_are_refused():
    with pytest.raises(ValueError, match="shape is 'free': give a number, 'shared'"):
        f.Weibull("free")


# Limits ---------------------------------------------------------------------------------------------------------------


def test_counts_that_vary_too_little_are_poisson():
    counts = np.array([[2.0], [3.0], [3.0], [4.0], [3.0]])
    found = f.NegativeBinomial().mle(counts)
    poisson = f.Poisson().mle(counts)
    assert found.source["size"].item() == pytest.approx(1e7)
    assert found.log_density(counts).sum() == pytest.approx(poisson.log_density(counts).sum(), abs=1e-5)


@pytest.mark.parametrize(
    ("family", "value"),
    [(f.Weibull(), 2.0), (f.Laplace(), 2.0), (f.GeneralizedGaussian(), 2.0), (f.NegativeBinomial(), 0.0)],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_rows_that_are_all_equal_have_finite_estimates(family, value):
    found = family.mle(np.full((5, 1), value))
    assert np.isfinite(found.natural).all()
    assert np.isfinite(found.log_density(np.full((5, 1), value))).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_identities_hold(name):
    family, natural, _ = case(name)
    report = f.check_family(family, np.concatenate([natural, natural + 0.2]))
    assert report.ok, str(report)
    assert all(result.holds for result in report.results)


class Broken(type(f.Weibull())):
    """A density that does not integrate to one."""

    def column_log_density(self, x, values):
        return super().column_log_density(x, values) + 0.1


def test_a_wrong_density_is_found():
    report = f.check_family(Broken(n_features=1), [[0.0, 0.3]])
    assert [failure.name for failure in report.failures] == ["the density integrates to one"]


def test_narrow_weibull_components_are_sampled():
    """The scale to the power of the shape is beyond what a number can hold."""
    narrow = Mixture.from_source("weibull", [1.0], scale=[[39.0, 2.0]], shape=[[9000.0, 3.0]])
    rows = narrow.sample(2000, random_state=0)
    twins = stats.weibull_min(9000.0, scale=39.0), stats.weibull_min(3.0, scale=2.0)
    for column, twin in zip(rows.T, twins, strict=True):
        assert stats.kstest(column, twin.cdf).pvalue > 1e-3
    np.testing.assert_allclose(narrow.family.entropy(narrow.natural), sum(twin.entropy() for twin in twins))


# Missing entries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "draw"),
    [
        ("negative-binomial", lambda rng: rng.negative_binomial(3.0, 0.3, (200, 2)).astype(float)),
        ("weibull", lambda rng: 3 * rng.weibull(2.0, (200, 2))),
        ("laplace", lambda rng: rng.laplace(3.0, 2.0, (200, 2))),
    ],
)
def test_missing_entries_say_nothing(family, draw):
    rng = np.random.default_rng(0)
    X = draw(rng)
    X = np.concatenate([X, np.column_stack([draw(rng)[:, 0], np.full(200, np.nan)])])
    model = ExponentialFamilyMixture(1, family=family, random_state=0).fit(X)
    # With one component the columns are estimated apart.
    first = ExponentialFamilyMixture(1, family=family, random_state=0).fit(X[:, :1])
    second = ExponentialFamilyMixture(1, family=family, random_state=0).fit(X[:200, 1:])
    for name, value in model.mixture_.source.items():
        parts = [first.mixture_.source[name], second.mixture_.source[name]]
        np.testing.assert_allclose(value, np.concatenate(parts, axis=1), rtol=1e-6)
    assert model.score(X) * len(X) == pytest.approx(model.result_.log_likelihood)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_intervals_far_beyond_a_narrow_weibull_distribution_have_no_probability():
    values = {"scale": np.array([4.6, 4.6]), "shape": np.array([9999.0, 1.0])}
    found = f.Weibull().column_log_probability(np.array([9.0, 9.0]), np.array([10.0, np.inf]), values)
    assert (found[:, 0] == -np.inf).all()
    np.testing.assert_allclose(found[:, 1], [np.log(np.exp(-9 / 4.6) - np.exp(-10 / 4.6)), -9 / 4.6], rtol=1e-12)
