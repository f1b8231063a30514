"""A family of one's own: three functions are enough, and wrong ones are told what is wrong."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, gammaln

from cases import CASES, case_id
from kmle.families import Beta, Gamma, Gaussian, Poisson, check_family, from_functions
from kmle.families.support import COUNTS, POSITIVE, Integers

GRADIENT = "the moment is the gradient of F"
TOTAL = "the density integrates to one"
MEAN = "the moment is the mean of t"
SHAPES = "shapes"
CONVEX = "F is convex"
FAR = "F and the moment agree far out"


def levy(
    statistic=lambda X: 1 / X,
    log_normalizer=lambda natural: -0.5 * np.log(-2 * natural[..., 0]),
    log_carrier=lambda X: -1.5 * np.log(X[:, 0]) - 0.5 * np.log(2 * np.pi),
    **options,
):
    """Waiting times of a random walk: natural parameter -c/2, c being SciPy's scale."""
    return from_functions("levy", statistic, log_normalizer, log_carrier, support=POSITIVE, **options)


def gamma(**options):
    def log_normalizer(natural):
        shape, rate = natural[..., 0] + 1, -natural[..., 1]
        return np.where((shape > 0) & (rate > 0), gammaln(shape) - shape * np.log(rate), np.nan)

    return from_functions("mine", lambda X: np.hstack([np.log(X), X]), log_normalizer, support=POSITIVE, **options)


def log_series(log_normalizer):
    """Log-series distributions: theta^x / x, x = 1, 2, ..., here from zero on."""
    return from_functions(
        "log-series", lambda X: X, log_normalizer, lambda X: -np.log(X[:, 0] + 1), support=COUNTS, start=[-1.0]
    )


def failures(family, **options):
    report = check_family(family, **options)
    assert not report.ok
    return {result.name: result.sentence for result in report.failures}


def test_a_right_family_passes_every_law():
    report = check_family(levy())
    assert report.ok
    assert all(result.holds for result in report.results)
    assert str(report).startswith("levy: all checks pass\n")


def test_what_was_not_checked_does_not_count_as_held():
    report = check_family(Gaussian(n_features=2), [[0.0, 0.0, -0.5, 0.0, -0.5]])
    assert report.ok
    assert str(report).splitlines()[0] == "gaussian: 8 of 10 checks pass, 2 not checked"


@pytest.mark.parametrize("natural", [[0.0, -0.5], [-0.5, -0.5], [-0.9, 3.0], [1e4, 1e5]])
def test_a_right_beta_is_accepted_near_its_ends(natural):
    """Half of the mass next to one is nearer than floating-point numbers are to each other."""
    report = check_family(Beta(n_features=1), [natural])
    assert report.ok, str(report)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_passes(case):
    report = check_family(case.family, case.naturals(2, seed=6))
    assert report.ok, str(report)


@pytest.mark.parametrize("natural", [-20.0, 10.0, 20.0, 25.0])
def test_a_right_family_is_accepted_at_large_parameters(natural):
    assert check_family(Poisson(n_features=1), [[natural]]).ok


def test_a_normalizer_that_overflows_is_noticed():
    naive = from_functions("coin", lambda X: X, lambda n: np.log1p(np.exp(n[..., 0])), support=Integers(0, 1))
    found = failures(naive)
    assert set(found) == {FAR}
    assert found[FAR] == "F ends at natural [709.783] without becoming steep there: a term overflows or vanishes"
    safe = from_functions("coin", lambda X: X, lambda n: np.logaddexp(0, n[..., 0]), support=Integers(0, 1))
    assert check_family(safe).ok


def test_a_formula_that_loses_its_digits_far_out_is_noticed():
    """1 - exp(theta) is one for theta below -37, and its logarithm nothing but rounding well before."""
    found = failures(log_series(lambda natural: np.log(-np.log(-np.expm1(natural[..., 0]))) - natural[..., 0]))
    assert set(found) == {FAR}


def test_a_formula_that_is_wrong_far_out_only_is_noticed():
    class Wrong(Poisson):
        def moment_from_natural(self, natural):
            return np.exp(np.minimum(natural, 30.0))

    found = failures(Wrong(n_features=1), natural=[[0.5]])
    assert set(found) == {FAR}
    assert "F rises by" in found[FAR]


def test_it_is_a_family_like_any_other():
    rows = stats.levy.rvs(scale=3.0, size=(500, 1), random_state=0)
    fitted = levy().mle(rows)
    scale = 1 / np.mean(1 / rows)
    assert -2 * fitted.natural.item() == pytest.approx(scale, rel=1e-9)
    np.testing.assert_allclose(fitted.log_density(rows)[:, 0], stats.levy.logpdf(rows[:, 0], scale=scale), rtol=1e-9)
    assert fitted.family.entropy(fitted.natural).item() == pytest.approx(stats.levy.entropy(scale=scale), rel=1e-6)
    expected = 0.5 * (scale / 2 - 1 - np.log(scale / 2))  # half of Itakura-Saito
    assert levy().kl(np.array([-1.0]), fitted.natural).item() == pytest.approx(expected, rel=1e-8)
    draws = levy().sample(np.array([-1.5]), 4000, np.random.default_rng(1))
    assert stats.kstest(draws[:, 0], stats.levy(scale=3.0).cdf).pvalue > 1e-3


def test_a_family_of_counts():

    def log_normalizer(natural):
        # A probability of 1e-300 stands for smaller ones.
        share = np.maximum(np.exp(natural[..., 0]), 1e-300)
        return np.log(-np.log1p(-share) / share)

    family = log_series(log_normalizer)
    assert check_family(family).ok
    dist = stats.logser(np.exp(-0.5), loc=-1)
    np.testing.assert_allclose(family.log_density([[0], [3], [9]], [[-0.5]])[:, 0], dist.logpmf([0, 3, 9]), rtol=1e-10)
    assert family.moment_from_natural(np.array([[-0.5]])).item() == pytest.approx(dist.mean(), rel=1e-9)
    draws = family.sample(np.array([-0.5]), 4000, np.random.default_rng(2))
    assert np.mean(draws == 0) == pytest.approx(dist.pmf(0), abs=5 * 0.5 / 4000**0.5)


@pytest.mark.parametrize(
    ("family", "failing", "words"),
    [
        (levy(log_normalizer=lambda n: -np.log(-2 * n[..., 0])), {TOTAL, MEAN}, "the total is off by"),
        (levy(log_normalizer=lambda n: 0.3 - 0.5 * np.log(-2 * n[..., 0])), {TOTAL}, "the total is off by 0.259"),
        (levy(statistic=lambda X: X), {TOTAL, MEAN}, "the total is off by inf"),
        (levy(statistic=lambda X: 2 / X), {TOTAL}, "totals [0.707107, 0.707107, 0.707107]"),
        (levy(log_carrier=lambda X: 1.5 * np.log(X[:, 0])), {TOTAL, MEAN}, "the total is off by inf"),
        (levy(log_carrier=None), {TOTAL, MEAN}, "the total is off by"),
        (
            levy(log_normalizer=lambda n: 0.5 * np.log(-2 * n[..., 0]), start=[-1.0]),
            {CONVEX, TOTAL},
            "the Hessian of F has an eigenvalue below zero",
        ),
    ],
    ids=["factor of F", "constant of F", "wrong t", "twice t", "sign of k", "no k", "concave F"],
)
def test_a_wrong_family_is_told_which_law_fails(family, failing, words):
    found = failures(family)
    assert failing <= set(found)
    assert SHAPES not in found
    assert GRADIENT not in found  # the gradient is derived from F, so it cannot be blamed
    assert any(words in sentence for sentence in found.values()), found


def test_a_wrong_gradient_is_told_from_a_wrong_normalizer():
    class Wrong(Poisson):
        def moment_from_natural(self, natural):
            return 2 * np.exp(natural)

    found = failures(Wrong(n_features=1), natural=[[0.5]])
    assert GRADIENT in found
    assert MEAN in found
    assert TOTAL not in found


def test_wrong_shapes_stop_the_inspection():
    class Wrong(Poisson):
        def log_carrier(self, X):
            return -gammaln(X + 1)

    report = check_family(Wrong(n_features=1), [[0.5]])
    assert [result.name for result in report.failures] == [SHAPES]
    assert report.failures[0].sentence == "log_carrier gave shape (3, 1) where (3,) was expected"
    assert all(result.holds is None for result in report.results[1:])


@pytest.mark.parametrize(
    ("functions", "sentence"),
    [
        ({"statistic": lambda X: 1 / X[:, 0]}, r"statistic gave shape \(3,\) .* it must give \(n, D\)"),
        ({"log_carrier": lambda X: -1.5 * np.log(X)}, r"log_carrier gave shape \(3, 1\) .* it must give \(n,\)"),
        ({"log_normalizer": lambda n: np.log(-n)}, r"log_normalizer gave shape \(2, 5, 1\)"),
        ({"log_normalizer": lambda n: np.log(-n).sum()}, r"log_normalizer gave shape \(\)"),
        ({"log_normalizer": lambda n: np.log(-n[..., 0])}, "where F is finite and convex: give one as start"),
        ({"start": [-1.0, 2.0]}, r"start has shape \(2,\); the statistic has 1 entries"),
    ],
)
def test_functions_that_cannot_work_are_refused_at_once(functions, sentence):
    with pytest.raises(ValueError, match=sentence):
        levy(**functions)


@pytest.mark.parametrize("shape", [0.1, 1.0, 7.0, 200.0])
def test_a_gamma_of_ones_own_is_the_gamma(shape):
    rows = np.random.default_rng(3).gamma(shape, 2.0, (200, 1))
    weights = np.random.default_rng(4).exponential(size=200)
    mine, theirs = gamma().mle(rows, weights), Gamma().mle(rows, weights)
    np.testing.assert_allclose(mine.natural, theirs.natural, rtol=1e-7)
    np.testing.assert_allclose(mine.log_density(rows), theirs.log_density(rows), rtol=1e-7, atol=1e-7)


def test_a_start_far_away_does_not_matter():
    rows = np.random.default_rng(5).gamma(50.0, 1e-3, (200, 1))
    near, far = gamma().mle(rows), gamma(start=[1e3, -1e-2]).mle(rows)
    np.testing.assert_allclose(far.natural, near.natural, rtol=1e-7)


def test_moments_outside_their_space_name_the_component():
    legal, outside = [1.0, 3.0], [2.0, 3.0]  # log of the mean is 1.0986, so a mean log of 2 is impossible
    with pytest.raises(ValueError, match="component 1: no natural parameter has the mean statistic"):
        gamma().natural_from_moment(np.array([legal, outside]))
    with pytest.raises(ValueError, match=r"component 0: .* more varied, rows"):
        gamma().mle([[2.0], [2.0]])


def test_a_family_made_elsewhere_needs_points_to_be_tried_at():
    with pytest.raises(ValueError, match="give natural="):
        check_family(Poisson(n_features=1))


def test_several_columns_have_no_quadrature():
    plane = from_functions(
        "plane", lambda X: X, lambda n: 0.5 * (n**2).sum(axis=-1), lambda X: -0.5 * (X**2).sum(axis=1), n_features=2
    )
    report = check_family(plane)
    assert {result.name for result in report.results if result.holds is None} >= {TOTAL, MEAN}
    with pytest.raises(ValueError, match="samples one column only"):
        plane.sample(np.zeros(2), 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="one column only"):
        plane.entropy(np.zeros((1, 2)))


def gamma_gradient(natural):
    shape, rate = natural[..., 0] + 1, -natural[..., 1]
    return np.stack([digamma(shape) - np.log(rate), shape / rate], axis=-1)


def test_a_given_gradient_changes_no_estimate():
    rows = stats.gamma(3.0, scale=2.0).rvs((500, 1), random_state=0)
    derived, given = gamma().mle(rows), gamma(gradient=gamma_gradient).mle(rows)
    np.testing.assert_allclose(given.natural, derived.natural, rtol=1e-9)
    assert check_family(gamma(gradient=gamma_gradient)).ok


def test_a_wrong_gradient_is_found():
    assert GRADIENT in failures(gamma(gradient=lambda natural: 2 * gamma_gradient(natural)))
    with pytest.raises(ValueError, match=r"gradient gave shape \(2, 5\) .* it must give the same shape"):
        gamma(gradient=lambda natural: natural[..., 0])


def test_estimates_evaluate_F_a_bounded_number_of_times():
    """Seeding inverts the gradient for thousands of rows: together, and in few steps however far apart they are."""
    calls = []

    def log_normalizer(natural):
        calls.append(natural.size)
        shape, rate = natural[..., 0] + 1, -natural[..., 1]
        return np.where((shape > 0) & (rate > 0), gammaln(shape) - shape * np.log(rate), np.nan)

    family = from_functions("mine", lambda X: np.hstack([np.log(X), X]), log_normalizer, support=POSITIVE)
    shape, scale = np.random.default_rng(0).uniform([0, -4], [4, 4], (2000, 2)).T
    natural = np.column_stack([np.exp(shape) - 1, -np.exp(-scale)])
    moments = gamma_gradient(natural)
    calls.clear()
    np.testing.assert_allclose(family.natural_from_moment(moments), natural, rtol=1e-6, atol=1e-6)
    assert len(calls) < 1000
    assert sum(calls) < 2000 * 2000
