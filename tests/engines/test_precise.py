"""Data whose packed scores would lose digits: labels and likelihoods are those of plain loops in better precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_sample_image

from kmle import KMLE, ExponentialFamilyMixture
from kmle.engines.choose import ENGINES
from kmle.engines.direct import SCORE_ERROR, DirectEngine, score_error
from kmle.families import (
    DiagonalGaussian,
    FixedCovarianceGaussian,
    Gaussian,
    LogNormal,
    Poisson,
    Product,
    SphericalGaussian,
)
from kmle.problem.model import Parameters
from kmle.problem.problem import Problem

CLOUD = np.random.default_rng(0).normal(0, 4, (6, 4))[
    np.random.default_rng(0).integers(6, size=4000)
] + np.random.default_rng(0).normal(size=(4000, 4))


def with_cell(X, value):
    Y = X.copy()
    Y[7, 0] = value
    return Y


def image():
    image = load_sample_image("china.jpg")[::8, ::8]
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    table = np.column_stack([x.ravel(), y.ravel(), image.reshape(-1, 3)]).astype(float)
    return (table - table.mean(axis=0)) / table.std(axis=0)


TABLES = {
    "one cell": with_cell(CLOUD, 1e6),
    "one cell, far": with_cell(CLOUD, 1e12),
    "offset": CLOUD + 1e9,
    "cauchy": np.random.default_rng(0).standard_cauchy((4000, 3)),
    "copied column": np.column_stack([CLOUD, CLOUD[:, 0]]),
    "constant column": np.column_stack([CLOUD, np.full(len(CLOUD), 3.0)]),
    "collinear": np.column_stack(
        [CLOUD, CLOUD @ [1.0, -2.0, 0.5, 0.0] + 1e-7 * np.random.default_rng(0).normal(size=len(CLOUD))]
    ),
}
FAMILIES = [Gaussian(), DiagonalGaussian(), SphericalGaussian(), FixedCovarianceGaussian()]


def fitted(family, X, k, steps=5, engine="dense", resolution=None):
    """A problem and parameters some steps after a random start, the first rows alone in a component."""
    problem = Problem(family.for_data(X), X, n_components=k, engine=engine, hard=True, resolution=resolution)
    x = np.log(X) if isinstance(family, LogNormal) else X
    centers = x[np.random.default_rng(2).choice(len(X), k, replace=False)]
    labels = ((x[:, None, :] - centers) ** 2 / x.var(axis=0).clip(1e-300)).sum(axis=2).argmin(axis=1).astype(np.int32)
    parameters = problem.first_parameters(problem.gather(labels, k))
    for _ in range(steps):
        _, statistics = problem.assign(parameters)
        natural = problem.updated_natural(parameters, statistics)
        parameters = Parameters(natural, problem.log_weights(statistics.weights()))
    return problem, parameters


def extended_scores(problem, parameters):
    """Scores row by row in extended precision, from mean and factor, and bounds on their rounding in double precision.

    The bounds allow for packed scores where those may stand: where their rounding is below what is called good enough.
    """
    family, rows = problem.family, problem.rows
    X = rows.centered_rows(slice(None)).astype(np.longdouble)
    X = np.log(X) if isinstance(family, LogNormal) else X
    form = family.centered_form(parameters.natural)
    c, epsilon = form.mean.shape[1], np.finfo(float).eps
    scores = np.full((len(X), len(form.mean)), -np.inf, dtype=np.longdouble)
    bounds = np.zeros(scores.shape)
    for j, lower in enumerate(form.triangles.astype(np.longdouble)):
        if not parameters.active[j]:
            continue
        difference = X - form.mean[j].astype(np.longdouble)
        whitened = difference @ lower
        scores[:, j] = parameters.log_weights[j] + form.constant[j] - 0.5 * (whitened**2).sum(axis=1)
        size = np.abs(difference) @ np.abs(lower)
        terms = (np.abs(whitened) * size).sum(axis=1) + (c + 4) * epsilon * (size**2).sum(axis=1)
        bounds[:, j] = 2 * (c + 4) * epsilon * (terms + abs(form.constant[j])) + 1e-6
    return scores, bounds


def double_scores(problem, parameters):
    """The same by a triangular factor of every precision, in double precision."""
    X = problem.rows.centered_rows(slice(None))
    d = X.shape[1]
    scores = np.full((len(X), len(parameters.natural)), -np.inf)
    for j in np.flatnonzero(parameters.active):
        linear, packed = parameters.natural[j, :d], parameters.natural[j, d:]
        precision = np.zeros((d, d))
        precision[np.triu_indices(d)] = -packed
        precision = precision + precision.T
        lower = np.linalg.cholesky(precision)
        mean = np.linalg.solve(lower.T, np.linalg.solve(lower, linear))
        constant = np.log(np.diagonal(lower)).sum() - 0.5 * d * np.log(2 * np.pi)
        scores[:, j] = parameters.log_weights[j] + constant - 0.5 * (((X - mean) @ lower) ** 2).sum(axis=1)
    return scores


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("table", TABLES)
def test_labels_and_likelihoods_on_raw_tables(table, family):
    problem, parameters = fitted(family, TABLES[table], 6)
    scores, _ = extended_scores(problem, parameters)
    partition, statistics = problem.assign(parameters)
    ordered = np.sort(scores, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-6 + 1e-11 * np.abs(ordered[:, -1])
    np.testing.assert_array_equal(partition.labels[clear], scores.argmax(axis=1)[clear])
    np.testing.assert_allclose(statistics.counts, np.bincount(partition.labels, minlength=6))
    log_sum = ordered[:, -1] + np.log(np.exp(scores - ordered[:, -1:]).sum(axis=1))
    X = problem.rows.centered_rows(slice(None))
    # What only x tells is in the likelihood once for all components there.
    apart = 0.5 * (X**2).sum() if isinstance(family, FixedCovarianceGaussian) else 0.0
    softened = problem.soften(parameters)
    tolerance = 1e-5 * len(scores) + 1e-14 * apart
    expected = float(log_sum.sum() + apart)
    assert softened.score == pytest.approx(expected, rel=1e-9, abs=tolerance)
    assert softened.counts.sum() == pytest.approx(len(scores))
    log_likelihood = problem.log_likelihood(parameters)
    assert log_likelihood.log_likelihood - problem.sum_log_carrier == pytest.approx(
        softened.score, rel=1e-12, abs=tolerance
    )
    assert np.isfinite(softened.sums).all()
    assert 0 <= log_likelihood.mean_entropy <= np.log(6)


@pytest.mark.parametrize("table", ["one cell", "one cell, far", "collinear"])
def test_packed_scores_of_such_tables_are_not_good_enough(table):
    problem, parameters = fitted(Gaussian(), TABLES[table], 6)
    assert score_error(problem.largest_statistic, parameters.natural, problem.bias(parameters)) > SCORE_ERROR


def test_labels_of_a_picture_are_those_of_a_loop_of_cholesky_factors():
    problem, parameters = fitted(Gaussian(), image(), 32, steps=8)
    partition, _ = problem.assign(parameters)
    np.testing.assert_array_equal(partition.labels, double_scores(problem, parameters).argmax(axis=1))


def test_logarithms_of_extreme_values():
    X = np.exp(0.01 * CLOUD + 5)
    X[3, 1] = 1e300
    problem, parameters = fitted(LogNormal(), X, 6)
    scores, _ = extended_scores(problem, parameters)
    partition, _ = problem.assign(parameters)
    np.testing.assert_array_equal(partition.labels, scores.argmax(axis=1))


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "panels"])
def test_every_engine_gives_the_same_labels(engine):
    X = with_cell(CLOUD, 1e7)[:, :1] if engine == "sorted" else with_cell(CLOUD, 1e7)[:, :2]
    problem, parameters = fitted(Gaussian(), X, 5, engine=engine)
    other, _ = fitted(Gaussian(), X, 5)
    np.testing.assert_array_equal(problem.assign(parameters)[0].labels, other.assign(parameters)[0].labels)
    assert problem.soften(parameters).score == pytest.approx(other.soften(parameters).score, rel=1e-9)
    found, expected = problem.log_likelihood(parameters), other.log_likelihood(parameters)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-9)
    assert found.mean_entropy == pytest.approx(expected.mean_entropy, rel=1e-6)


@pytest.mark.parametrize("model", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian", "log-normal"])
@pytest.mark.parametrize("table", ["one cell", "one cell, far", "cauchy", "collinear"])
def test_no_pass_of_a_fit_is_made_in_numpy(model, family, table, monkeypatch):
    def refused(*arguments):
        raise AssertionError("a pass over all rows in NumPy")

    monkeypatch.setattr(DirectEngine, "hard_pass", refused)
    monkeypatch.setattr(DirectEngine, "soft_pass", refused)
    X = TABLES[table]
    X = np.exp(np.clip(X, -150, 150)) if family == "log-normal" else X
    fit = model(n_components=4, family=family, random_state=0).fit(X)
    assert np.isfinite(fit.score(X))


def test_blocks_of_a_product_with_and_without_a_mean():
    rng = np.random.default_rng(0)
    X = with_cell(CLOUD, 1e7)
    X = np.column_stack([X, rng.poisson(3, len(X)), np.exp(X[:, 1])]).astype(float)
    family = Product((Gaussian(n_features=2), DiagonalGaussian(n_features=2), Poisson(), LogNormal()))
    problem, parameters = fitted(family, X, 5)
    partition, _ = problem.assign(parameters)
    joint, carrier = DirectEngine(problem.rows)._joint(slice(None), parameters.natural, parameters.log_weights)
    ordered = np.sort(joint, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-6
    np.testing.assert_array_equal(partition.labels[clear], joint.argmax(axis=1)[clear])
    top = ordered[:, -1]
    expected = (top + np.log(np.exp(joint - top[:, None]).sum(axis=1)) - carrier).sum()
    assert problem.soften(parameters).score == pytest.approx(expected, rel=1e-10)


def test_a_known_covariance_matrix():
    matrix = [[2.0, 0.5], [0.5, 0.3]]
    X = with_cell(CLOUD, 1e8)[:, :2]
    problem, parameters = fitted(FixedCovarianceGaussian(matrix), X, 5)
    partition, _ = problem.assign(parameters)
    mean = np.linalg.solve(np.linalg.inv(matrix), parameters.natural.T).T
    difference = problem.rows.centered_rows(slice(None))[:, None, :] - mean
    distances = np.einsum("nka,ab,nkb->nk", difference, np.linalg.inv(matrix), difference)
    scores = parameters.log_weights - 0.5 * distances
    ordered = np.sort(scores, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-6 + 1e-12 * np.abs(ordered[:, -1])
    np.testing.assert_array_equal(partition.labels[clear], scores.argmax(axis=1)[clear])
    assert np.isfinite(problem.soften(parameters).score)


@given(
    st.integers(0, 10**6),
    st.sampled_from(FAMILIES),
    st.integers(0, 12),
    st.integers(0, 14),
    st.integers(0, 9),
    st.booleans(),
)
@settings(max_examples=60)
def test_the_worst_data(seed, family, outlier, condition, offset, single):
    """Right against extended precision as far as double precision can tell, and never NaN."""
    rng = np.random.default_rng(seed)
    n, d, k = 300, 3, 4
    mixing = np.diag(10.0 ** -rng.uniform(0, condition / 2, d)) @ rng.normal(size=(d, d))
    X = (rng.normal(0, 3, (k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))) @ mixing
    X[rng.integers(n), rng.integers(d)] = 10.0**outlier
    # The kernels would round the squared lengths of rows in single precision, which are a statistic of their own here.
    single = single and not isinstance(family, SphericalGaussian)
    X = (X + 10.0**offset).astype(np.float32 if single else np.float64)
    problem, parameters = fitted(family, X, k, steps=3, resolution="auto" if seed % 2 else None)
    partition, statistics = problem.assign(parameters)
    softened, log_likelihood = problem.soften(parameters), problem.log_likelihood(parameters)
    for found in (statistics.sums, softened.sums, softened.counts, softened.score, log_likelihood.log_likelihood):
        assert np.isfinite(found).all()
    scores, bounds = extended_scores(problem, parameters)
    rows = np.arange(n)
    mine = scores[rows, partition.labels] + bounds[rows, partition.labels]
    assert (mine >= (scores - bounds).max(axis=1)).all()
    top = scores.max(axis=1)
    log_sum = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    x = problem.rows.centered_rows(slice(None)).astype(float)
    apart = 0.5 * (x**2).sum() if isinstance(family, FixedCovarianceGaussian) else 0.0
    near = scores >= top[:, None] - 60
    error = np.where(near, bounds, 0.0).max(axis=1).sum() + 1e-5 * n + 1e-13 * (np.abs(log_sum).sum() + apart)
    assert abs(softened.score - float(log_sum.sum() + apart)) <= error
