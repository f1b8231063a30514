"""Products with blocks whose shapes are estimated."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy

from kmle import KMLE, ExponentialFamilyMixture, Intervals, Mixture, inspection, select
from kmle.families import (
    Gamma,
    Gaussian,
    LogNormal,
    NegativeBinomial,
    Poisson,
    Product,
    SphericalGaussian,
    StudentT,
    Weibull,
    check_family,
)
from kmle.families.shaped_product import ShapedProduct

FAMILIES = {
    "counts and waiting times": Product((NegativeBinomial(), Weibull(), Poisson())),
    "full Gaussian": Product((Gaussian(n_features=2), NegativeBinomial())),
    "spherical Gaussian": Product((SphericalGaussian(n_features=2), Weibull())),
    "shared shape": Product((Weibull("shared"), Gamma())),
    "heavy tails": Product((StudentT(n_features=2), Poisson())),
}


def rows_of(family, n, seed):
    """Two clusters of legal rows."""
    rng = np.random.default_rng(seed)
    far = rng.random(n) < 0.4
    columns = []
    for block in family.families:
        for _ in range(block.n_features):
            if block.name in ("poisson", "negative-binomial"):
                columns.append(rng.negative_binomial(3, np.where(far, 0.1, 0.5)).astype(float))
            elif block.name in ("weibull", "gamma"):
                columns.append(rng.gamma(3.0, np.where(far, 4.0, 0.7)) + 1e-3)
            else:
                columns.append(rng.normal(np.where(far, 4.0, 0.0), 1.0))
    return np.column_stack(columns)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("prior_strength", [0.0, 1e-3])
def test_the_objective_never_falls_and_the_report_is_true(family, estimator, prior_strength):
    X = rows_of(family, 150, 1)
    model = estimator(2, family=family, prior_strength=prior_strength, random_state=0).fit(X)
    objectives = np.asarray(model.result_.objectives)
    assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[1:])).all()
    assert model.score(X) * len(X) == pytest.approx(model.result_.log_likelihood, rel=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.result_.mixture.n_parameters == 1 + model.family_.n_parameters_for(2)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_densities_are_those_of_the_blocks_together(family):
    X = rows_of(family, 40, 2)
    mixture = ExponentialFamilyMixture(2, family=family, random_state=0).fit(X).mixture_
    ends = np.cumsum(family.widths)
    total = np.zeros((len(X), 2))
    for block, first, last in zip(mixture.family.families, [0, *ends[:-1]], ends, strict=True):
        of_columns = mixture.marginal(list(range(first, last)))
        assert of_columns.family == block
        total += block.log_density(X[:, first:last], of_columns.natural)
    np.testing.assert_allclose(mixture.family.log_density(X, mixture.natural), total, rtol=1e-12)


def test_a_single_block_is_its_family():
    X = rows_of(Product((NegativeBinomial(), NegativeBinomial())), 300, 3)
    alone = ExponentialFamilyMixture(2, family=NegativeBinomial(), prior_strength=0, tol=1e-10, random_state=0).fit(X)
    block = Product((NegativeBinomial(n_features=2),))
    same = ExponentialFamilyMixture(2, family=block, prior_strength=0, tol=1e-10, random_state=0).fit(X)
    assert same.result_.log_likelihood == pytest.approx(alone.result_.log_likelihood, abs=1e-5)


@pytest.mark.parametrize("name", ["counts and waiting times", "full Gaussian"])
def test_a_model_is_read_back(name):
    X = rows_of(FAMILIES[name], 100, 4)
    model = ExponentialFamilyMixture(2, family=FAMILIES[name], random_state=0).fit(X)
    for mixture in (Mixture.from_json(model.mixture_.to_json()), pickle.loads(pickle.dumps(model)).mixture_):
        assert isinstance(mixture.family, ShapedProduct)
        np.testing.assert_array_equal(mixture.log_density(X), model.mixture_.log_density(X))


def test_the_identities_hold():
    family = Product((Weibull(), NegativeBinomial()))
    natural = family.natural_from_source(
        weibull_scale=[[2.0], [5.0]],
        weibull_shape=[[1.5], [0.8]],
        negative_binomial_mean=[[3.0], [9.0]],
        negative_binomial_size=[[2.0], [0.7]],
    )
    report = check_family(family, natural)
    assert report.ok
    assert "4 of 6 checks pass" in str(report)


def test_the_truth_is_found_by_name_of_the_columns():
    truth = Mixture.from_source(
        Product((NegativeBinomial(), Weibull(), Gaussian())),
        [0.6, 0.4],
        negative_binomial_mean=[[2.0], [12.0]],
        negative_binomial_size=[[1.0], [3.0]],
        weibull_scale=[[1.0], [6.0]],
        weibull_shape=[[0.9], [2.5]],
        gaussian_mean=[[0.0], [3.0]],
        gaussian_covariance=[[[1.0]], [[2.0]]],
    )
    table = pd.DataFrame(truth.sample(3000, random_state=5), columns=["visits", "hours", "score"])
    family = {"hours": "weibull", "visits": "negative-binomial", "score": "gaussian"}
    chosen = select(table, family, range(1, 4), random_state=0)
    assert chosen.best.n_components == 2
    model = chosen.best_estimator
    errors = inspection.standard_errors(model.result_, table[["hours", "visits", "score"]].to_numpy())
    for name, true in truth.source.items():
        off = (model.mixture_.source[name] - true) / errors.source[name]
        assert np.abs(off).max() < 4, name
    turned = table[["score", "visits", "hours"]]
    np.testing.assert_array_equal(model.predict(turned), model.predict(table))


def test_tied_covariances_are_refused():
    with pytest.raises(ValueError, match="gaussian-eee ties the covariances of components"):
        Product((Gaussian(structure="EEE", n_features=2), Weibull()))


def censored_table(n, seed):
    """Hours that are censored, counts of which some are missing, and scores of which some are rounded."""
    rng = np.random.default_rng(seed)
    far = rng.random(n) < 0.4
    times, limits = rng.weibull(2, n) * np.where(far, 6, 1), rng.exponential(6, n)
    counts = rng.negative_binomial(2, np.where(far, 0.1, 0.5)).astype(float)
    lower = np.column_stack([np.minimum(times, limits), counts, rng.normal(np.where(far, 3, 0), 1)])
    upper = lower.copy()
    upper[times > limits, 0] = np.inf
    upper[: n // 10, 2] += 0.5
    lower[-n // 10 :, 1] = upper[-n // 10 :, 1] = np.nan
    return Intervals(lower, upper)


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
def test_censored_missing_and_rounded_values_have_their_likelihood(estimator):
    rows = censored_table(200, 6)
    family = Product((Weibull(), NegativeBinomial(), Gaussian()))
    model = estimator(2, family=family, prior_strength=0, tol=1e-8, random_state=0).fit(rows)
    assert (np.diff(model.result_.objectives) >= -1e-9 * abs(model.result_.objective)).all()
    source, scores = {name: value.reshape(2) for name, value in model.mixture_.source.items()}, np.zeros((200, 2))
    for j in range(2):
        scale, shape = source["weibull_scale"][j], source["weibull_shape"][j]
        hours = scipy.stats.weibull_min(shape, scale=scale)
        mean, size = source["negative_binomial_mean"][j], source["negative_binomial_size"][j]
        visits = scipy.stats.nbinom(size, size / (size + mean))
        score = scipy.stats.norm(source["gaussian_mean"][j], np.sqrt(source["gaussian_covariance"][j]))
        for i, (low, high) in enumerate(zip(rows.lower, rows.upper, strict=True)):
            scores[i, j] = hours.logsf(low[0]) if np.isinf(high[0]) else hours.logpdf(low[0])
            scores[i, j] += 0 if np.isinf(high[1]) else visits.logpmf(low[1])
            scores[i, j] += (
                score.logpdf(low[2]) if low[2] == high[2] else np.log(score.cdf(high[2]) - score.cdf(low[2]))
            )
    log_joint = scores + np.log(model.mixture_.weights)
    np.testing.assert_allclose(model.score_samples(rows), scipy.special.logsumexp(log_joint, axis=1), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(rows), log_joint.argmax(axis=1))
    assert model.result_.log_likelihood == pytest.approx(scipy.special.logsumexp(log_joint, axis=1).sum(), rel=1e-10)


def test_intervals_beside_a_t_distribution_are_refused():
    with pytest.raises(ValueError, match="student-t cannot have intervals"):
        KMLE(2, family=Product((StudentT(), Weibull()))).fit(Intervals([[0.0, 1.0]] * 9, [[0.0, np.inf]] * 9))


SALES = np.round(np.exp(np.random.default_rng(0).normal([[3], [5]], [[0.3], [0.4]], (2, 60)).ravel()))[:, None]
HOURS = np.round(np.random.default_rng(1).weibull(2, (120, 1)) * 50 + 1)


@pytest.mark.parametrize(
    ("family", "X", "k"),
    [
        (Product((Weibull(), LogNormal())), np.hstack([HOURS, SALES]), 2),
        (Product((Weibull(), LogNormal())), np.hstack([HOURS, np.where(SALES % 10 == 0, np.nan, SALES)]), 2),
        (["log-normal", "weibull"], SALES, 2),
    ],
    ids=["product", "product with holes", "several families"],
)
def test_the_units_of_rounded_columns_do_not_matter(family, X, k):
    fits = [ExponentialFamilyMixture(k, family=family, random_state=0).fit(X * unit).result_ for unit in (1.0, 1e3)]
    n_entries = np.isfinite(X).sum()
    assert fits[0].log_likelihood == pytest.approx(fits[1].log_likelihood + n_entries * np.log(1e3), rel=1e-8)
