"""The family guessed from what columns hold accepts them, and is the one a reader would name."""

import numpy as np
import pytest

from kmle import families as f
from kmle.data.guess import constant_columns, guess_family, index_columns, two_valued_columns


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
    z = rng.normal(size=500)
    X = np.column_stack([np.exp(0.8 * z) + 0.01 * rng.random(500), z])
    assert isinstance(guess_family(X).family, f.Gaussian)


# Doubts ---------------------------------------------------------------------------------------------------------------


def test_counts_that_are_not_poisson():
    rng = np.random.default_rng(0)
    huge = rng.poisson(4000, (200, 1)).astype(float)
    huge[0] = 3
    assert "too large for Poisson counts" in guess_family(huge, ["n"]).reason
    spread = rng.negative_binomial(1, 0.005, (200, 1)).astype(float)
    assert "vary far more than Poisson counts" in guess_family(spread, ["n"]).reason
    for X in (huge, spread):
        assert "poisson" not in guess_family(X).family.name
    mixture = np.concatenate([rng.poisson(3, (100, 1)), rng.poisson(40, (100, 1))]).astype(float)
    assert isinstance(guess_family(mixture).family, f.Poisson)


def household(rng, n=40, zeros=False):
    """Amounts in whole units of two kinds of households."""
    scale = np.where(rng.integers(0, 2, n)[:, None], [180, 60, 70, 110], [70, 30, 15, 40])
    amounts = np.round(rng.gamma([8, 6, 4, 5], 1.0, (n, 4)) * scale)
    if zeros:
        amounts[::9, 2] = 0
    return amounts


@pytest.mark.parametrize("zeros", [False, True])
def test_amounts_are_not_counts(zeros):
    for seed in range(10):
        X = household(np.random.default_rng(seed), zeros=zeros)
        guess = guess_family(X, ["housing", "food", "goods", "service"])
        assert guess.family.name in ("gamma", "diagonal-gaussian", "gaussian", "product")
        assert "poisson" not in str(guess.family).lower()
        guess.family.for_data(X).check(X)


def test_few_rows_are_no_matter_to_one_column():
    X = np.random.default_rng(0).normal(size=(4, 1))
    assert isinstance(guess_family(X).family, f.Gaussian)
    assert "too few" not in guess_family(X).reason
    assert (
        "6 rows are too few for full covariances" in guess_family(np.random.default_rng(0).normal(size=(6, 3))).reason
    )


def test_positive_columns_stay_positive_where_correlations_cannot_be_kept():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.gamma(1.0, size=20) + 0.01, rng.uniform(40, 90, 20), rng.gamma(1.0, size=20) + 0.01])
    assert isinstance(guess_family(X).family, f.Gamma)
    assert "treated together as positive numbers" in guess_family(X).reason


def test_categories_are_categorical():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 100), rng.normal(size=100), rng.integers(0, 2, 100)]).astype(float)
    guess = guess_family(X, ["kind", "x", "side"], {"kind": ("a", "b", "c"), "side": ("l", "r")})
    assert [family.name for family in guess.family.families] == ["categorical", "gaussian", "categorical"]
    assert [guess.family.families[place].n_categories for place in (0, 2)] == [3, 2]
    assert "'kind', 'side' hold categories" in guess.reason
    guess.family.for_data(X).check(X)


def test_columns_that_number_the_rows():
    rng = np.random.default_rng(0)
    n = 30
    X = np.column_stack(
        [np.arange(n), 1 + np.arange(n), rng.permutation(10 * n)[:n], rng.normal(size=n), rng.poisson(3, n)]
    )
    assert index_columns(X, ["a", "b", "customer_id", "x", "n"]) == ["a", "b", "customer_id"]
    assert index_columns(X, ["a", "b", "CustomerID", "x", "n"]) == ["a", "b", "CustomerID"]
    assert index_columns(X, ["a", "b", "size", "x", "paid"]) == ["a", "b"]
    assert index_columns(X[:, 3:], ["id", "row"]) == []  # not whole, not different
    assert index_columns(X[:, :1], ["a"]) == []  # what else is there to learn from
    assert index_columns(X[:3], ["a", "b", "id", "x", "n"]) == []


def test_constant_columns():
    X = np.array([[1.0, 2.0, 3.0], [1.0, 2.5, 3.0]])
    assert constant_columns(X, ["a", "b", "c"]) == ["a", "c"]
    assert constant_columns(X[:1], ["a", "b", "c"]) == []


def test_rounded_proportions_are_named_with_the_remedy():
    rng = np.random.default_rng(8)
    shares = rng.dirichlet([0.2, 4, 3], 200)
    for rows, total in ((shares.round(3), "1"), (100 * shares.round(3), "100"), ((100 * shares).round(), "100")):
        assert f"rows sum to about {total}, as proportions do" in guess_family(rows).reason
    others = (
        shares + 0.01,
        rng.multinomial(100, [0.2, 0.3, 0.5], 200),
        rng.integers(0, 2, (200, 2)),
        rng.random((9, 3)),
    )
    for rows in others:
        assert "proportions do" not in guess_family(rows).reason


@pytest.mark.parametrize(("skewed", "family"), [("lognormal", f.LogNormal), ("exponential", f.Gamma)])
def test_skewed_columns_that_others_say_little_of_are_taken_alone(skewed, family):
    rng = np.random.default_rng(0)
    amount = np.exp(rng.normal(8, 1, 300)) if skewed == "lognormal" else rng.exponential(20, 300) + 0.01
    X = np.column_stack([rng.normal(size=300), rng.normal(size=300), amount, np.full(300, 7.5)])
    guess = guess_family(X, ["a", "b", "amount", "same"])
    assert [type(part) for part in guess.family.families] == [f.Gaussian, family, f.Gaussian]
    assert "'amount' is skewed and does not join the others" in guess.reason
    # Nearly symmetric ones stay with the others.
    near = np.column_stack([X[:, :2], 10 + 1.9 * rng.normal(size=300)])
    assert near.min(axis=0)[2] > 0
    assert isinstance(guess_family(near).family, f.Gaussian)


def test_columns_of_two_whole_numbers_are_found():
    rng = np.random.default_rng(0)
    sex, flag, ages = rng.integers(1, 3, 50), rng.integers(0, 2, 50), rng.integers(20, 60, 50)
    X = np.column_stack([sex, flag, ages, np.where(sex == 1, np.nan, 3.0)]).astype(float)
    assert two_valued_columns(X, ["sex", "flag", "age", "one"]) == ["sex"]
