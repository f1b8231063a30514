"""Mixtures to other libraries and back: scikit-learn, ONNX, JSON, arrays of other libraries."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

import cases
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle import families as f
from kmle.io import to_onnx, write_onnx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3)) @ RNG.normal(size=(3, 3)) + np.repeat([[0.0], [6.0], [12.0]], 80, axis=0)


@pytest.mark.parametrize("Model", [GaussianMixture, BayesianGaussianMixture])
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_gaussian_mixtures_of_scikit_learn(Model, kind):
    theirs = Model(n_components=3, covariance_type=kind, random_state=0).fit(X)
    ours = Mixture.from_sklearn(theirs)
    if Model is GaussianMixture:  # the Bayesian one scores by the posterior of its parameters
        np.testing.assert_allclose(ours.log_density(X), theirs.score_samples(X), rtol=1e-10)
        np.testing.assert_allclose(ours.posterior(X), theirs.predict_proba(X), atol=1e-10)
    back = ours.to_sklearn()
    assert back.covariance_type == kind
    np.testing.assert_allclose(back.score_samples(X), ours.log_density(X), rtol=1e-10)
    np.testing.assert_allclose(back.means_, theirs.means_, rtol=1e-10)
    np.testing.assert_allclose(back.covariances_, theirs.covariances_, rtol=1e-8)
    np.testing.assert_allclose(back.precisions_, theirs.precisions_, rtol=1e-7)
    assert back.sample(5)[0].shape == (5, 3)


def test_k_means_of_scikit_learn():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    theirs = KMeans(3, random_state=0, n_init=3).fit(frame)
    ours = Mixture.from_sklearn(theirs)
    assert ours.columns == ("a", "b", "c")
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(frame))
    assert ours.covariance()[0, 0] > 0
    back = ours.to_sklearn()
    assert isinstance(back, KMeans)
    np.testing.assert_array_equal(back.predict(X), theirs.labels_)


def test_what_scikit_learn_does_not_have_is_refused():
    with pytest.raises(ValueError, match="no mixtures of poisson"):
        Mixture.from_source("poisson", [1.0], rate=[1.0]).to_sklearn()
    with pytest.raises(ValueError, match="LinearRegression is not a mixture"):
        Mixture.from_sklearn(LinearRegression())
    with pytest.raises(ValueError, match="not fitted"):
        Mixture.from_sklearn(GaussianMixture())


# ONNX -----------------------------------------------------------------------------------------------------------------

EXPORTED = [case for case in cases.CASES if not case.id.startswith(("wishart", "inverse-wishart"))]


def outputs(model, rows):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return dict(zip((out.name for out in session.get_outputs()), session.run(None, {"X": rows}), strict=True))


@pytest.mark.parametrize("case", EXPORTED, ids=cases.case_id)
def test_onnx_scores_as_the_mixture_does(case):
    mixture = Mixture(case.family, [0.2, 0.3, 0.5], case.naturals(3, 1))
    rows = mixture.sample(300, 0)
    found = outputs(to_onnx(mixture).SerializeToString(), rows)
    np.testing.assert_allclose(found["log_density"], mixture.log_density(rows), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["probabilities"], mixture.posterior(rows), atol=1e-9)
    sure = mixture.posterior(rows).max(axis=1) > 0.5 + 1e-6
    np.testing.assert_array_equal(found["label"][sure], mixture.predict(rows)[sure])


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian", "gaussian-eee"])
def test_a_fitted_model_far_from_zero_through_a_file(family, tmp_path):
    rows = X + 1e5
    model = ExponentialFamilyMixture(3, family=family, random_state=0).fit(rows)
    write_onnx(tmp_path / "model.onnx", model.mixture_)
    found = outputs(str(tmp_path / "model.onnx"), rows)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-6)
    np.testing.assert_allclose(found["log_density"], model.score_samples(rows), rtol=1e-6)


@pytest.mark.parametrize("family", ["student-t", "weibull", "negative-binomial", "laplace", ["gaussian", "student-t"]])
def test_onnx_of_estimated_shapes_and_of_different_families(family):
    rows = np.round(np.exp(X / X.std()) * 3) + (0 if family == "negative-binomial" else 0.1)
    several = 2 if isinstance(family, str) else 1
    mixture = ExponentialFamilyMixture(several, family=family, n_init=1, random_state=0).fit(rows).mixture_
    found = outputs(to_onnx(mixture).SerializeToString(), rows)
    np.testing.assert_allclose(found["log_density"], mixture.log_density(rows), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found["probabilities"], mixture.posterior(rows), atol=1e-6)


def test_onnx_in_single_precision():
    mixture = ExponentialFamilyMixture(3, random_state=0).fit(X).mixture_
    rows = X.astype(np.float32)
    found = outputs(to_onnx(mixture, "float32").SerializeToString(), rows)
    assert {found["log_density"].dtype, found["probabilities"].dtype} == {np.dtype(np.float32)}
    np.testing.assert_allclose(found["log_density"], mixture.log_density(rows), rtol=1e-6)
    with pytest.raises(ValueError, match="dtype is 'int8'"):
        to_onnx(mixture, "int8")


@dataclass(frozen=True)
class Faulty(f.Poisson):
    """A family of somebody's own, with an error in its formulas."""

    def sufficient_statistic(self, X):
        return X + self.missing


def test_an_error_in_a_formula_is_not_hidden():
    with pytest.raises(AttributeError, match="'Faulty' object has no attribute 'missing'"):
        to_onnx(Mixture(Faulty(n_features=1), [1.0], [[0.5]]))


def test_matrices_have_no_onnx_export():
    case = cases.BY_ID["wishart-2"]
    with pytest.raises(ValueError, match="wishart has no ONNX export"):
        to_onnx(Mixture(case.family, [1.0], case.naturals(1, 0)))


# Files ----------------------------------------------------------------------------------------------------------------

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "model-file.schema.json").read_text())


@pytest.mark.parametrize("case", cases.CASES, ids=cases.case_id)
def test_a_saved_mixture_is_the_one_that_is_loaded(case, tmp_path):
    mixture = Mixture(case.family, [0.25, 0.75], case.naturals(2, 0))
    names = [f"column {place}" for place in range(case.family.n_features)]
    mixture.with_columns(names).save(tmp_path / "model.json")
    back = Mixture.load(tmp_path / "model.json")
    assert back == mixture
    assert back.columns == tuple(names)
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    follows(json.loads((tmp_path / "model.json").read_text()), SCHEMA)


def test_components_of_different_families_follow_the_schema():
    members = [f.Gaussian(n_features=1).member(mean=[0.0], covariance=[1.0]), f.Laplace(2.0).member(scale=[1.0])]
    follows(Mixture.from_members([0.5, 0.5], members).to_dict(), SCHEMA)


def follows(content, schema):
    """Checks the keywords of JSON schema that ours uses."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "const" in schema:
        assert content == schema["const"]
        return
    kinds = {"object": dict, "array": list, "string": str, "number": int | float, "integer": int}
    assert isinstance(content, kinds[schema["type"]])
    if schema["type"] == "object":
        assert set(schema.get("required", ())) <= set(content)
        for name, value in content.items():
            assert "properties" not in schema or name in schema["properties"]
            if name in schema.get("properties", ()):
                follows(value, schema["properties"][name])
    if schema["type"] == "array":
        assert len(content) >= schema.get("minItems", 0)
        for value in content:
            follows(value, schema["items"])
    if schema["type"] in ("number", "integer"):
        assert content >= schema.get("minimum", -np.inf)


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ValueError, match=r"bad\.json: the model file is not JSON"):
        Mixture.load(tmp_path / "bad.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not UTF-8"):
        Mixture.load(tmp_path / "bytes.json")


# Arrays of other libraries --------------------------------------------------------------------------------------------


class OtherArray:
    """An array as torch and JAX have it in the memory of the CPU."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class DeviceArray(OtherArray):
    """An array on a graphics card, as CuPy has it."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __dlpack__(self, **options):
        raise BufferError("the device is not supported")


class SharedArray(DeviceArray):
    """An array that only DLPack reads."""

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)


@pytest.mark.parametrize("Kind", [OtherArray, SharedArray])
def test_arrays_in_memory_are_read(Kind):
    plain = KMLE(3, random_state=0).fit(X)
    other = KMLE(3, random_state=0).fit(Kind(X))
    assert other.mixture_ == plain.mixture_
    np.testing.assert_array_equal(other.predict(Kind(X)), plain.labels_)
    np.testing.assert_array_equal(plain.mixture_.log_density(Kind(X)), plain.mixture_.log_density(X))


def test_arrays_on_other_devices_are_refused():
    with pytest.raises(ValueError, match="in the memory of the CPU"):
        KMLE(3).fit(DeviceArray(X))
    with pytest.raises(ValueError, match="in the memory of the CPU"):
        Mixture.from_source("gaussian", [1.0], mean=[[0.0, 0.0, 0.0]], covariance=[np.eye(3)]).predict(DeviceArray(X))
