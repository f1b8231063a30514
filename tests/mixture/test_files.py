"""Mixtures as JSON: exactly what was written comes back, and nothing else is let in."""

import json

import numpy as np
import pytest

from cases import CASES, case_id
from kmle import Mixture
from kmle import families as f
from kmle.families.support import POSITIVE
from mixture.drawing import typical

GAUSSIAN = Mixture.from_source("gaussian", [0.3, 0.7], mean=[[0, 1], [2, 3]], covariance=[np.eye(2), 2 * np.eye(2)])
GOOD = GAUSSIAN.to_dict()


def refusal(text):
    """What from_json says against it: one sentence."""
    with pytest.raises(ValueError, match=r"\w") as caught:
        Mixture.from_json(text)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 1000
    return sentence


# What goes out comes back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_comes_back_to_the_last_digit(case):
    for seed in range(5):
        mixture, _ = typical(case, k=7, seed=seed)
        back = Mixture.from_json(mixture.to_json())
        assert back == mixture
        assert back.family == mixture.family
        assert back.to_json() == mixture.to_json()


@pytest.mark.parametrize(
    "family",
    [
        f.Product(
            (f.Poisson(), f.Product((f.Categorical((2, 3)), f.FixedCovarianceGaussian(((2.0, 0.6), (0.6, 0.5))))))
        ),
        f.Product((f.Gaussian(n_features=2), f.Binomial(5, n_features=2), f.Gaussian(n_features=1))),
        f.FixedCovarianceGaussian((1.0, 1 / 3)),
        f.Categorical((2, 3)),
        f.Categorical(4, n_features=2),
        f.Weibull(1 / 3, n_features=1),
    ],
    ids=lambda family: family.name,
)
def test_fixed_facts_come_back(family):
    legal = family.natural_from_moment(
        np.full((2, family.n_statistics), 0.3) if family.n_statistics < 11 else wide_moment()
    )
    mixture = Mixture(family, [1 / 3, 2 / 3], legal)
    back = Mixture.from_json(mixture.to_json())
    assert back == mixture
    assert back.family == family
    assert hash(back) == hash(mixture)


def wide_moment():
    """Two Gaussian moments, two counts, and a Gaussian of one column."""
    one = np.concatenate([[0.1, 0.2, 2.0, 0.3, 1.0], [2.0, 3.0], [0.5, 4.0]])
    return np.stack([one, one])


def test_the_format_says_what_it_is():
    content = json.loads(GAUSSIAN.to_json())
    assert (content["format"], content["version"]) == ("kmle-mixture", 2)
    assert content["family"] == {"name": "gaussian", "facts": {"n_features": 2}}


def test_a_family_of_ones_own_cannot_be_written():
    levy = f.from_functions(
        "levy",
        statistic=lambda X: 1 / X,
        log_normalizer=lambda natural: -0.5 * np.log(-2 * natural[..., 0]),
        log_carrier=lambda X: -0.5 * np.log(2 * np.pi) - 1.5 * np.log(X[:, 0]),
        support=POSITIVE,
    )
    mixture = Mixture(levy, [1.0], [[-1.0]])
    with pytest.raises(ValueError, match="is a custom family"):
        mixture.to_json()


# What must not come in ------------------------------------------------------------------------------------------------


def test_no_part_of_a_file_is_a_file():
    text = GAUSSIAN.to_json()
    for length in range(len(text)):
        assert "not JSON" in refusal(text[:length])


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", "1", '"kmle-mixture"', '{"format": "other"}', "\x00", "[" * 10**5]
)
def test_other_files_are_refused(text):
    assert "JSON" in refusal(text) or "not a kmle-mixture file" in refusal(text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 3}, "version 3; this version of kmle reads up to 2: update kmle"),
        ({"version": None}, "no version number"),
        ({"version": "1"}, "no version number"),
        ({"version": 0}, "no version number"),
        ({"version": True}, "no version number"),
        ({"natural": [[np.nan] * 5] * 2}, "not finite"),
        ({"natural": [[np.inf] * 5] * 2}, "not finite"),
        ({"natural": [[10**400] * 5] * 2}, "'natural' in the model file is not a table of numbers"),
        ({"natural": [["1"] * 5] * 2}, "'natural' in the model file is not a table of numbers"),
        ({"natural": [[True] * 5] * 2}, "'natural' in the model file is not a table of numbers"),
        ({"natural": [[None] * 5] * 2}, "'natural' in the model file is not a table of numbers"),
        ({"natural": [[1.0], [1.0, 2.0]]}, "'natural' in the model file is not a table of numbers"),
        ({"natural": {}}, "'natural' in the model file is not a table of numbers"),
        ({"natural": []}, "'natural' in the model file has the wrong shape"),
        ({"natural": [1.0, 2.0]}, "'natural' in the model file has the wrong shape"),
        ({"natural": [[[1.0]]]}, "'natural' in the model file has the wrong shape"),
        ({"natural": [[0.0, 0.0, -0.5]] * 2}, "gaussian on 2 columns has 5 natural coordinates; these have 3"),
        ({"weights": ["0.3", "0.7"]}, "'weights' in the model file is not a table of numbers"),
        ({"weights": [0.3, 0.3]}, "sum to one"),
        ({"weights": [np.nan, 1.0]}, "sum to one"),
        ({"weights": [-0.5, 1.5]}, "positive"),
        ({"weights": [1.0]}, "do not fit 2 components"),
        ({"family": None}, "names no family"),
        ({"family": {"name": ["gaussian"]}}, "names no family"),
        ({"family": {"name": "eval", "facts": {}}}, "names the family 'eval'"),
        ({"family": {"name": "gaussian"}}, "fixed parameters of the gaussian family"),
        ({"family": {"name": "gaussian", "facts": {"__class__": 1}}}, "fixed parameters of the gaussian family"),
        ({"family": {"name": "gaussian", "facts": {"n_features": 10**9}}}, "these have 5"),
        ({"family": {"name": "gaussian", "facts": {"n_features": "2"}}}, "n_features is '2'"),
        ({"family": {"name": "gaussian", "facts": {"n_features": [2]}}}, "n_features is (2,)"),
        ({"family": {"name": "binomial", "facts": {"n_features": 5}}}, "trials"),
        ({"family": {"name": "binomial", "facts": {"trials": -1, "n_features": 5}}}, "trials is -1"),
        ({"family": {"name": "binomial", "facts": {"trials": None, "n_features": 5}}}, "family in the model file"),
        ({"family": {"name": "categorical", "facts": {"n_categories": [[1, 2]]}}}, "family in the model file"),
        ({"family": {"name": "fixed-covariance-gaussian", "facts": {"covariance": -1.0}}}, "positive definite"),
        ({"family": {"name": "product", "families": []}}, "lists no families"),
        ({"family": {"name": "product", "families": [3]}}, "names no family"),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else "",
)
def test_nonsense_is_refused_in_one_sentence(changes, words):
    assert words in refusal(json.dumps({**GOOD, **changes}))


@pytest.mark.parametrize("key", ["format", "version", "family", "weights", "natural"])
def test_every_key_is_needed(key):
    content = {name: value for name, value in GOOD.items() if name != key}
    assert key in refusal(json.dumps(content))


@pytest.mark.parametrize("depth", [10, 300, 3000])
def test_families_inside_families_have_an_end(depth):
    nested = '{"name":"product","families":[' * depth + '{"name":"poisson","facts":{}}' + "]}" * depth
    text = json.dumps({**GOOD, "family": 0, "natural": [[1.0, 2.0]] * 2}).replace('"family": 0', f'"family": {nested}')
    refusal(text)


@pytest.mark.parametrize(
    ("family", "natural"),
    [
        (f.Gaussian(n_features=1), [1.0, 0.5]),
        (f.Gaussian(n_features=2), [0.0, 0.0, -0.5, 2.0, -0.5]),
        (f.DiagonalGaussian(n_features=1), [1.0, 0.5]),
        (f.SphericalGaussian(n_features=2), [1.0, 1.0, 0.5]),
        (f.LogNormal(n_features=1), [1.0, 0.5]),
        (f.Poisson(n_features=1), [1e4]),
        (f.Geometric(n_features=1), [0.5]),
        (f.NegativeBinomial(4, n_features=1), [0.5]),
        (f.Exponential(n_features=1), [1.0]),
        (f.Rayleigh(n_features=1), [1.0]),
        (f.Weibull(1.6, n_features=1), [1.0]),
        (f.Laplace(0.0, n_features=1), [1.0]),
        (f.GeneralizedGaussian(3.0, 0.0, n_features=1), [1.0]),
        (f.HalfNormal(n_features=1), [1.0]),
        (f.Maxwell(n_features=1), [1.0]),
        (f.FixedShapeGamma(2.3, n_features=1), [1.0]),
        (f.Pareto(1.5, n_features=1), [1.0]),
        (f.Gamma(n_features=1), [-1.5, -1.0]),
        (f.Gamma(n_features=1), [1.0, 1.0]),
        (f.InverseGamma(n_features=1), [0.5, -1.0]),
        (f.InverseGaussian(n_features=1), [1.0, -1.0]),
        (f.InverseGaussian(n_features=1), [-1.0, 1.0]),
        (f.InverseGaussian(n_features=1), [1.0, 1.0]),
        (f.ChiSquare(n_features=1), [-1.5]),
        (f.Beta(n_features=1), [-1.5, 1.0]),
        (f.Dirichlet(n_features=2), [-1.5, 1.0]),
        (f.Wishart(n_features=1), [1.0, 1.0]),
        (f.Wishart(n_features=1), [-1.5, -1.0]),
        (f.FixedDegreesWishart(4.5, n_features=4), [-1.0, 5.0, -1.0]),
        (f.InverseWishart(n_features=1), [-0.5, -1.0]),
        (f.FixedDegreesInverseWishart(5.5, n_features=4), [-1.0, 5.0, -1.0]),
    ],
    ids=lambda value: value.name if isinstance(value, f.ExponentialFamily) else "",
)
def test_parameters_outside_the_family_are_refused(family, natural):
    assert f"outside those of {family.name}" in refusal(Mixture(family, [1.0], [natural]).to_json())
