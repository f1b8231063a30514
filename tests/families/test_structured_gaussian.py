"""Gaussians whose covariances share volume, shape or orientation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.families import Gaussian, Poisson, Product, resolve
from kmle.families.serialization import family_from_dict, family_to_dict
from kmle.families.structured_gaussian import MODELS
from kmle.problem.problem import Problem

JOINT = [name for name, kind in MODELS.items() if kind.joint is True]


def full_covariances(mixture):
    source = mixture.source
    if "covariance" in source:
        return source["covariance"]
    d = mixture.family.n_features
    variance = np.broadcast_to(source["variance"].reshape(mixture.n_components, -1), (mixture.n_components, d))
    return np.array([np.diag(own) for own in variance])


def parts(mixture):
    """Volumes (k,), shapes (k, d) in ascending order, and axes (k, d, d) up to signs."""
    values, vectors = np.linalg.eigh(full_covariances(mixture))
    volumes = np.exp(np.log(values).mean(axis=-1))
    return volumes, values / volumes[:, None], vectors


def share_axes(covariances):
    """Matrices with the same axes commute."""
    one, other = covariances[:, None], covariances[None]
    size = np.linalg.norm(covariances, axis=(1, 2))
    return np.abs(one @ other - other @ one).max() <= 1e-7 * size.max() ** 2


def assert_in_model(mixture, structure):
    volumes, shapes, _ = parts(mixture)
    covariances = full_covariances(mixture)
    if structure[0] == "E":
        np.testing.assert_allclose(volumes, volumes[0], rtol=1e-8)
    if structure[1] == "E":
        np.testing.assert_allclose(shapes, np.broadcast_to(shapes[0], shapes.shape), rtol=1e-6)
    if structure[1] == "I":
        np.testing.assert_allclose(shapes, 1, rtol=1e-8)
    if structure[2] == "E":
        assert share_axes(covariances)
    if structure[2] == "I":
        off = covariances - np.array([np.diag(np.diag(own)) for own in covariances])
        assert np.abs(off).max() == 0


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    scales = np.array([[1.0, 0.4, 0.2], [2.0, 0.9, 0.3], [0.5, 1.2, 0.8]])
    means = np.array([[0, 0, 0], [5, 2, 0], [-1, 5, 4]])
    turn = np.linalg.qr(rng.standard_normal((3, 3, 3)))[0]
    which = rng.integers(3, size=300)
    noise = rng.standard_normal((300, 3)) * scales[which]
    return means[which] + np.einsum("nij,nj->ni", turn[which], noise)


@pytest.mark.parametrize("structure", MODELS)
@pytest.mark.parametrize("algorithm", ["em", "k-mle", "hard-em"])
def test_a_fit_is_in_its_model(rows, structure, algorithm):
    estimator = ExponentialFamilyMixture if algorithm == "em" else KMLE
    model = estimator(3, family=Gaussian(structure=structure), algorithm=algorithm, random_state=0).fit(rows)
    assert_in_model(model.mixture_, structure)


@st.composite
def problems(draw):
    seed, d, k = draw(st.integers(0, 2**16)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X = (
        rng.standard_normal((60, d)) @ rng.standard_normal((d, d))
        + 3 * rng.standard_normal((4, d))[rng.integers(4, size=60)]
    )
    if draw(st.booleans()):
        X = np.round(X, 1)
    weights = rng.uniform(0.1, 3, 60) if draw(st.booleans()) else None
    labels = rng.integers(k, size=60)
    labels[:k] = np.arange(k)
    return X, weights, labels, k


@settings(max_examples=60, deadline=None)
@given(
    problems(),
    st.sampled_from(JOINT),
    st.sampled_from(["em", "sparse-em", "hard-em", "k-mle"]),
    st.sampled_from([0.0, 1e-3, 1.0]),
)
def test_the_objective_never_falls(problem, structure, algorithm, prior_strength):
    X, weights, labels, k = problem
    estimator = ExponentialFamilyMixture if "-em" in f"-{algorithm}" and algorithm != "hard-em" else KMLE
    model = estimator(
        k, family=Gaussian(structure=structure), algorithm=algorithm, init=labels, prior_strength=prior_strength
    ).fit(X, sample_weight=weights)
    objectives = np.array([step.objective for step in model.result_.history])
    assert np.isfinite(objectives).all()
    assert (np.diff(objectives) >= -1e-9 * np.maximum(1, np.abs(objectives[1:]))).all()


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(JOINT), st.integers(0, 2**16))
def test_no_estimate_is_behind_any_mixture_of_the_model(problem, structure, seed):
    """The joint estimate from anywhere in the model is at least as good as where it began."""
    X, weights, labels, k = problem
    learning = Problem(Gaussian(structure=structure).for_data(X), X, weights)
    family = learning.family
    statistics = learning.gather(labels.astype(np.int32), k)
    counts, moments = statistics.counts, statistics.moments()
    rng = np.random.default_rng(seed)
    elsewhere = rng.permutation(moments) * rng.uniform(0.9, 1.1)
    start = learning.estimates(rng.uniform(1, 5, k), 0.5 * elsewhere + 0.5 * learning.prior_moment)

    def value(natural):
        return counts @ (np.einsum("kd,kd->k", moments, natural) - family.log_normalizer(natural))

    after = value(learning.estimates(counts, moments, start))
    assert after >= value(start) - 1e-9 * abs(value(start))


@pytest.mark.parametrize("structure", JOINT)
def test_batches_of_mixtures_are_estimated_as_single_ones(rows, structure):
    learning = Problem(Gaussian(structure=structure).for_data(rows), rows)
    rng = np.random.default_rng(0)
    statistics = [learning.gather(rng.integers(3, size=len(rows)).astype(np.int32), 3) for _ in range(4)]
    counts = np.array([one.counts for one in statistics])
    moments = np.array([one.moments() for one in statistics])
    together = learning.estimates(counts, moments)
    for own_counts, own_moments, natural in zip(counts, moments, together, strict=True):
        np.testing.assert_allclose(natural, learning.estimates(own_counts, own_moments), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("structure", ["EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"])
def test_turning_and_scaling_all_rows_turns_and_scales_the_fit(rows, structure):
    """Models of volume, shape and orientation do not know the axes of the columns."""
    rng = np.random.default_rng(3)
    turn = 2.5 * np.linalg.qr(rng.standard_normal((3, 3)))[0]
    labels = np.argsort(np.argsort(rows[:, 0] + rows[:, 1])) * 3 // len(rows)
    options = {"family": Gaussian(structure=structure), "init": labels, "prior_strength": 0, "resolution": None}
    plain = ExponentialFamilyMixture(3, tol=1e-12, max_iter=3000, **options).fit(rows)
    turned = ExponentialFamilyMixture(3, tol=1e-12, max_iter=3000, **options).fit(rows @ turn + 7.0)
    expected = plain.result_.log_likelihood - len(rows) * np.log(np.abs(np.linalg.det(turn)))
    assert turned.result_.log_likelihood == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("structure", ["EEE", "EVV", "VVV"])
def test_these_models_are_equivariant_under_every_affine_map(rows, structure):
    linear = np.array([[1.0, 0.4, 0.0], [0.0, 3.0, 0.7], [0.2, 0.0, 0.2]])
    labels = np.argsort(np.argsort(rows[:, 0] + rows[:, 1])) * 3 // len(rows)
    options = {"family": Gaussian(structure=structure), "init": labels, "prior_strength": 0, "resolution": None}
    plain = ExponentialFamilyMixture(3, tol=1e-12, max_iter=3000, **options).fit(rows)
    mapped = ExponentialFamilyMixture(3, tol=1e-12, max_iter=3000, **options).fit(rows @ linear - 2.0)
    expected = plain.result_.log_likelihood - len(rows) * np.log(np.abs(np.linalg.det(linear)))
    assert mapped.result_.log_likelihood == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("structure", JOINT)
@pytest.mark.parametrize("kind", ["constant", "collinear", "rounded", "few", "equal"])
def test_degenerate_data_gives_finite_mixtures(structure, kind):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3)) + 4 * rng.integers(2, size=(40, 1))
    if kind == "constant":
        X[:, 1] = 2.5
    elif kind == "collinear":
        X[:, 2] = X[:, 0] - 2 * X[:, 1]
    elif kind == "rounded":
        X = np.round(X)
    elif kind == "few":
        X = rng.standard_normal((4, 6))
    else:
        X[:] = X[0]
    k = 1 if kind == "equal" else 2
    for algorithm, estimator in (("em", ExponentialFamilyMixture), ("k-mle", KMLE)):
        model = estimator(k, family=Gaussian(structure=structure), algorithm=algorithm, random_state=0).fit(X)
        assert np.isfinite(model.mixture_.natural).all()
        assert np.isfinite(model.score(X))
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("structure", ["EEI", "VEI", "EEE", "VEV", "EVE"])
def test_weights_count_rows(rows, structure):
    counts = np.random.default_rng(1).integers(1, 4, len(rows))
    start = np.argsort(np.argsort(rows[:, 0])) * 3 // len(rows)
    options = {"family": Gaussian(structure=structure), "prior_strength": 0, "resolution": None, "tol": 1e-12}
    weighted = ExponentialFamilyMixture(3, init=start, **options).fit(rows, sample_weight=counts)
    repeated = ExponentialFamilyMixture(3, init=np.repeat(start, counts), **options).fit(
        np.repeat(rows, counts, axis=0)
    )
    np.testing.assert_allclose(weighted.mixture_.natural, repeated.mixture_.natural, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("structure", ["EII", "VEI", "EEE", "VVE", "VEV"])
def test_streams_and_dask_learn_what_memory_learns(rows, structure):
    dask = pytest.importorskip("dask.array")
    from kmle import Batches

    start = ExponentialFamilyMixture(3, family=Gaussian(structure=structure), random_state=0).fit(rows).mixture_
    options = {"family": Gaussian(structure=structure), "init": start, "resolution": None}
    whole = KMLE(3, algorithm="hard-em", **options).fit(rows)
    chunked = KMLE(3, algorithm="hard-em", **options).fit(dask.from_array(rows, chunks=(100, 3)))
    np.testing.assert_allclose(chunked.mixture_.natural, whole.mixture_.natural, rtol=1e-6, atol=1e-6)
    streamed = KMLE(3, algorithm="hard-em", **options).fit(Batches(lambda: np.array_split(rows, 3)))
    np.testing.assert_allclose(streamed.mixture_.natural, whole.mixture_.natural, rtol=1e-6, atol=1e-6)
    assert_in_model(chunked.mixture_, structure)


def test_a_product_may_hold_one(rows):
    X = np.column_stack([rows[:, :2], np.random.default_rng(0).poisson(3, len(rows))])
    family = Product((Gaussian(structure="EEE", n_features=2), Poisson()))
    model = ExponentialFamilyMixture(3, family=family, random_state=0).fit(X)
    own = model.mixture_.source["gaussian_eee_covariance"]
    np.testing.assert_allclose(own, np.broadcast_to(own[0], own.shape), rtol=1e-8)
    assert model.mixture_.n_parameters == 3 * 2 + 3 + 3 + 2


@pytest.mark.parametrize("structure", MODELS)
def test_names_and_files(structure):
    family = Gaussian(structure=structure, n_features=3)
    assert resolve(f"gaussian-{structure.lower()}", n_features=3) == family
    assert family_from_dict(family_to_dict(family)) == family
    mixture = Mixture(
        family, np.array([1.0]), family.natural_from_moment(np.array([Problem(family, np.eye(3)).prior_moment]))
    )
    assert Mixture.from_json(mixture.to_json()) == mixture


def test_other_names_are_refused():
    with pytest.raises(ValueError, match=r"structure is 'VXV': it must be one of EII, .*, or E or V for one column"):
        Gaussian(structure="VXV")


def test_plain_gaussians_share_nothing():
    assert type(Gaussian(structure="VVV")) is Gaussian
    assert Gaussian(structure="VVV") == Gaussian()
    assert [MODELS[name].name for name in ("VII", "VVI")] == ["spherical-gaussian", "diagonal-gaussian"]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_likelihood_without_a_bound_ends_with_the_last_numbers(seed):
    """Rounded rows, no prior and no resolution: a component collapses onto a line until its shape is no number."""
    X = np.round(np.random.default_rng(1001).normal(size=(80, 2)))
    model = ExponentialFamilyMixture(
        5, family="gaussian-vev", prior_strength=0, resolution=None, n_init=1, random_state=seed
    ).fit(X)
    objectives = np.array([step.objective for step in model.result_.history])
    assert np.isfinite(model.mixture_.natural).all()
    assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[:-1])).all()
