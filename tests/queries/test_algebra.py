"""Marginals, conditionals, combinations and affine maps against the chain rule, quadrature and draws."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from kmle import Mixture
from kmle import families as f
from queries.mixtures import SEVERAL, mixture_of

NAMES = ("a", "b", "c", "d")


def known_of(mixture, row, columns):
    return {column: row[column] for column in columns}


def open_rows(family, rows, columns):
    """The other columns as the conditional holds them: of proportions, the shares in what is left."""
    rest = [column for column in range(4) if column not in columns]
    if isinstance(family, f.Dirichlet):
        return rows[:, rest] / rows[:, rest].sum(axis=1, keepdims=True)
    return rows[:, rest]


@pytest.mark.parametrize("name", [name for name in SEVERAL if name != "product-of-proportions"])
@pytest.mark.parametrize("columns", [(0,), (3, 1), (0, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_joint_density_is_marginal_times_conditional(name, columns, seed):
    mixture = mixture_of(name, seed)
    for row in mixture.sample(5, seed):
        if name == "multinomial" and row[list(columns)].sum() == 7:
            continue
        conditional = mixture.condition(known_of(mixture, row, columns))
        given = mixture.marginal(sorted(columns))
        values = row[sorted(columns)]
        if given.family.n_features != len(columns):
            values = np.append(values, row.sum() - values.sum())
        left = open_rows(mixture.family, row[None], columns)
        # Shares are proportions divided by their sum, which changes the volume.
        volume = (left.shape[1] - 1) * np.log(1 - row[list(columns)].sum()) if name == "dirichlet" else 0.0
        chained = given.log_density(values[None]) + conditional.log_density(left) - volume
        np.testing.assert_allclose(chained, mixture.log_density(row[None]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "fixed-covariance", "diagonal-gaussian", "spherical-gaussian"])
def test_marginals_of_gaussians_are_scipys(name):
    mixture = mixture_of(name)
    columns = [3, 1]
    rows = mixture.sample(50, 1)[:, columns]
    expected = np.zeros(len(rows))
    for weight, theta in zip(mixture.weights, mixture.natural, strict=True):
        one = Mixture(mixture.family, [1.0], theta[None])
        law = stats.multivariate_normal(one.mean()[columns], one.covariance()[np.ix_(columns, columns)])
        expected += weight * law.pdf(rows)
    np.testing.assert_allclose(np.exp(mixture.marginal(columns).log_density(rows)), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["multinomial", "categorical"])
@pytest.mark.parametrize("columns", [(1,), (2, 0)])
def test_marginals_of_counts_are_sums_over_the_other_columns(name, columns):
    mixture = mixture_of(name)
    levels = [8] * 4 if name == "multinomial" else [2, 3, 4, 2]
    rows = np.stack(np.meshgrid(*map(np.arange, levels), indexing="ij"), axis=-1).reshape(-1, 4).astype(float)
    rows = rows[rows.sum(axis=1) == 7] if name == "multinomial" else rows
    mass = np.exp(mixture.log_density(rows))
    assert mass.sum() == pytest.approx(1)
    part = mixture.marginal(columns)
    for value in np.unique(rows[:, list(columns)], axis=0):
        expected = mass[(rows[:, list(columns)] == value).all(axis=1)].sum()
        row = value if part.family.n_features == len(columns) else np.append(value, 7 - value.sum())
        assert np.exp(part.log_density(row[None])[0]) == pytest.approx(expected, rel=1e-10)


def test_a_marginal_of_proportions_is_the_integral_over_the_others():
    mixture = mixture_of("dirichlet").marginal([0, 1])  # two columns and their rest
    assert mixture.family == f.Dirichlet(n_features=3)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    for first in (0.1, 0.45):
        second = 0.5 * (1 - first) * (nodes + 1)
        rows = np.stack([np.full_like(second, first), second, 1 - first - second], axis=1)
        total = 0.5 * (1 - first) * weights @ np.exp(mixture.log_density(rows))
        assert total == pytest.approx(np.exp(mixture_of("dirichlet").marginal(0).log_density([[first]])[0]), rel=1e-5)


@pytest.mark.parametrize("name", [name for name in SEVERAL if name not in ("dirichlet", "multinomial")])
def test_a_marginal_of_the_conditional_is_the_conditional_of_the_marginal(name):
    mixture = mixture_of(name).with_columns(NAMES)
    row = mixture.sample(1, 0)[0]
    if name == "product-of-proportions":
        one, other = mixture.condition({"a": row[0]}), mixture.marginal(["a", "b", "c"]).condition({0: row[0]})
        one, X = one.marginal(["b", "c"]), np.array([[0.2, 0.3, 0.5]])
    else:
        one = mixture.condition({"b": row[1]}).marginal(["c", "a"])
        other = mixture.marginal(["c", "b", "a"] if "product" not in name else ["b", "c", "a"]).condition({"b": row[1]})
        X = row[None, [2, 0]]
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)
    np.testing.assert_allclose(one.log_density(X), other.log_density(X), rtol=1e-9)
    assert one.columns == other.columns


@pytest.mark.parametrize(
    "name",
    ["gaussian", "fixed-covariance", "student-t", "poisson", "multinomial", "product", "categorical", "families"],
)
def test_many_rows_at_once_are_each_row_by_itself(name):
    mixture = mixture_of(name).with_columns(NAMES)
    rows = mixture.sample(7, 3)
    if name == "multinomial":
        rows = rows[rows[:, 0] + rows[:, 2] < 7]
    many = mixture.condition({"a": rows[:, 0], "c": rows[:, 2]})
    singles = [mixture.condition({"a": row[0], "c": row[2]}) for row in rows]
    assert len(many) == len(rows) > 2
    np.testing.assert_allclose(many.weights, [one.weights for one in singles], rtol=1e-9)
    np.testing.assert_allclose(many[-1].natural, singles[-1].natural, rtol=1e-9)
    rest = rows[:, [1, 3]]
    expected = [one.log_density(rest[[place]])[0] for place, one in enumerate(singles)]
    np.testing.assert_allclose(many.log_density(rest), expected, rtol=1e-9)
    if name != "categorical":
        np.testing.assert_allclose(many.mean(), [one.mean() for one in singles], rtol=1e-9)
        np.testing.assert_allclose(many.covariance(), [one.covariance() for one in singles], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(many.std() ** 2, [np.diag(one.covariance()) for one in singles], rtol=1e-9)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_blocks_of_rows_on_threads_are_the_rows_by_themselves(columns):
    """More components than known columns, equally many, and fewer: the mean has a form for each."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(2, 6, 6))
    covariance = factors @ np.swapaxes(factors, 1, 2) + np.eye(6)
    mixture = Mixture.from_source("gaussian", [0.3, 0.7], mean=rng.normal(size=(2, 6)), covariance=covariance)
    rows = mixture.sample(200_000, 1)
    found = mixture.condition({column: rows[:, column] for column in range(columns)})
    mean, std = found.mean(), found.std()
    for row in (0, 70_000, 199_999):
        assert mean[row] == pytest.approx(found[row].mean(), rel=1e-10)
        assert std[row] == pytest.approx(np.sqrt(np.diag(found[row].covariance())), rel=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "student-t", "poisson", "product", "families"])
def test_quantiles_of_many_rows_are_those_of_each(name):
    mixture = mixture_of(name)
    rows = mixture.sample(5, 3)
    known = {column: rows[:, column] for column in (0, 1, 2)}
    many = mixture.condition(known)
    found = many.quantile([0.1, 0.5, 0.95])
    expected = [mixture.condition(known_of(mixture, row, (0, 1, 2))).quantile([0.1, 0.5, 0.95]) for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.all(many.cdf(found[:, 1]) >= 0.5 - 1e-12)


@pytest.mark.parametrize("name", ["product", "gaussian", "student-t", "families"])
def test_draws_of_many_rows_follow_their_mixtures(name):
    mixture = mixture_of(name)
    row = mixture.sample(1, 0)[0]
    n = 40_000
    many = mixture.condition({1: np.full(n, row[1]), 3: np.full(n, row[3])})
    draws = many.sample(0)
    one = mixture.condition({1: row[1], 3: row[3]})
    error = np.sqrt(np.diag(one.covariance()) / n)
    assert np.all(np.abs(draws.mean(axis=0) - one.mean()) < 4 * error)


# What gmr 2.0.3 (github.com/AlexanderFabisch/gmr) computes for this mixture: GMM.predict and GMM.condition.
PUBLISHED = Mixture.from_source(
    "gaussian",
    [0.25, 0.35, 0.4],
    mean=[[0.0, 1.0, -1.0], [2.0, 0.0, 3.0], [-1.0, -2.0, 0.5]],
    covariance=[
        [[1.0, 0.3, -0.2], [0.3, 2.0, 0.5], [-0.2, 0.5, 1.5]],
        [[0.8, -0.4, 0.1], [-0.4, 1.2, 0.3], [0.1, 0.3, 0.9]],
        [[2.0, 0.7, 0.6], [0.7, 1.1, 0.2], [0.6, 0.2, 0.7]],
    ],
)
GIVEN = np.array([[0.5, -1.0], [2.0, 0.25], [-3.0, 1.5]])
GMR_THIRD = np.array([[0.486329124793], [2.847944185542], [0.010043392659]])
GMR_OTHERS = np.array(
    [[0.184077422945, 0.377072446508], [0.056737832539, 2.567943774765], [-2.627205098143, -0.107797635197]]
)
GMR_WEIGHTS = np.array([0.088852212191, 0.15837578765, 0.752772000159])


def test_the_numbers_of_gmr():
    third = PUBLISHED.condition({0: GIVEN[:, 0], 1: GIVEN[:, 1]}).mean()
    np.testing.assert_allclose(third, GMR_THIRD, rtol=0, atol=1e-10)
    np.testing.assert_allclose(PUBLISHED.condition({0: GIVEN[:, 0]}).mean(), GMR_OTHERS, rtol=0, atol=1e-10)
    np.testing.assert_allclose(PUBLISHED.condition({2: 1.25}).weights, GMR_WEIGHTS, rtol=0, atol=1e-10)


def test_the_regression_of_gmr_formula():
    """E[y | x] as a sum over components, written out with inverses (Cohn, Ghahramani and Jordan 1996, section 2)."""
    mixture = mixture_of("gaussian")
    rows = mixture.sample(200, 5)
    source, known, rest = mixture.source, [0, 1, 3], [2]
    joint = np.zeros((len(rows), 3))
    means = np.zeros((len(rows), 3))
    for j, (mean, covariance) in enumerate(zip(source["mean"], source["covariance"], strict=True)):
        inner = covariance[np.ix_(known, known)]
        joint[:, j] = mixture.weights[j] * stats.multivariate_normal(mean[known], inner).pdf(rows[:, known])
        means[:, j] = (
            mean[rest] + covariance[np.ix_(rest, known)] @ np.linalg.inv(inner) @ (rows[:, known] - mean[known]).T
        )[0]
    expected = (joint * means).sum(axis=1) / joint.sum(axis=1)
    found = mixture.condition({column: rows[:, column] for column in known}).mean()[:, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_far_from_zero_conditionals_keep_their_digits():
    near = mixture_of("gaussian")
    far = near.transform_affine(np.eye(4), np.full(4, 1e6))
    rows = near.sample(20, 0)
    close = near.condition({0: rows[:, 0]}).mean()
    away = far.condition({0: rows[:, 0] + 1e6}).mean() - 1e6
    np.testing.assert_allclose(away, close, atol=1e-5)


def test_affine_maps_move_draws_and_moments():
    mixture = mixture_of("gaussian")
    matrix, offset = np.array([[1.0, 2.0, 0.0, -1.0], [0.5, 0.0, 3.0, 1.0]]), np.array([1.0, -2.0])
    image = mixture.transform_affine(matrix, offset)
    np.testing.assert_allclose(image.mean(), matrix @ mixture.mean() + offset, rtol=1e-10)
    np.testing.assert_allclose(image.covariance(), matrix @ mixture.covariance() @ matrix.T, rtol=1e-10)
    square = np.random.default_rng(0).normal(size=(4, 4))
    rows = mixture.sample(10, 0)
    moved = mixture.transform_affine(square).log_density(rows @ square.T)
    expected = mixture.log_density(rows) - np.linalg.slogdet(square)[1]
    np.testing.assert_allclose(moved, expected, rtol=1e-9)


def test_combined_mixtures_have_the_combined_density():
    one, two = mixture_of("gamma", 0), mixture_of("gamma", 1, k=2)
    both = Mixture.combine([one, two], [0.3, 0.7])
    rows = one.sample(20, 0)
    expected = np.logaddexp(np.log(0.3) + one.log_density(rows), np.log(0.7) + two.log_density(rows))
    np.testing.assert_allclose(both.log_density(rows), expected, rtol=1e-10)
    assert both.n_components == 5
    assert Mixture.combine([one]) == one


def test_mixtures_of_different_families_are_combined():
    one = Mixture.from_source("gaussian", [0.5, 0.5], mean=[0.0, 3.0], covariance=[1.0, 2.0])
    two = Mixture(f.Laplace(1.0, n_features=1), [1.0], f.Laplace(1.0).natural_from_source(scale=np.array([2.0])))
    both = Mixture.combine([one, two], [0.6, 0.4])
    x = np.linspace(-3, 5, 9)
    expected = np.logaddexp(np.log(0.6) + one.log_density(x), np.log(0.4) + two.log_density(x))
    np.testing.assert_allclose(both.log_density(x), expected, rtol=1e-10)
    np.testing.assert_allclose(both.mean(), 0.6 * one.mean() + 0.4 * two.mean())
    second = 0.6 * (one.covariance() + one.mean() ** 2) + 0.4 * (two.covariance() + two.mean() ** 2)
    np.testing.assert_allclose(both.covariance(), second - both.mean() ** 2)
    np.testing.assert_allclose(both.cdf(x), 0.6 * one.cdf(x) + 0.4 * two.cdf(x))
    np.testing.assert_allclose(both.cdf(both.quantile([0.2, 0.9])), [0.2, 0.9])
    assert both.component(2) == two
    with pytest.raises(ValueError, match="count"):
        Mixture.combine([one, Mixture.from_source("poisson", [1.0], rate=[1.0])])


def test_names_stay_with_their_columns():
    mixture = mixture_of("product").with_columns(NAMES)
    assert mixture.marginal(["b", "d"]).columns == ("b", "d")
    assert mixture.condition({"b": 0.0}).columns == ("a", "c", "d")
    assert mixture.condition({"b": [0.0, 1.0]})[1].columns == ("a", "c", "d")
    assert mixture.component(-1).columns == NAMES
    assert mixture == mixture.with_columns(None)


def test_known_values_may_be_a_table():
    mixture = mixture_of("gaussian").with_columns(NAMES)
    values = {"c": [0.0, 1.0, 2.0], "a": [1.0, 1.0, -1.0]}
    expected = mixture.condition(values)
    for table in (pd.DataFrame(values), pl.DataFrame(values)):
        np.testing.assert_array_equal(mixture.condition(table).mean(), expected.mean())
    assert repr(expected) == "3 conditional mixtures of b, d: 3 gaussian each"
    with pytest.raises(IndexError, match="rows go from 0 to 2"):
        expected[3]


@pytest.mark.parametrize("family", ["gaussian", "spherical-gaussian", "fixed-covariance", "product"])
def test_rows_are_conditioned_on_what_they_have(family):
    """Rows that lack known values answer as the marginal mixture without these columns, in every question."""
    mixture = mixture_of(family)
    X = mixture.sample(5, 0)
    known, y = X[:, :3].copy(), X[:, 3]
    known[[1, 3, 3, 3, 4, 4], [0, 0, 1, 2, 1, 2]] = np.nan
    given = mixture.condition({column: known[:, column] for column in range(3)})
    cdf, log_density, quantile = given.cdf(y), given.log_density(y[:, None]), given.quantile([0.3, 0.9])
    for row, values in enumerate(known):
        has = np.flatnonzero(~np.isnan(values)).tolist()
        part = mixture.marginal([*has, 3])
        expected = part.condition({place: values[column] for place, column in enumerate(has)}) if has else part
        np.testing.assert_allclose(given.mean()[row], expected.mean(), rtol=1e-10)
        np.testing.assert_allclose(given.covariance()[row], expected.covariance(), rtol=1e-10)
        np.testing.assert_allclose(given[row].mean(), expected.mean(), rtol=1e-10)
        np.testing.assert_allclose(cdf[row], expected.cdf(y[[row]])[0], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(log_density[row], expected.log_density(y[[row], None])[0], rtol=1e-9)
        np.testing.assert_allclose(quantile[row], expected.quantile([0.3, 0.9]), rtol=1e-9)
    assert given.sample(0).shape == (5, 1)
    with pytest.raises(ValueError, match=r"row 1, column 0 is missing \(NaN\): dirichlet needs complete"):
        mixture_of("dirichlet").condition({0: [0.2, np.nan], 1: 0.1})


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda m: m.marginal([]), "no column is named"),
        (lambda m: m.marginal([0, 0]), "named twice"),
        (lambda m: m.marginal("height"), "no column names"),
        (lambda m: m.marginal(7), "there is no column 7"),
        (lambda m: m.marginal(1.5), "not a column"),
        (lambda m: m.with_columns(NAMES).marginal("e"), "no column is called 'e': the columns are a, b, c, d"),
        (lambda m: m.with_columns(["a", "a", "b", "c"]), "4 different names"),
        (lambda m: m.condition({0: 1, 1: 1, 2: 1, 3: 1}), "leave at least one open"),
        (lambda m: m.cdf([[0.0, 0.0, 0.0]]), "X has 3"),
        (lambda m: m.with_columns(NAMES).condition({"c": np.inf}), "column 'c' is infinite"),
        (lambda m: m.condition([0.0]), "known is a list"),
        (lambda m: m.component(0.5), "there is no component 0.5"),
        (lambda m: m.cdf([[0.0, 0.0, np.nan, 0.0]]), "row 0 has a missing entry"),
        (lambda m: m.expectation(lambda x: x, n_draws=0), "n_draws is 0"),
        (lambda m: m.transform_affine(np.eye(4), [1.0, 2.0]), "offset has shape"),
        (lambda m: m.transform_affine(np.full((1, 4), np.nan)), "finite"),
        (lambda m: Mixture.combine(m), "a list of mixtures"),
        (lambda m: m.confidence_regions("wide"), "level is 'wide'"),
        (lambda m: m.condition({0: [0.0, 1.0]}).quantile(0.5), "need one open column"),
        (lambda m: m.condition({0: "tall"}), "must be numbers"),
        (lambda m: m.condition({0: [1, 2], 1: [1, 2, 3]}), "equally many"),
        (lambda m: m.component(3), "there is no component 3"),
        (lambda m: m.transform_affine(np.ones((2, 4))), "depend on each other"),
        (lambda m: m.transform_affine(np.ones((2, 3))), "needs 4 columns"),
        (lambda m: m.to_scipy(), "component"),
        (lambda m: m.quantile(0.5), "use marginal first"),
        (lambda m: Mixture.combine([]), "at least one"),
        (lambda m: Mixture.combine([m], [0.5, 0.5]), "one per mixture"),
        (lambda m: m.highest_density(1.0), "between 0 and 1"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(ask, sentence):
    with pytest.raises(ValueError, match=sentence):
        ask(mixture_of("gaussian"))


def test_conditioning_where_the_density_is_zero_is_refused():
    with pytest.raises(ValueError, match="accepts"):
        mixture_of("gamma").condition({0: -1.0})
    with pytest.raises(ValueError, match="row 1"):
        mixture_of("poisson").condition({0: [1.0, 0.5]})
    with pytest.raises(ValueError, match="overflow"):
        mixture_of("gaussian").condition({0: 1e200})


def test_families_without_closed_forms_say_so():
    directions = Mixture.from_source("von-mises-fisher", [1.0], direction=[[1.0, 0.0, 0.0]], concentration=[2.0])
    with pytest.raises(ValueError, match="von-mises-fisher has no closed form"):
        directions.marginal([0])
    with pytest.raises(ValueError, match="von-mises-fisher has no closed form"):
        directions.condition({0: 0.5})


def test_known_counts_may_leave_different_numbers_of_trials():
    mixture = mixture_of("multinomial")
    given = mixture.condition({0: [0, 3, 7], 1: [1, 1, 0]})
    np.testing.assert_array_equal(given.sample(0).sum(axis=1), [6, 3, 0])
    np.testing.assert_array_equal(given.mean()[2], [0.0, 0.0])
    with pytest.raises(ValueError, match="must sum to the 6 trials"):
        given.log_density([[1, 1], [1, 2], [1, 0]])
    with pytest.raises(ValueError, match="nothing is left"):
        given[2]


def test_conditional_spreads_of_student_t_grow_with_the_distance():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(2, 3, 5))
    mixture = Mixture.from_source(
        "student-t",
        [0.4, 0.6],
        location=rng.normal(size=(2, 3)),
        scale=factors @ np.swapaxes(factors, 1, 2),
        degrees=[5.0, 8.0],
    )
    values = np.array([0.0, 3.0, 30.0])
    many = mixture.condition({0: values})
    expected = [mixture.condition({0: value}).covariance() for value in values]
    np.testing.assert_allclose(many.covariance(), expected, rtol=1e-9)
    np.testing.assert_allclose(many.std() ** 2, np.diagonal(expected, axis1=1, axis2=2), rtol=1e-9)
    assert np.all(many.std()[2] > 3 * many.std()[0])
