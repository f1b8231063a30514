"""A mixture is a value: it never changes, equals what it equals, and shows itself in one line."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from cases import CASES, case_id
from kmle import Mixture
from kmle import families as f
from mixture.drawing import typical

POISSON = Mixture.from_source("poisson", [0.25, 0.75], rate=[1.0, 8.0])


# It never changes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["family", "weights", "natural"])
def test_no_part_can_be_replaced(name):
    with pytest.raises(FrozenInstanceError):
        setattr(POISSON, name, getattr(POISSON, name))


@pytest.mark.parametrize(
    "same",
    [POISSON, pickle.loads(pickle.dumps(POISSON)), copy.deepcopy(POISSON), Mixture.from_json(POISSON.to_json())],
    ids=["itself", "pickled", "copied", "read"],
)
def test_no_number_can_be_overwritten(same):
    for array in (same.weights, same.natural):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.5


def test_the_arrays_it_was_made_of_stay_with_their_owner():
    weights, natural = np.array([0.5, 0.5]), np.array([[0.0], [1.0]])
    mixture = Mixture(f.Poisson(n_features=1), weights, natural)
    weights[0], natural[0] = 0.9, 7.0
    assert mixture.weights.tolist() == [0.5, 0.5]
    assert mixture.natural.tolist() == [[0.0], [1.0]]


# Making and reading ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_usual_parameters_in_and_out(case):
    mixture, points = typical(case)
    source = case.sources_at(points)
    again = Mixture.from_source(case.family, mixture.weights, **source)
    assert again.family == case.family
    assert list(again.source) == list(source)
    for name, value in source.items():
        np.testing.assert_allclose(again.source[name], value, rtol=1e-8, atol=1e-8)


def test_a_family_learns_its_columns_from_the_parameters():
    covariance = [np.eye(2), 2 * np.eye(2)]
    mixture = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[0, 0], [1, 1]], covariance=covariance)
    assert mixture.family == f.Gaussian(n_features=2)
    assert Mixture(f.Gaussian(), mixture.weights, mixture.natural) == mixture
    # Two means and two matrices of three free entries each, and one free weight.
    assert mixture.n_parameters == 2 * (2 + 3) + 1


@pytest.mark.parametrize(
    ("family", "source", "free"),
    [
        ("poisson", {"rate": [1.0, 2.0]}, 2 + 1),
        (f.Categorical((2, 3)), {"probabilities": [[0.5, 0.5, 0.2, 0.3, 0.5]] * 2}, 2 * (1 + 2) + 1),
        ("multinomial", {"probabilities": [[0.2, 0.3, 0.5]] * 2}, 2 * 2 + 1),
        ("dirichlet", {"concentration": [[1.0, 2.0, 3.0]] * 2}, 2 * 3 + 1),
    ],
)
def test_free_parameters_are_those_a_textbook_counts(family, source, free):
    assert Mixture.from_source(family, [0.5, 0.5], **source).n_parameters == free


@pytest.mark.parametrize(
    ("weights", "natural", "words"),
    [
        ([0.5, 0.6], [[0.0], [1.0]], "sum to one; their sum is 1.1"),
        ([1.5, -0.5], [[0.0], [1.0]], "must be positive"),
        ([0.5, np.nan], [[0.0], [1.0]], "must be positive"),
        ([1.0], [[0.0], [1.0]], "do not fit 2 components"),
        ([], np.empty((0, 1)), "do not fit 0 components"),
        ([[1.0]], [[0.0]], "do not fit 1 components"),
        ([1.0], [[np.inf]], "not finite"),
        ([1.0], [[0.0, 1.0]], "1 natural coordinates; these have 2"),
    ],
)
def test_nonsense_is_refused(weights, natural, words):
    with pytest.raises(ValueError, match=words):
        Mixture(f.Poisson(n_features=1), weights, natural)


# Equality and words ---------------------------------------------------------------------------------------------------


def test_equal_means_equal_in_every_part():
    same = Mixture.from_source("poisson", [0.25, 0.75], rate=[1.0, 8.0])
    assert same == POISSON
    assert hash(same) == hash(POISSON)
    assert len({same, POISSON}) == 1
    others = [
        Mixture.from_source("poisson", [0.5, 0.5], rate=[1.0, 8.0]),
        Mixture.from_source("poisson", [0.25, 0.75], rate=[1.0, np.nextafter(8.0, 9.0)]),
        Mixture.from_source("poisson", [0.75, 0.25], rate=[8.0, 1.0]),
        Mixture(f.Geometric(n_features=1), POISSON.weights, POISSON.natural - 5),
    ]
    assert all(other != POISSON for other in others)
    assert POISSON != "poisson"


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_it_shows_itself_in_one_line(case):
    for k in (1, 3, 40):
        shown = repr(typical(case, k)[0])
        assert "\n" not in shown
        assert shown.startswith(f"Mixture of {k} {case.family.name}: weights=")
        assert len(shown) < 2000
        assert all(f"{name}=" in shown for name in case.family.parameters)


def test_tiny_parameters_are_not_shown_as_zero():
    small = Mixture.from_source("diagonal-gaussian", [1.0], mean=[[2.0]], variance=[[3.14159e-9]])
    assert "mean=[[2.0]], variance=[[3.142e-09]]" in repr(small)
    wide = Mixture.from_source("diagonal-gaussian", [1.0], mean=np.full((1, 9), 0.5), variance=np.full((1, 9), 2e-9))
    assert "2e-09 2e-09" in repr(wide)
