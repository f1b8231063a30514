"""The family guessed from what columns hold accepts them, and is the one a reader would name."""

import numpy as np
import pytest

from kmle import families as f
from kmle.io import guess_family


def uniform_angles(rng, n):
    return rng.uniform(-np.pi, np.pi, (n, 1))


def directions(rng, n):
    rows = rng.normal(size=(n, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


DATA = {
    "counts": (lambda rng, n: rng.poisson(3, (n, 2)), f.Poisson),
    "binary": (lambda rng, n: rng.integers(0, 2, (n, 3)), f.Bernoulli),
    "proportion": (lambda rng, n: rng.beta(2, 3, (n, 1)), f.Beta),
    "durations": (lambda rng, n: rng.gamma(1.0, size=(n, 2)) + 1e-3, f.Gamma),
    "real": (lambda rng, n: rng.normal(size=(n, 2)), f.Gaussian),
    "whole units": (lambda rng, n: rng.integers(9000, 30000, (n, 1)), f.Gaussian),
    "far from zero": (lambda rng, n: rng.uniform(40, 90, (n, 1)), f.Gaussian),
    "angles": (uniform_angles, f.VonMises),
    "simplex": (lambda rng, n: rng.dirichlet([1, 2, 3], n), f.Dirichlet),
    "directions": (directions, f.VonMisesFisher),
    "wide": (lambda rng, n: rng.normal(size=(n, 60)), f.DiagonalGaussian),
}


@pytest.mark.parametrize("case", DATA)
def test_a_single_kind(case):
    draw, family = DATA[case]
    X = draw(np.random.default_rng(0), 1000).astype(float)
    guess = guess_family(X)
    assert type(guess.family) is family
    guess.family.for_data(X).check(X)
    assert guess.reason


def test_names_tell_angles():
    X = np.random.default_rng(0).uniform(-1, 2, (100, 1))
    assert isinstance(guess_family(X, ["wind_direction"]).family, f.VonMises)
    assert isinstance(guess_family(X, ["speed"]).family, f.Gaussian)


def test_columns_of_different_kinds_are_a_product():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.poisson(2, 500), rng.normal(size=(500, 2)), rng.integers(0, 2, 500)])
    guess = guess_family(X, ["visits", "a", "b", "member"])
    assert [family.name for family in guess.family.families] == ["poisson", "gaussian", "bernoulli"]
    assert guess.family.widths == (1, 2, 1)
    assert guess.reason == "'visits' holds counts; 'a', 'b' hold real numbers; 'member' holds zeros and ones"
    guess.family.for_data(X).check(X)


def test_continuous_columns_of_different_kinds_keep_their_correlations():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.gamma(1.0, size=500), rng.normal(size=500)])
    assert isinstance(guess_family(X).family, f.Gaussian)
