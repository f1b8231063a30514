"""Standard errors against textbooks, against simulation, and against each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from cases import CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle import families as f
from kmle.inspection import bootstrap, standard_errors
from kmle.inspection.bootstrap import matched

N = 400


def alone(family, **source):
    """One law, and legal rows: with one component the rows matter only by their number."""
    mixture = Mixture.from_source(family, [1.0], **source)
    return mixture, mixture.sample(N, random_state=0)


TEXTBOOK = [
    ("poisson", {"rate": [4.0]}, {"rate": [[2.0]]}),
    ("bernoulli", {"probability": [[0.2, 0.5]]}, {"probability": [[0.4, 0.5]]}),
    (f.Binomial(10), {"probability": [0.2]}, {"probability": [[0.4 / 10**0.5]]}),
    ("exponential", {"rate": [3.0]}, {"rate": [[3.0]]}),
    ("rayleigh", {"scale": [3.0]}, {"scale": [[1.5]]}),
    ("geometric", {"probability": [0.3]}, {"probability": [[0.3 * 0.7**0.5]]}),
    (f.Pareto(1.0), {"shape": [2.5]}, {"shape": [[2.5]]}),
    (f.Categorical(3), {"probabilities": [[0.2, 0.3, 0.5]]}, {"probabilities": [[0.4, 0.21**0.5, 0.5]]}),
    (f.Multinomial(9), {"probabilities": [[0.2, 0.8]]}, {"probabilities": [[0.4 / 3, 0.4 / 3]]}),
    (
        "diagonal-gaussian",
        {"mean": [[1.0, 2.0]], "variance": [[4.0, 9.0]]},
        {"mean": [[2.0, 3.0]], "variance": [[4.0 * 2**0.5, 9.0 * 2**0.5]]},
    ),
    (
        "gaussian",
        {"mean": [[1.0, 2.0]], "covariance": [[[4.0, 1.5], [1.5, 9.0]]]},
        {
            "mean": [[2.0, 3.0]],
            "covariance": [[[4.0 * 2**0.5, (36 + 2.25) ** 0.5], [(36 + 2.25) ** 0.5, 9.0 * 2**0.5]]],
        },
    ),
    ("log-normal", {"log_mean": [0.5], "log_std": [2.0]}, {"log_mean": [[2.0]], "log_std": [[2.0 / 2**0.5]]}),
    ("inverse-gaussian", {"mean": [2.0], "shape": [3.0]}, {"mean": [[(8 / 3) ** 0.5]], "shape": [[3.0 * 2**0.5]]}),
]


@pytest.mark.parametrize(("family", "source", "errors"), TEXTBOOK, ids=lambda value: getattr(value, "name", None))
@pytest.mark.parametrize("method", ["observed", "complete"])
def test_one_component_has_the_errors_of_the_textbook(family, source, errors, method):
    mixture, X = alone(family, **source)
    found = standard_errors(mixture, X, method=method)
    assert_allclose(found.weights, 0.0, atol=1e-12)
    for name, error in errors.items():
        assert_allclose(found.source[name], np.array(error) / N**0.5, rtol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_errors_have_the_shape_of_what_they_are_errors_of(case):
    mixture = Mixture(case.family, [0.4, 0.6], case.naturals(2, seed=3))
    X = mixture.sample(500, random_state=0)
    labels = mixture.predict(X)
    if len(np.unique(labels)) < 2:
        with pytest.raises(ValueError, match="has no rows, so it has no standard errors"):
            standard_errors(mixture, X, method="complete")
        return
    found = standard_errors(mixture, X, method="complete")
    assert {name: value.shape for name, value in found.source.items()} == {
        name: value.shape for name, value in mixture.source.items()
    }
    assert all(np.isfinite(value).all() and (value >= 0).all() for value in found.source.values())
    assert_allclose(found.weights, (0.24 / 500) ** 0.5, rtol=1e-6)


def test_symmetric_matrices_have_symmetric_errors():
    mixture, X = alone("gaussian", mean=[[0.0, 1.0, 2.0]], covariance=[np.diag([1.0, 2.0, 3.0]) + 0.3])
    errors = standard_errors(mixture, X).source["covariance"][0]
    assert_allclose(errors, errors.T, rtol=1e-9)


def test_an_offset_of_the_data_changes_nothing():
    mean, covariance = np.array([[0.0, 0.0], [4.0, 1.0]]), np.array([np.eye(2), [[1.0, 0.5], [0.5, 2.0]]])
    mixture = Mixture.from_source("gaussian", [0.3, 0.7], mean=mean, covariance=covariance)
    far = Mixture.from_source("gaussian", [0.3, 0.7], mean=mean + 1e5, covariance=covariance)
    X = mixture.sample(2000, random_state=1)
    near, away = standard_errors(mixture, X), standard_errors(far, X + 1e5)
    assert_allclose(away.weights, near.weights, rtol=1e-4)
    assert_allclose(away.source["covariance"], near.source["covariance"], rtol=1e-4)


def test_angles_across_the_turn_are_close():
    mixture, X = alone("von-mises", mean=[np.pi], concentration=[20.0])
    opposite, _ = alone("von-mises", mean=[0.4], concentration=[20.0])
    error = standard_errors(mixture, X).source["mean"].item()
    assert error == pytest.approx(standard_errors(opposite, X).source["mean"].item(), rel=1e-6)
    assert error == pytest.approx((N * 20.0) ** -0.5, rel=0.05)


def numerical_errors(weights, rate, X):
    """By second differences of the log-likelihood in (w_1, rate_1, rate_2): what observed information is."""
    at = np.array([weights[0], *rate])

    def likelihood(u):
        return Mixture.from_source("poisson", [u[0], 1 - u[0]], rate=u[1:]).log_density(X).sum()

    h = 1e-4
    hessian = np.empty((3, 3))
    for i, j in np.ndindex(3, 3):
        a, b = h * np.eye(3)[i], h * np.eye(3)[j]
        corners = likelihood(at + a + b) - likelihood(at + a - b) - likelihood(at - a + b) + likelihood(at - a - b)
        hessian[i, j] = corners / (4 * h * h)
    return np.sqrt(np.diagonal(np.linalg.inv(-hessian)))


def test_observed_information_is_the_hessian():
    X = Mixture.from_source("poisson", [0.4, 0.6], rate=[2.0, 9.0]).sample(600, random_state=0)
    model = ExponentialFamilyMixture(2, family="poisson", tol=0, max_iter=3000, prior_strength=0, random_state=0).fit(X)
    found = standard_errors(model, X)
    expected = numerical_errors(model.weights_, model.mixture_.source["rate"].ravel(), X)
    assert_allclose([found.weights[0], *found.source["rate"].ravel()], expected, rtol=1e-3)
    assert found.weights[0] == pytest.approx(found.weights[1])
    held = standard_errors(model, X, weights_held=True)
    assert_allclose(held.weights, 0)
    assert (held.source["rate"] < found.source["rate"]).all()


SIMULATED = [
    Mixture.from_source("poisson", [0.4, 0.6], rate=[2.0, 12.0]),
    Mixture.from_source("diagonal-gaussian", [0.5, 0.5], mean=[[-2.0], [1.5]], variance=[[1.0], [0.5]]),
    Mixture.from_source("gamma", [0.3, 0.7], shape=[3.0, 20.0], scale=[0.3, 0.4]),
    Mixture.from_source("bernoulli", [0.4, 0.6], probability=[[0.1, 0.2, 0.1, 0.2, 0.1], [0.9, 0.7, 0.8, 0.7, 0.8]]),
]


@pytest.mark.parametrize("truth", SIMULATED, ids=lambda mixture: mixture.family.name)
def test_errors_are_the_spread_of_repeated_fits(truth):
    fits, errors = [], []
    for seed in range(80):
        X = truth.sample(400, random_state=seed)
        model = ExponentialFamilyMixture(2, family=truth.family, init=truth, prior_strength=0, tol=1e-9).fit(X)
        fits.append(np.concatenate([model.weights_, *(v.ravel() for v in model.mixture_.source.values())]))
        if seed < 10:
            found = standard_errors(model, X)
            errors.append(np.concatenate([found.weights, *(v.ravel() for v in found.source.values())]))
    # 80 fits know their spread to about 8 %.
    assert_allclose(np.mean(errors, axis=0), np.std(fits, axis=0, ddof=1), rtol=0.28)


def test_both_informations_agree_on_many_rows():
    truth = SIMULATED[1]
    X = truth.sample(20_000, random_state=0)
    model = ExponentialFamilyMixture(2, family=truth.family, init=truth, tol=1e-9).fit(X)
    reference, found = standard_errors(model, X), standard_errors(model, X, method="empirical")
    for name in reference.source:
        assert_allclose(found.source[name], reference.source[name], rtol=0.05)


def test_weights_count_rows():
    truth = SIMULATED[0]
    X = truth.sample(200, random_state=0)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    copies = np.repeat(X, weights, axis=0)
    for method in ("observed", "empirical", "complete"):
        found, expected = (
            standard_errors(truth, X, sample_weight=weights, method=method),
            standard_errors(truth, copies, method=method),
        )
        assert_allclose(found.source["rate"], expected.source["rate"], rtol=1e-9)
        assert_allclose(found.weights, expected.weights, rtol=1e-9)


def test_sparse_rows_have_the_errors_of_dense_ones():
    truth = Mixture.from_source("poisson", [0.5, 0.5], rate=[[0.1, 5.0, 1.0], [6.0, 0.2, 1.0]])
    X = truth.sample(300, random_state=0)
    for method in ("observed", "empirical", "complete"):
        dense, sparse = (standard_errors(truth, rows, method=method) for rows in (X, csr_array(X)))
        assert_allclose(sparse.source["rate"], dense.source["rate"], rtol=1e-9)


def test_what_cannot_be_told_is_refused():
    same = Mixture.from_source("poisson", [0.5, 0.5], rate=[3.0, 3.0])
    with pytest.raises(ValueError, match="do not determine all parameters"):
        standard_errors(same, [[2], [3], [4]])
    with pytest.raises(ValueError, match="method is 'guess'"):
        standard_errors(same, [[2]], method="guess")
    with pytest.raises(TypeError, match="model must be a Mixture or a fitted estimator, not a KMLE"):
        standard_errors(KMLE(), [[2]])


# Bootstrap ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("truth", SIMULATED[:2], ids=lambda mixture: mixture.family.name)
def test_bootstrap_agrees_with_the_information(truth):
    X = truth.sample(500, random_state=3)
    model = ExponentialFamilyMixture(2, family=truth.family, random_state=0, tol=1e-8).fit(X)
    expected, found = standard_errors(model, X), bootstrap(model, X, n_resamples=120, random_state=0)
    assert found.n_incomplete == 0
    assert_allclose(found.weights, expected.weights, rtol=0.35)
    for name, values in model.mixture_.source.items():
        assert_allclose(found.source[name], expected.source[name], rtol=0.35)
        low, high = found.source_interval[name]
        assert ((low < values) & (values < high)).all()
        assert_allclose(high - low, 2 * 1.96 * found.source[name], rtol=0.3)


def test_bootstrap_leaves_the_estimator_alone_and_repeats():
    X = SIMULATED[0].sample(200, random_state=3)
    model = KMLE(2, family="poisson", weights=[0.5, 0.5], random_state=0).fit(X)
    before = model.mixture_
    first, second = (bootstrap(model, X, n_resamples=5, random_state=7) for _ in range(2))
    assert model.mixture_ is before
    assert_allclose(first.source["rate"], second.source["rate"], rtol=0)
    assert_allclose(first.weights, 0, atol=1e-15)


def test_components_are_matched_whatever_their_order():
    a = Mixture.from_source("diagonal-gaussian", [0.2, 0.3, 0.5], mean=[[0.0], [5.0], [9.0]], variance=np.ones((3, 1)))
    b = Mixture.from_source("diagonal-gaussian", [0.4, 0.6], mean=[[9.3], [0.2]], variance=np.ones((2, 1)))
    own, theirs = matched(a, b)
    assert dict(zip(own.tolist(), theirs.tolist(), strict=True)) == {0: 1, 2: 0}


def test_bad_arguments_of_the_bootstrap():
    X = SIMULATED[0].sample(50, random_state=3)
    model = KMLE(2, family="poisson", random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_resamples is 1"):
        bootstrap(model, X, n_resamples=1)
    with pytest.raises(ValueError, match="level is 95"):
        bootstrap(model, X, level=95)
