"""Missing entries in independent columns: the likelihood is that of the observed ones, and nothing is filled in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmle import KMLE, Batches, ExponentialFamilyMixture, Mixture
from kmle import families as f

# Families of independent columns, and what draws rows of two groups.
DRAWS = {
    "poisson": lambda rng, n: np.concatenate([rng.poisson(2, (n, 3)), rng.poisson(12, (n, 3))]),
    "gamma": lambda rng, n: np.concatenate([rng.gamma(2, 1, (n, 3)), rng.gamma(30, 1, (n, 3))]),
    "log-normal": lambda rng, n: np.exp(np.concatenate([rng.normal(0, 1, (n, 3)), rng.normal(4, 1, (n, 3))])),
    "diagonal-gaussian": lambda rng, n: 1e3 + np.concatenate([rng.normal(0, 1, (n, 3)), rng.normal(5, 2, (n, 3))]),
    "fixed-covariance-gaussian": lambda rng, n: np.concatenate([rng.normal(50, 1, (n, 3)), rng.normal(55, 1, (n, 3))]),
    "von-mises": lambda rng, n: np.concatenate([rng.vonmises(0, 5, (n, 3)), rng.vonmises(2, 5, (n, 3))]),
    "categorical": lambda rng, n: np.concatenate([rng.integers(0, 2, (n, 3)), rng.integers(1, 4, (n, 3))]),
    "bernoulli": lambda rng, n: np.concatenate([rng.random((n, 3)) < 0.1, rng.random((n, 3)) < 0.9]),
    "beta": lambda rng, n: np.concatenate([rng.beta(2, 9, (n, 3)), rng.beta(9, 2, (n, 3))]),
}
MIXED = f.Product((f.Poisson(), f.Gamma(), f.VonMisesFisher(n_features=2)))


def masked(X, share, seed):
    X = np.array(X, dtype=float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def mixed_rows(rng, n):
    angle = np.concatenate([rng.normal(0, 0.3, n), rng.normal(2, 0.3, n)])
    counts, sizes = DRAWS["poisson"](rng, n)[:, :1], DRAWS["gamma"](rng, n)[:, :1]
    return np.column_stack([counts, sizes, np.cos(angle), np.sin(angle)])


def masked_mixed(rng, n):
    X = mixed_rows(rng, n)
    hole = rng.random((len(X), 3)) < 0.2
    X[hole[:, [0, 1, 2, 2]]] = np.nan  # a direction is there or not
    return X


def observed_log_joint(mixture, X, spans):
    """log(w_j p_j(observed entries)), row by row and unit by unit, with the family's own densities."""
    joint = np.tile(np.log(mixture.weights), (len(X), 1))
    for i, row in enumerate(X):
        for family, columns, places in spans:
            if not np.isnan(row[columns[0]]):
                joint[i] += family.log_density(row[None, columns], mixture.natural[:, places])[0]
    return joint


def spans_of(family):
    """Independent units of a family: each with its columns and the places of its natural parameters."""
    if isinstance(family, f.Product):
        column = place = 0
        spans = []
        for own in family.families:
            spans.append((own, range(column, column + own.n_features), range(place, place + own.n_statistics)))
            column, place = column + own.n_features, place + own.n_statistics
        return [(own, list(columns), list(places)) for own, columns, places in spans]
    d = family.n_features
    if isinstance(family, f.Categorical):
        ends = np.cumsum(family.n_categories)
        sizes = zip(family.n_categories, ends, strict=True)
        return [(f.Categorical((k,)), [c], list(range(end - k, end))) for c, (k, end) in enumerate(sizes)]
    own = type(family)(n_features=1)
    return [(own, [c], list(range(c, family.n_statistics, d))) for c in range(d)]


@pytest.mark.parametrize("name", [*DRAWS, "product"])
@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
def test_densities_posteriors_and_objectives_are_those_of_the_observed_entries(name, estimator):
    rng = np.random.default_rng(3)
    family = MIXED if name == "product" else name
    X = masked_mixed(rng, 60) if name == "product" else masked(DRAWS[name](rng, 60), 0.3, 4)
    model = estimator(2, family=family, prior_strength=0, resolution=None, random_state=0).fit(X)
    joint = observed_log_joint(model.mixture_, X, spans_of(model.family_))
    total = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(model.score_samples(X), total, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(joint - total[:, None]), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), joint.argmax(axis=1))
    used = ~np.isnan(X).all(axis=1)
    known = joint[used].max(axis=1).sum() if estimator is KMLE else total[used].sum()
    np.testing.assert_allclose(model.objective_, known, rtol=1e-10)
    assert np.isfinite(model.criteria(X).bic)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(DRAWS)),
    share=st.floats(0, 0.9),
    seed=st.integers(0, 1000),
    soft=st.booleans(),
    weighted=st.booleans(),
    strength=st.sampled_from([0.0, 1e-3, 1.0]),
    init=st.sampled_from(["auto", "random", "k-mle++", "quantile", "k-means", "restricted"]),
)
def test_the_objective_never_falls_and_nothing_is_nan(name, share, seed, soft, weighted, strength, init):
    rng = np.random.default_rng(seed)
    X = masked(DRAWS[name](rng, 20), share, seed)
    X[0] = DRAWS[name](rng, 1)[0]  # every column has an entry
    weights = rng.integers(0, 3, len(X)) + (np.arange(len(X)) == 0) if weighted else None
    estimator = ExponentialFamilyMixture if soft else KMLE
    model = estimator(3, family=name, prior_strength=strength, init=init, n_init=1, random_state=seed)
    model.fit(X, sample_weight=weights)
    history = np.asarray(model.history_, dtype=float)
    assert np.all(np.diff(history) >= -1e-9 * np.abs(history).max())
    for values in (*model.mixture_.source.values(), model.predict_proba(X), model.score_samples(X), history):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_complete_rows_through_the_code_for_holes_give_the_same_numbers(name):
    """A row that has no entry makes every column one with holes, and says nothing."""
    X = np.array(DRAWS[name](np.random.default_rng(5), 40), dtype=float)
    with_hole = np.vstack([X, np.full((1, 3), np.nan)])
    for estimator in (KMLE, ExponentialFamilyMixture):
        plain, holed = (
            estimator(2, family=name, init="k-mle++", n_init=1, random_state=0).fit(rows) for rows in (X, with_hole)
        )
        np.testing.assert_allclose(holed.objective_, plain.objective_, rtol=1e-10)
        np.testing.assert_allclose(holed.mixture_.moment, plain.mixture_.moment, rtol=1e-6)
        np.testing.assert_allclose(plain.mixture_.log_density(with_hole)[:-1], plain.score_samples(X), atol=1e-10)
        assert holed.score_samples(with_hole)[-1] == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(holed.predict_proba(with_hole)[-1], holed.weights_, rtol=1e-12)
        assert "1 row has no entry at all" in " ".join(holed.notes_)


def test_an_estimate_divides_the_sums_of_a_column_by_its_own_count():
    X = np.array([[1.0, np.nan], [3.0, 8.0], [np.nan, 4.0], [5.0, np.nan]])
    model = KMLE(1, family="poisson", prior_strength=0).fit(X)
    np.testing.assert_allclose(model.mixture_.source["rate"], [[3.0, 6.0]])
    prior = KMLE(1, family="poisson", prior_strength=2.0).fit(X)
    np.testing.assert_allclose(prior.mixture_.source["rate"], [[3.0, 6.0]])


def test_a_component_that_never_saw_a_column_has_the_distribution_of_all_rows_there():
    X = np.array([[0.0, np.nan], [1.0, np.nan], [0.0, np.nan], [40.0, 7.0], [43.0, 9.0], [41.0, 8.0]])
    for strength in (0.0, 1e-3):
        model = KMLE(2, family="poisson", prior_strength=strength, random_state=0).fit(X)
        rates = model.mixture_.source["rate"]
        np.testing.assert_allclose(rates[np.argmin(rates[:, 0]), 1], 8.0)


def test_a_missing_column_at_predict_gives_the_posterior_of_the_marginal_mixture():
    X = DRAWS["poisson"](np.random.default_rng(0), 50).astype(float)
    mixture = ExponentialFamilyMixture(2, family="poisson", random_state=0).fit(X).mixture_
    without = X.copy()
    without[:, 1] = np.nan
    rates = mixture.source["rate"][:, [0, 2]]
    marginal = Mixture.from_source("poisson", mixture.weights, rate=rates)
    np.testing.assert_allclose(mixture.posterior(without), marginal.posterior(X[:, [0, 2]]), atol=1e-12)
    np.testing.assert_allclose(mixture.log_density(without), marginal.log_density(X[:, [0, 2]]), atol=1e-12)


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("name", ["poisson", "diagonal-gaussian", "categorical"])
def test_chunks_weights_and_distinct_rows_change_nothing(name, estimator):
    X = masked(DRAWS[name](np.random.default_rng(1), 300), 0.2, 2)
    X[:100, 2] = np.nan
    whole = estimator(2, family=name, random_state=0).fit(X)
    batches = Batches([X[i : i + 100] for i in range(0, len(X), 100)])
    streamed = estimator(2, family=name, random_state=0).fit(batches)
    np.testing.assert_allclose(streamed.objective_, whole.objective_, rtol=1e-9)
    np.testing.assert_array_equal(streamed.labels_, whole.labels_)
    doubled = estimator(2, family=name, random_state=0).fit(X, sample_weight=np.full(len(X), 2.0))
    copied = estimator(2, family=name, random_state=0).fit(np.vstack([X, X]))
    np.testing.assert_allclose(doubled.objective_, copied.objective_, rtol=1e-8)
    np.testing.assert_allclose(np.concatenate(list(streamed.predict_proba(batches))), whole.predict_proba(X), atol=1e-6)


def test_notes_count_missing_entries_and_patterns():
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [np.nan, 5.0], [4.0, np.nan]])
    note = KMLE(1, family="poisson").fit(X).notes_[0]
    assert note.startswith("3 of 8 entries (38 %) are missing, in 2 patterns")


@pytest.mark.parametrize(
    ("family", "X", "sentence"),
    [
        ("poisson", [[1.0, np.nan], [2.0, np.nan]], "column 1 has no entry"),
        ("poisson", [[1.0, np.inf], [2.0, np.nan]], "row 0, column 1 is infinite"),
        ("poisson", [[1.0, 2.5], [2.0, np.nan]], "row 0, column 1 holds 2.5"),
        ("dirichlet", [[0.5, 0.5], [np.nan, 0.2]], "dirichlet needs complete rows"),
        ("von-mises-fisher", [[1.0, 0.0], [0.0, np.nan]], "von-mises-fisher needs complete rows"),
        ("multinomial", [[1.0, 3.0], [2.0, np.nan]], "multinomial needs complete rows"),
        (MIXED, [[1, 2.0, 1, 0], [1, 2.0, 1, np.nan]], "needs all of its 2 columns or none"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(family, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        KMLE(1, family=family).fit(np.array(X))


def test_the_tag_follows_the_family():
    from sklearn.utils import get_tags

    assert get_tags(KMLE(family="poisson")).input_tags.allow_nan
    assert not get_tags(KMLE(family="dirichlet")).input_tags.allow_nan


def test_one_column_of_counts_with_missing_entries():
    counts = np.random.default_rng(0).poisson(4.0, 300).astype(float)
    X = np.where(np.arange(300) % 7 == 0, np.nan, counts)[:, None]
    model = ExponentialFamilyMixture(1, family="poisson").fit(X)
    assert model.mixture_.source["rate"].item() == pytest.approx(np.nanmean(X), rel=1e-4)
    assert model.score(X) * len(X) == pytest.approx(model.result_.log_likelihood)
