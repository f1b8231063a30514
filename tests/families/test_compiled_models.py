"""The compiled estimates of covariance models beside their NumPy formulas."""

import numpy as np
import pytest

from kmle import _kernels as kernels
from kmle._kernels import COVARIANCE_MODELS, structured_natural
from kmle.families import Gaussian
from kmle.families.model_estimates import _by_formulas, estimates_of_models
from kmle.families.structured_gaussian import MODELS
from kmle.problem.problem import Problem

pytestmark = pytest.mark.skipif(kernels.backend() != "compiled", reason="there is no compiled module")


def statistics(d, k, mixtures, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50 * k, d)) @ rng.standard_normal((d, d)) + 2.0
    problem = Problem(Gaussian(n_features=d), X)
    found = [problem.gather(rng.integers(k, size=len(X)).astype(np.int32), k) for _ in range(mixtures)]
    return np.array([one.counts for one in found]), np.array([one.moments() for one in found])


def test_both_number_the_models_alike():
    assert tuple(MODELS) == COVARIANCE_MODELS


@pytest.mark.parametrize("structure", COVARIANCE_MODELS)
@pytest.mark.parametrize(("d", "k"), [(1, 2), (2, 3), (4, 2), (5, 1)])
def test_compiled_estimates_are_those_of_the_formulas(structure, d, k):
    counts, moments = statistics(d, k, 3, seed=10 * d + k)
    models = np.full(3, COVARIANCE_MODELS.index(structure), dtype=np.int32)
    limits = {"smallest": 1e-9, "rounding": 1e-12}
    first, safe = structured_natural(models, counts, moments, None, np.zeros(d), **limits)
    assert safe.all()
    # Turns of common axes end at an angle of 1e-6.
    rtol = 1e-5 if structure in ("EVE", "VVE") else 1e-7
    close = {"rtol": rtol, "atol": 0.1 * rtol * np.abs(first).max()}
    np.testing.assert_allclose(first, _by_formulas(structure, counts, moments, None, None), **close)
    counts, moments = statistics(d, k, 3, seed=10 * d + k + 1)
    again, safe = structured_natural(models, counts, moments, first, np.zeros(d), **limits)
    assert safe.all()
    np.testing.assert_allclose(again, _by_formulas(structure, counts, moments, first, None), **close)


def test_a_component_without_rows_takes_part_in_nothing():
    counts, moments = statistics(3, 2, 1, seed=1)
    more = np.concatenate([counts, np.zeros((1, 1))], axis=1)
    filled = np.concatenate([moments, 7 + moments[:, :1]], axis=1)
    for place in range(len(COVARIANCE_MODELS)):
        model = np.array([place], dtype=np.int32)
        with_empty = estimates_of_models(model, more, filled, None, None)
        alone = estimates_of_models(model, counts, moments, None, None)
        np.testing.assert_allclose(with_empty[:, :2], alone, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("structure", COVARIANCE_MODELS)
def test_a_component_of_one_row_is_left_to_the_formulas_unless_the_model_needs_no_more(structure):
    """Where volume and shape are shared, what all components have together is enough."""
    counts, moments = statistics(3, 2, 2, seed=2)
    flat = np.zeros(3)
    moments[1, 0, 3:] = (moments[1, 0, :3, None] * moments[1, 0, None, :3])[np.triu_indices(3)]
    model = np.full(2, COVARIANCE_MODELS.index(structure), dtype=np.int32)
    natural, safe = structured_natural(model, counts, moments, None, flat, smallest=1e-9, rounding=1e-12)
    enough = structure[0] == "E" and structure[1] != "V"
    assert safe.tolist() == [True, enough]
    if enough and structure != "EEV":  # whose axes are arbitrary there
        expected = _by_formulas(structure, counts, moments, None, None)
        np.testing.assert_allclose(natural, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert np.isfinite(estimates_of_models(model, counts, moments, None, np.full(3, 0.1))).all()


@pytest.mark.parametrize("structure", ["VEE", "VEI", "VEV", "EEV", "VII"])
def test_rows_on_a_plane_are_enough_where_the_shape_is_shared(structure):
    counts, moments = statistics(3, 2, 1, seed=4)
    plane = np.outer([1.0, 2.0, 0.5], [1.0, 2.0, 0.5]) + np.outer([2.0, -1.0, 0.0], [2.0, -1.0, 0.0])
    mean = moments[0, 0, :3]
    moments[0, 0, 3:] = (np.outer(mean, mean) + plane)[np.triu_indices(3)]
    model = np.array([COVARIANCE_MODELS.index(structure)], dtype=np.int32)
    natural, safe = structured_natural(model, counts, moments, None, np.zeros(3), smallest=1e-9, rounding=1e-12)
    assert safe.all()
    expected = _by_formulas(structure, counts, moments, None, None)
    np.testing.assert_allclose(natural, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("structure", COVARIANCE_MODELS)
@pytest.mark.parametrize("width", [0.3, 0.8, 1.5, 4.0])
def test_narrow_components_are_widened_as_the_formulas_do(structure, width):
    counts, moments = statistics(3, 2, 4, seed=3)
    spread = width * np.array([0.5, 1.0, 1.5])
    models = np.full(4, COVARIANCE_MODELS.index(structure), dtype=np.int32)
    natural, safe = structured_natural(models, counts, moments, None, spread, smallest=1e-9, rounding=1e-12)
    assert safe.all()
    expected = _by_formulas(structure, counts, moments, None, spread)
    np.testing.assert_allclose(natural, expected, atol=1e-7 * np.abs(expected).max())
