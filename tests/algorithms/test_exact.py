"""The exact optimum of families with one statistic: nothing beats it, and brute force finds no other."""

from itertools import product

import numpy as np
import pytest

from algorithms.drawing import HARD, algorithm, drawn_rows, fitted, started
from cases import BY_ID, CASES, case_id
from kmle import KMLE
from kmle import families as f
from kmle.algorithms import Exact, exact, interval_search, run
from kmle.estimators.notes import notes_on
from kmle.estimators.plan import Plan
from kmle.problem.problem import Problem

ORDER_ONE = [case for case in CASES if case.family.n_statistics == 1]
PRESCRIBED = {"free": None, "uniform": np.full(3, 1 / 3), "unequal": np.array([0.2, 0.5, 0.3])}


def brute_force(family, X, sample_weight, prescribed, exactly=False):
    """The best complete likelihood over all 3^n labelings, each cluster at its own mean."""
    t = family.sufficient_statistic(X)[:, 0]
    n = len(t)
    members = np.array(list(product([0, 1], repeat=n)), dtype=float)  # all clusters there can be
    counts = members @ sample_weight
    means = members @ (sample_weight * t) / np.where(counts > 0, counts, 1.0)
    worth = np.zeros(len(members))
    worth[1:] = counts[1:] * family.conjugate(means[1:, None])
    labelings = np.array(list(product(range(3), repeat=n)))
    total = np.zeros(len(labelings))
    nobody_empty = np.ones(len(labelings), dtype=bool)
    for j in range(3):
        which = (labelings == j) @ (1 << np.arange(n)[::-1])
        nobody_empty &= which > 0
        share = counts[which] / sample_weight.sum() if prescribed is None else prescribed[j]
        total += worth[which] + counts[which] * np.log(np.where(counts[which] > 0, share, 1.0))
    return total[nobody_empty if exactly else slice(None)].max() + sample_weight @ family.log_carrier(X)


@pytest.mark.parametrize("mode", PRESCRIBED)
@pytest.mark.parametrize("case", ORDER_ONE, ids=case_id)
def test_brute_force_over_all_labelings(case, mode):
    for seed, weighted in ((0, False), (1, True), (2, True)):
        X = drawn_rows(case, 24, seed)[:8]
        sample_weight = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], 8) if weighted else np.ones(8)
        model = KMLE(3, family=case.family, algorithm="exact", weights=PRESCRIBED[mode])
        fit = model.fit(X, sample_weight=sample_weight if weighted else None).result_
        truth = brute_force(case.family, X, sample_weight, PRESCRIBED[mode])
        assert fit.objective == pytest.approx(truth, rel=1e-10, abs=1e-10)
        assert fit.stop_reason == "global optimum"
        joint = fit.mixture.log_joint(X)
        assert fit.complete_log_likelihood == pytest.approx(sample_weight @ joint.max(axis=1), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("case", [case for case in ORDER_ONE if case.id != "bernoulli-1"], ids=case_id)
def test_exactly_so_many_components(case):
    X = drawn_rows(case, 24, 3)[:8]
    assert len(np.unique(X)) >= 3
    problem = Problem(case.family, X)
    fit = run(Exact(exactly=True), problem, started(problem))
    # Three clusters of two equal rows each may lie in one place; as intervals of distinct values they may not.
    assert fit.objective <= brute_force(case.family, X, np.ones(8), None, exactly=True) + 1e-9
    assert fit.mixture.n_components == 3
    assert fit.objective <= run(Exact(), problem, started(problem)).objective


@pytest.mark.parametrize("mode", ["free", "uniform"])
@pytest.mark.parametrize("case", ORDER_ONE, ids=case_id)
def test_nothing_beats_it(case, mode):
    X = drawn_rows(case, 90, seed=8)
    problem = Problem(case.family, X, None, 0.0, PRESCRIBED[mode])
    best = fitted(problem, "exact").objective
    reached = [
        run(algorithm(name), problem, started(problem, 3, seed, init)).objective
        for name in HARD
        for seed, init in enumerate(("k-mle++", "random", "quantile"))
    ]
    assert max(reached) <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("case", ["poisson-1", "exponential", "fixed-covariance-gaussian-scalar", "chi-square"])
def test_restarts_reach_it(case):
    X = drawn_rows(BY_ID[case], 60, seed=9)
    shared = {"n_components": 3, "family": BY_ID[case].family, "weights": "uniform", "random_state": 0}
    best = KMLE(algorithm="exact", **shared).fit(X).objective_
    restarted = KMLE(algorithm="swap", n_init=20, prior_strength=0, **shared).fit(X).objective_
    assert restarted == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("case", ["poisson-1", "exponential", "fixed-covariance-gaussian-scalar", "binomial"])
def test_a_layer_equals_the_quadratic_programme(case):
    X = drawn_rows(BY_ID[case], 90, seed=10)
    line = exact._Line(Problem(BY_ID[case].family, X))
    m = line.size
    every = np.arange(m + 1)
    previous = np.where(every > 0, line.worth(np.zeros_like(every), every), -np.inf)
    floor = np.zeros(m + 1, dtype=int)
    for layer in (2, 3, 4):
        best, argument = exact.monotone_layer(previous, line.worth, layer, m, floor)
        for j in range(layer, m + 1):
            i = np.arange(j)
            values = previous[:j] + line.worth(i, np.full(j, j))
            assert best[j] == pytest.approx(values.max(), rel=1e-12)
            assert values[argument[j]] == pytest.approx(values.max(), rel=1e-12)
        assert np.all(np.diff(argument[layer:]) >= 0)
        previous, floor = np.where(every >= layer, best, -np.inf), argument


def test_equal_weights_have_no_limit_in_size():
    X = np.random.default_rng(0).exponential(np.repeat([1.0, 50.0], 10_000))[:, None]
    problem = Problem(f.Exponential(n_features=1), X, weights=np.full(2, 0.5))
    fit = run(Exact(), problem, started(problem, 2))
    lloyd = run(algorithm("k-mle"), problem, started(problem, 2))
    assert fit.objective >= lloyd.objective
    assert fit.objective == pytest.approx(lloyd.objective, rel=1e-4)


# Many values ----------------------------------------------------------------------------------------------------------


def many_values(name, size, seed):
    rng = np.random.default_rng(seed)
    draws = {
        "exponential": lambda: rng.exponential(size=size) * rng.choice([1.0, 20.0], size),
        "heavy tails": lambda: rng.pareto(1.2, size),
        "poisson": lambda: rng.poisson(np.exp(rng.uniform(0, 9, size))),
        "gaussian": lambda: rng.standard_normal(size) + rng.choice([0.0, 5.0, 7.0], size),
    }
    family = {
        "poisson": f.Poisson(n_features=1),
        "gaussian": f.FixedCovarianceGaussian([[1.0]], n_features=1),
    }.get(name, f.Exponential(n_features=1))
    weights = rng.integers(1, 4, size).astype(float) if seed % 2 else None
    return exact._Line(Problem(family, draws[name]()[:, None], weights))


@pytest.mark.parametrize("name", ["exponential", "heavy tails", "poisson", "gaussian"])
@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("free", [False, True], ids=["equal", "free"])
def test_branch_and_bound_equals_the_programme_over_all_cuts(name, k, free, monkeypatch):
    monkeypatch.setattr(interval_search, "BLOCKS", 64)
    monkeypatch.setattr(interval_search, "PLACES", 40)
    monkeypatch.setattr(interval_search, "FREE_BLOCKS", 64)
    monkeypatch.setattr(interval_search, "FREE_PLACES", 40)
    for seed in range(3):
        line = many_values(name, 900, seed)
        intervals = line.intervals(free)
        found = interval_search.best_cuts(intervals, k)
        cuts = exact.profiled_cuts(line, k, True) if free else exact.monotone_cuts(line, k)
        best = intervals.value(cuts[:-1], cuts[1:]).sum()
        assert found.objective <= best + 1e-9 * abs(best)
        assert found.highest >= best - 1e-9 * abs(best)
        if not free or found.highest == found.objective:
            assert found.objective == pytest.approx(best, rel=1e-12)


def test_nothing_is_handed_back_that_is_no_better_than_what_is_known():
    intervals = many_values("gaussian", 900, 0).intervals(free=True)
    for k in (1, 3):
        best = interval_search.best_cuts(intervals, k).objective
        again = interval_search.best_cuts(intervals, k, best)
        assert len(again.places) == 0
        assert again.objective == best


def test_free_weights_of_many_values_are_the_optimum_or_have_a_bound(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.exponential(size=10_000), 60 * rng.exponential(size=10_000)])[:, None]
    model = KMLE(2, family="exponential", algorithm="exact").fit(X)
    assert model.result_.stop_reason == "global optimum"
    assert model.result_.objective >= KMLE(2, family="exponential", random_state=0).fit(X).result_.objective
    monkeypatch.setattr(interval_search, "MOST_BLOCKS", 0)
    stopped = KMLE(2, family="exponential", algorithm="exact").fit(X)
    assert stopped.result_.stop_reason.startswith("no partition is better by more than")
    gap = float(stopped.result_.stop_reason.split()[-2])
    assert stopped.result_.objective <= model.result_.objective <= stopped.result_.objective + 1.01 * gap
    notes = notes_on(stopped.result_, Plan(2, algorithm="exact", max_iter=100, prior_strength=0.0), None, 1.0)
    assert any("This may not be the global optimum" in note for note in notes)


# What it refuses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "order"), [("gaussian", 2), ("gamma", 2), (f.Poisson(n_features=2), 2), ("categorical", 3)]
)
def test_more_than_one_statistic_is_refused(family, order):
    X = [[1, 2]] * 6 if isinstance(family, f.Poisson) else [[1], [2], [1], [2], [2], [1]]
    with pytest.raises(ValueError, match=rf"algorithm='exact' needs .* has {order}: use 'hartigan' or 'swap'"):
        KMLE(2, family=family, algorithm="exact").fit(X)


def test_too_many_orders_of_unequal_weights_are_refused():
    weights = np.arange(1.0, 17.0)
    with pytest.raises(ValueError, match="tries every order of 16 components"):
        KMLE(16, family="exponential", algorithm="exact", weights=weights / weights.sum()).fit(
            np.random.default_rng(0).exponential(size=(500, 1))
        )
