"""Rows outside a support are refused in one sentence that names the place, the value and what is accepted."""

import re

import numpy as np
import pytest

from cases import CASES, case_id
from kmle import families as f


def exactly(sentence):
    return f"^{re.escape(sentence)}$"


# Per family: legal rows, then single values that are not legal (with how the sentence shows them), in the last row's
# last column.
VALUES = {
    f.LogNormal(): ([[1.0, 2.0]], {0.0: "0", -1.5: "-1.5"}, "numbers above 0"),
    f.Bernoulli(): ([[1, 0]], {2: "2", 0.5: "0.5", -1: "-1"}, "whole numbers from 0 to 1"),
    f.Binomial(5): ([[0, 5]], {6: "6", 1.5: "1.5", -1: "-1"}, "whole numbers from 0 to 5"),
    f.Categorical(3): ([[0, 2]], {3: "3", -1: "-1", 0.25: "0.25"}, "whole numbers from 0 to 2"),
    f.Categorical((2, 4)): ([[1, 3]], {4: "4", -1: "-1"}, "whole numbers from 0 to 1, 3 (column by column)"),
    f.Poisson(): ([[0, 3]], {-1: "-1", 2.5: "2.5"}, "whole numbers 0, 1, 2, ..."),
    f.Geometric(): ([[0, 3]], {-1: "-1", 2.5: "2.5"}, "whole numbers 0, 1, 2, ..."),
    f.NegativeBinomial(1.7): ([[0, 3]], {-1: "-1", 2.5: "2.5"}, "whole numbers 0, 1, 2, ..."),
    f.Exponential(): ([[0.0, 3.0]], {-0.25: "-0.25"}, "numbers at least 0"),
    f.Rayleigh(): ([[1.0, 3.0]], {0.0: "0", -0.25: "-0.25"}, "numbers above 0"),
    f.Weibull(2.0): ([[1.0, 3.0]], {0.0: "0", -0.25: "-0.25"}, "numbers above 0"),
    f.HalfNormal(): ([[0.0, 3.0]], {-0.25: "-0.25"}, "numbers at least 0"),
    f.Maxwell(): ([[1.0, 3.0]], {0.0: "0", -0.25: "-0.25"}, "numbers above 0"),
    f.Gamma(): ([[1.0, 3.0]], {0.0: "0", -0.25: "-0.25"}, "numbers above 0"),
    f.FixedShapeGamma(2.0): ([[1.0, 3.0]], {0.0: "0", -0.25: "-0.25"}, "numbers above 0"),
    f.InverseGamma(): ([[1.0, 3.0]], {0.0: "0", -0.25: "-0.25"}, "numbers above 0"),
    f.InverseGaussian(): ([[1.0, 3.0]], {0.0: "0", -0.25: "-0.25"}, "numbers above 0"),
    f.ChiSquare(): ([[1.0, 3.0]], {0.0: "0", -0.25: "-0.25"}, "numbers above 0"),
    f.Pareto(2.5): ([[2.5, 3.0]], {2.0: "2"}, "numbers at least 2.5"),
    f.ZeroTruncatedPoisson(): ([[1, 3]], {0.0: "0", 1.5: "1.5", -1.0: "-1"}, "whole numbers 1, 2, 3, ..."),
    f.Beta(): ([[0.1, 0.9]], {0.0: "0", 1.0: "1", 1.5: "1.5", -0.25: "-0.25"}, "numbers above 0 and below 1"),
}


@pytest.mark.parametrize("family", VALUES, ids=lambda family: family.name)
def test_single_values(family):
    legal, outsiders, accepted = VALUES[family]
    rows = np.array(legal * 3, dtype=float)
    assert family.for_data(rows).check(rows).shape == (3, 2)
    for value, shown in outsiders.items():
        wrong = rows.copy()
        wrong[2, 1] = value
        sentence = f"row 2, column 1 holds {shown}; {family.name} accepts {accepted}"
        for attempt in (family.mle, family.for_data(rows).check):
            with pytest.raises(ValueError, match=exactly(sentence)):
                attempt(wrong)
        with pytest.raises(ValueError, match="row 2, column 'width' holds"):
            family.for_data(rows).check(wrong, columns=["height", "width"])


ROWS = {
    f.Dirichlet(): ([[0.2, 0.8]], [[0.5, 0.6], [0.0, 1.0], [-0.5, 1.5]], "proportions that sum to one"),
    f.VonMisesFisher(): ([[0.6, 0.8]], [[0.6, 0.9], [0.0, 0.0]], "rows of length one"),
    f.Multinomial(): ([[1, 3]], [[0, 0], [-1, 5], [0.5, 3.5]], "rows of counts"),
    f.Multinomial(4): ([[1, 3]], [[1, 2], [-1, 5]], "that sum to 4"),
    f.Wishart(): ([[2, 1, 1, 2]], [[1, 2, 2, 1], [1, 0.5, 0, 1], [0, 0, 0, 0]], "symmetric positive definite"),
    f.FixedDegreesWishart(4.0): ([[2, 1, 1, 2]], [[1, 2, 2, 1], [1, 0.5, 0, 1]], "symmetric positive definite"),
    f.InverseWishart(): ([[2, 1, 1, 2]], [[1, 2, 2, 1], [1, 0.5, 0, 1]], "symmetric positive definite"),
    f.FixedDegreesInverseWishart(4.0): ([[2, 1, 1, 2]], [[1, 2, 2, 1]], "symmetric positive definite"),
}


@pytest.mark.parametrize("family", ROWS, ids=lambda family: family.name)
def test_whole_rows(family):
    legal, outsiders, accepted = ROWS[family]
    rows = np.array(legal * 3, dtype=float)
    assert len(family.for_data(rows).check(rows)) == 3
    for row in outsiders:
        wrong = rows.copy()
        wrong[1] = row
        with pytest.raises(ValueError, match="row 1 holds") as error:
            family.mle(wrong)
        shown = "[" + ", ".join(f"{value:.4g}" for value in row) + "]"
        assert str(error.value).startswith(f"row 1 holds {shown}; {family.name} accepts ")
        assert accepted in str(error.value)


def test_every_family_with_a_limited_support_is_tried():
    unlimited = {"gaussian", "diagonal-gaussian", "spherical-gaussian", "fixed-covariance-gaussian", "von-mises"}
    unlimited |= {"laplace", "generalized-gaussian", "student-t"}
    tried = {family.name for family in (*VALUES, *ROWS)}
    assert tried | unlimited | {"product"} == set(f.FAMILIES)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_gaps_and_infinities_are_named(case):
    rows = case.sample(case.naturals(1, 0)[0], 4)
    last = rows.shape[1] - 1
    for value, words in ((np.nan, "missing (NaN)"), (np.inf, "infinite"), (-np.inf, "infinite")):
        wrong = rows.copy()
        wrong[3, last] = value
        for attempt in (case.family.mle, case.family.check):
            sentence = f"row 3, column {last} is {words}: drop the row or fill in a value first"
            with pytest.raises(ValueError, match=exactly(sentence)):
                attempt(wrong)
    wrong = rows.copy()
    wrong[0, 0], wrong[1, 0] = np.inf, -np.inf
    with pytest.raises(ValueError, match="row 0, column 0 is infinite"):
        case.family.check(wrong)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_wrong_shapes_are_named(case):
    rows = case.sample(case.naturals(1, 0)[0], 4)
    name, width = case.family.name, rows.shape[1]
    with pytest.raises(ValueError, match=f"{width} columns"):
        case.family.check(np.hstack([rows, rows]))
    with pytest.raises(ValueError, match=f"{name} takes rows and columns, a 2-D array; this one has 4 dimensions"):
        case.family.check(np.zeros((2, 2, 2, 2)))
    with pytest.raises(ValueError, match="there are no rows"):
        case.family.check(rows[:0])
    with pytest.raises(ValueError, match="there are no columns"):
        case.family.check(rows[:, :0])


def test_three_dimensions_are_for_matrices():
    assert f.Wishart().mle(np.stack([np.eye(2), 2 * np.eye(2)])).family.n_features == 4
    with pytest.raises(ValueError, match="this one has 3 dimensions"):
        f.Poisson().mle(np.ones((2, 2, 2)))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([["1.5", "many"]], "row 0, column 1 holds 'many', which is not a number: encode or drop it"),
        (["a", "b"], "row 0 holds 'a', which is not a number"),
        (np.array([[1.0], ["x"]], dtype=object), "row 1, column 0 holds 'x', which is not a number"),
        ("abc", "the data holds 'abc', which is not a number"),
        ([[1.0], [2.0, 3.0]], "the rows have different lengths"),
        ([[1 + 2j]], "the data is complex"),
        (None, "this one has 0 dimensions"),
    ],
)
def test_things_that_are_no_table_of_numbers(data, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        f.Poisson().mle(data)


def test_numbers_in_any_container_are_welcome():
    expected = f.Poisson().mle([[1], [2], [6]]).natural
    for data in (
        [1, 2, 6],
        np.array([1, 2, 6], dtype=np.uint8),
        [["1"], ["2"], ["6"]],
        (True, 2, 6),
        [[1.0], [2], [6]],
    ):
        np.testing.assert_array_equal(f.Poisson().mle(data).natural, expected)


def test_the_largest_floats_are_numbers_too():
    """Sums that overflow do not make them infinite; they are too large for the family's statistics, though."""
    assert f.Pareto(1.0, n_features=1).check([[1.7e308], [1.7e308]]).shape == (2, 1)
    with pytest.raises(ValueError, match=r"column 0 holds 1.7e\+308: products of such numbers overflow in laplace"):
        f.Laplace(n_features=1).check([[1.7e308], [1.7e308]])


def test_rounding_is_forgiven():
    tiny = 1e-8
    assert len(f.Dirichlet().mle([[0.3, 0.7 + tiny], [0.6, 0.4], [0.5, 0.5]]).natural) == 1
    assert len(f.VonMisesFisher().mle([[0.6, 0.8 + tiny], [1.0, 0.0]]).natural) == 1
    assert len(f.Wishart().mle([[2.0, 1.0, 1.0 + tiny, 2.0], [1.0, 0.0, 0.0, 1.0]]).natural) == 1


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0], r"sample_weight has shape (1,); one weight per row is needed, shape (3,)"),
        ([1.0, -2.0, 1.0], "sample_weight[1] is -2: weights must be finite and not negative"),
        ([1.0, np.nan, 1.0], "sample_weight[1] is nan: weights must be finite and not negative"),
        ([0.0, 0.0, 0.0], "all sample weights are zero: at least one must be positive"),
    ],
)
def test_weights(weights, sentence):
    with pytest.raises(ValueError, match=exactly(sentence)):
        f.Poisson().mle([[1], [2], [3]], weights)
