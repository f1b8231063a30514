"""Moments, distribution functions, modes, regions and SciPy twins, for every family of the table of cases."""

import numpy as np
import pytest
from scipy import stats

import cases
from kmle import Mixture
from kmle import families as f
from kmle.queries.moments import covariances, means
from queries.mixtures import mixture_at, mixture_of


def has_mean(case):
    return not isinstance(case.family, f.Categorical | f.VonMises)


def light_tails(case):
    """Whether quadrature sees second moments."""
    return case.id not in ("pareto", "inverse-gamma")


@pytest.mark.parametrize("case", [c for c in cases.INTEGRABLE if has_mean(c) and light_tails(c)], ids=cases.case_id)
def test_moments_are_integrals(case):
    def check(points):
        mixture = mixture_at(case, points)
        X, weights = case.nodes_at(points)
        mass = weights * np.exp(mixture.log_density(X))
        mean = mass @ X
        scale = np.sqrt(np.maximum(np.diag(mixture.covariance()), 1e-300))
        np.testing.assert_allclose(mixture.mean(), mean, rtol=1e-6, atol=1e-6 * scale.max())
        covariance = (mass[:, None] * (X - mean)).T @ (X - mean)
        np.testing.assert_allclose(mixture.covariance(), covariance, rtol=1e-5, atol=1e-5 * scale.max() ** 2)

    # A mesh is laid around one distribution.
    cases.for_all(case.points(1 if case.mesh and not case.univariate else 3), check, examples=8)


@pytest.mark.parametrize("case", [c for c in cases.CASES if has_mean(c) and light_tails(c)], ids=cases.case_id)
def test_moments_are_those_of_draws(case):
    rng = np.random.default_rng(3)
    mixture = mixture_at(case, rng.random((3, case.size)))
    covariance = mixture.covariance()
    if not np.isfinite(covariance).all():
        pytest.skip("infinite variance")
    X = mixture.sample(20_000, 0)
    error = np.sqrt(np.diag(covariance) / len(X))
    assert np.all(np.abs(X.mean(axis=0) - mixture.mean()) <= 5 * error + 1e-12)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    drawn = np.cov(X.T).reshape(covariance.shape) / np.outer(spread, spread)
    heavy = case.id in ("log-normal", "inverse-gaussian", "wishart-1", "inverse-wishart-2", "inverse-wishart-2-fixed")
    np.testing.assert_allclose(drawn, covariance / np.outer(spread, spread), atol=1.0 if heavy else 0.1)


@pytest.mark.parametrize("case", cases.UNIVARIATE, ids=cases.case_id)
def test_distribution_functions_are_scipys_and_quantiles_invert_them(case):
    def check(points):
        mixture = mixture_at(case, points)
        twins = [twin.frozen for twin in case.twins_at(points)]
        X = np.sort(mixture.sample(20, 0)[:, 0])
        if not isinstance(case.family, f.VonMises):
            expected = sum(w * np.squeeze(twin.cdf(X)) for w, twin in zip(mixture.weights, twins, strict=True))
            np.testing.assert_allclose(mixture.cdf(X), expected, rtol=1e-8, atol=1e-10)
        p = np.array([0.01, 0.3, 0.5, 0.99])
        q = mixture.quantile(p)
        reached = mixture.cdf(q)
        assert np.all(reached >= p - 1e-9)
        if np.issubdtype(type(case.family.support), object) and not hasattr(twins[0].dist, "logpmf"):
            np.testing.assert_allclose(reached, p, atol=1e-7)
        else:
            assert np.all(mixture.cdf(q - 1) < p)

    cases.for_all(case.points(2), check, examples=5)


@pytest.mark.parametrize("name", ["gaussian", "fixed-covariance", "diagonal-gaussian", "poisson", "product"])
def test_joint_distribution_functions_are_shares_of_draws(name):
    mixture = mixture_of(name)
    draws = mixture.sample(40_000, 0)
    X = np.quantile(draws, 0.7, axis=0)[None] + np.array([[0.0], [1.0]])
    drawn = np.array([(draws <= x).all(axis=1).mean() for x in X])
    np.testing.assert_allclose(mixture.cdf(X), drawn, atol=0.01)


@pytest.mark.parametrize("case", cases.CASES, ids=cases.case_id)
def test_no_draw_is_more_probable_than_the_mode(case):
    tried = 0
    for seed in range(6):
        mixture = mixture_at(case, np.random.default_rng(seed).random((3, case.size)))
        try:
            mode = mixture.mode()
        except ValueError:
            with pytest.raises(ValueError, match="no mode"):
                mixture.mode()
            continue
        tried += 1
        draws = mixture.sample(500, seed)
        top = np.logaddexp.reduce(
            [
                np.log(w) + cases_height(mixture, theta, mode)
                for w, theta in zip(mixture.weights, mixture.natural, strict=True)
            ]
        )
        assert top >= mixture.log_density(draws).max() - 1e-9
    assert tried or case.id in (
        "chi-square",
        "gamma-1",
        "gamma-2",
        "fixed-shape-gamma",
        "beta",
        "dirichlet-2",
        "dirichlet-3",
        "product",
        "wishart-1",
        "wishart-2",
        "wishart-3",
    )


def cases_height(mixture, theta, mode):
    """The log-density at the mode, which may lie at the edge of an open support."""
    family = mixture.family
    with np.errstate(divide="ignore"):
        direct = family.direct_log_density(mode[None], theta[None])
        return (family.packed_log_density(mode[None], theta[None]) if direct is None else direct)[0, 0]


def test_the_mode_of_two_near_gaussians_lies_between_them():
    """0.5 N(-0.9, 1) + 0.5 N(0.9, 1) has one mode, at 0: two appear from a distance of 2 on."""
    near = Mixture.from_source("gaussian", [0.5, 0.5], mean=[-0.9, 0.9], covariance=[1.0, 1.0])
    assert near.mode()[0] == pytest.approx(0.0, abs=1e-5)
    apart = Mixture.from_source("gaussian", [0.4, 0.6], mean=[-3.0, 3.0], covariance=[1.0, 1.0])
    grid = np.linspace(2.9, 3.1, 200_001)
    assert apart.mode()[0] == pytest.approx(grid[np.argmax(apart.log_density(grid))], abs=2e-6)


def test_multinomial_modes_are_found_among_all_rows():
    for seed in range(5):
        mixture = mixture_of("multinomial", seed, k=1)
        rows = np.stack(np.meshgrid(*[np.arange(8)] * 4, indexing="ij"), axis=-1).reshape(-1, 4).astype(float)
        rows = rows[rows.sum(axis=1) == 7]
        assert mixture.log_density(mixture.mode()[None])[0] == pytest.approx(mixture.log_density(rows).max())


@pytest.mark.parametrize("case", cases.UNIVARIATE, ids=cases.case_id)
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_highest_density_sets_hold_their_probability(case, level):
    mixture = mixture_at(case, np.random.default_rng(1).random((2, case.size)))
    found = mixture.highest_density(level)
    draws = mixture.sample(20_000, 0)
    assert found.contains(draws).mean() == pytest.approx(found.probability, abs=0.02)
    low, high = found.intervals[:, 0], found.intervals[:, 1]
    inside = ((draws >= low - 1e-9) & (draws <= high + 1e-9)).any(axis=1)
    assert (inside != found.contains(draws)).mean() < 1e-3
    if hasattr(case.twins_at(np.full((1, case.size), 0.5))[0].frozen.dist, "logpmf"):
        assert found.probability >= level - 1e-9
    else:
        assert found.probability == pytest.approx(level, abs=1e-6)


def test_regions_of_several_columns():
    mixture = mixture_of("gaussian")
    draws = mixture.sample(50_000, 1)
    found = mixture.highest_density(0.8, random_state=0)
    assert found.contains(draws).mean() == pytest.approx(0.8, abs=0.01)
    one = mixture.component(1)
    (ellipsoid,) = one.confidence_regions(0.8)
    assert ellipsoid.contains(one.sample(50_000, 2)).mean() == pytest.approx(0.8, abs=0.01)
    # For one Gaussian the two sets are the same.
    assert (one.highest_density(0.8, random_state=0).contains(draws) != ellipsoid.contains(draws)).mean() < 0.01


def test_expectations_by_quadrature_and_by_draws():
    gammas = Mixture.from_source("gamma", [0.25, 0.75], shape=[2.0, 5.0], scale=[1.0, 0.5])
    twins = [stats.gamma(2.0), stats.gamma(5.0, scale=0.5)]
    expected = 0.25 * twins[0].expect(np.log) + 0.75 * twins[1].expect(np.log)
    assert gammas.expectation(lambda x: np.log(x[:, 0])) == pytest.approx(expected, rel=1e-8)
    several = mixture_of("gaussian")
    np.testing.assert_allclose(several.expectation(lambda x: x, random_state=0), several.mean(), atol=0.05)
    with pytest.raises(ValueError, match="one value per row"):
        several.expectation(lambda x: 1.0)


# SciPy has no categories, no products, and no truncated Poisson distribution.
WITHOUT_TWIN = f.Categorical | f.Product | f.ZeroTruncatedPoisson
TWINNED = [case for case in cases.CASES if not isinstance(case.family, WITHOUT_TWIN)]


@pytest.mark.parametrize("case", TWINNED, ids=cases.case_id)
def test_components_are_scipys_distributions_and_come_back(case):
    mixture = mixture_at(case, np.random.default_rng(5).random((2, case.size)))
    one = mixture.component(1)
    frozen = one.to_scipy()
    X = one.sample(20, 0)
    density = getattr(frozen, "logpmf", None) if hasattr(getattr(frozen, "dist", frozen), "logpmf") else frozen.logpdf
    if isinstance(case.family, f.Dirichlet):
        values = density(X.T)
    elif type(case.family) in (f.Wishart, f.FixedDegreesWishart, f.InverseWishart, f.FixedDegreesInverseWishart):
        p = round(np.sqrt(X.shape[1]))
        values = np.array([density(row.reshape(p, p)) for row in X])
    else:
        # Independent columns have a log-density each, other rows one in all.
        values = np.asarray(density(X if X.shape[1] > 1 or not hasattr(frozen, "dist") else X[:, 0]))
        values = values.sum(axis=1) if values.ndim == 2 else values
    np.testing.assert_allclose(np.squeeze(values), one.log_density(X), rtol=1e-8, atol=1e-8)
    back = Mixture.from_scipy(frozen)
    np.testing.assert_allclose(back.log_density(X), one.log_density(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("frozen", "sentence"),
    [
        (stats.gamma(2.0, loc=1.0), "loc of scipy.stats.gamma is 1"),
        (stats.beta(2.0, 3.0, scale=2.0), "scale of scipy.stats.beta"),
        (stats.cauchy(), "no family of kmle is scipy.stats.cauchy"),
        (stats.binom([3, 5], 0.5), "different values of n"),
        ("norm", "no family of kmle"),
    ],
)
def test_other_scipy_distributions_are_refused(frozen, sentence):
    with pytest.raises(ValueError, match=sentence):
        Mixture.from_scipy(frozen)


def test_categories_and_angles_have_no_mean():
    codes = Mixture.from_source("categorical", [1.0], probabilities=[[0.2, 0.8]])
    angles = Mixture.from_source("von-mises", [1.0], mean=[0.0], concentration=[2.0])
    for mixture in (codes, angles):
        with pytest.raises(ValueError, match="no mean"):
            mixture.mean()


def test_student_t_has_ellipsoids_affine_maps_and_scipys_twin():
    mixture = mixture_of("student-t")
    one = mixture.component(0)
    X = one.sample(40_000, 0)
    assert one.confidence_regions(0.8)[0].contains(X).mean() == pytest.approx(0.8, abs=0.01)
    moved = one.transform_affine([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]], [3.0, 0.0])
    Y = np.stack([X[:, 0] + 2 * X[:, 1] + 3, X[:, 2] - X[:, 3]], axis=1)
    assert moved.confidence_regions(0.5)[0].contains(Y).mean() == pytest.approx(0.5, abs=0.01)
    for part in (one, one.marginal(2)):
        rows = part.sample(5, 1)
        frozen = part.to_scipy()
        np.testing.assert_allclose(np.ravel(frozen.logpdf(rows)), part.log_density(rows), rtol=1e-9)
        np.testing.assert_allclose(Mixture.from_scipy(frozen).log_density(rows), part.log_density(rows), rtol=1e-9)


def test_one_column_of_categories_is_summed():
    codes = Mixture.from_source("categorical", [0.5, 0.5], probabilities=[[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
    assert codes.expectation(lambda x: x[:, 0] == 2) == pytest.approx(0.35)
    np.testing.assert_array_equal(codes.quantile([0.3, 0.5, 0.9]), [0, 1, 2])
    assert codes.highest_density(0.7).probability == pytest.approx(0.75)


@pytest.mark.parametrize(
    "frozen",
    [
        stats.weibull_min([1.0, 2.0], 0, [3.0, 4.0]),
        stats.laplace([1.0, 2.0], [3.0, 4.0]),
        stats.gennorm([1.2, 3.0], [0.0, 5.0], [1.0, 2.0]),
        stats.nbinom([1.5, 4.0], [0.3, 0.6]),
    ],
    ids=lambda frozen: frozen.dist.name,
)
def test_columns_with_shapes_of_their_own_are_scipys_distributions_and_come_back(frozen):
    mixture = Mixture.from_scipy(frozen)
    X = mixture.sample(10, 0)
    back = mixture.to_scipy()
    for one in (frozen, back):
        density = one.logpmf(X) if frozen.dist.name == "nbinom" else one.logpdf(X)
        np.testing.assert_allclose(density.sum(axis=1), mixture.log_density(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("family", "source", "mean", "variance"),
    [
        ("laplace", {"location": [[1.0, 3.0]], "scale": [[2.0, 1e-80]]}, [1.0, 3.0], [8.0, 2e-160]),
        ("weibull", {"shape": [[1.0, 2.0]], "scale": [[2.0, 1.0]]}, [2.0, np.sqrt(np.pi) / 2], [4.0, 1 - np.pi / 4]),
    ],
)
def test_moments_of_estimated_shapes_have_formulas(family, source, mean, variance):
    mixture = Mixture.from_source(family, [1.0], **source)
    np.testing.assert_allclose(means(mixture.family, mixture.natural)[0], mean, rtol=1e-12)
    np.testing.assert_allclose(np.diagonal(covariances(mixture.family, mixture.natural)[0]), variance, rtol=1e-12)
