"""What init, n_init and tol promise."""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture, select
from kmle.algorithms.soft_em import ACCELERATED, PLAIN

CENTRES = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 3.0], [6.0, 6.0]])
X = CENTRES[np.random.default_rng(0).integers(4, size=600)] + np.random.default_rng(0).normal(size=(600, 2))
KINDS = [KMLE, ExponentialFamilyMixture]


def starts_of(model, rows=X):
    return model.fit(rows).result_.starts


@pytest.mark.parametrize("kind", KINDS)
def test_by_default_starts_of_several_kinds_are_tried_and_moves_made(kind):
    starts = starts_of(kind(6, random_state=0))
    assert kind().init == kind().n_init == kind().tol == "auto"
    assert len(starts.kinds) > 2
    assert starts.n > 3
    assert starts.agreeing < 0.4 * starts.n
    assert starts.moves > 0
    assert str(starts).startswith(f"{starts.agreeing} of {starts.n} starts agree")


@pytest.mark.parametrize("kind", KINDS)
def test_where_most_starts_agree_one_round_of_moves_is_made_and_none_where_steps_are_not_cheap(kind):
    starts = starts_of(kind(2, random_state=0), np.concatenate([X, X + 40.0]))
    assert starts.agreeing >= 0.4 * starts.n
    assert 0 < starts.moves <= 72
    rows = np.random.default_rng(0).standard_normal((4000, 8)) + np.repeat([[0.0], [9.0]], 2000, axis=0)
    starts = starts_of(kind(2, random_state=0), rows)
    assert starts.agreeing >= 0.4 * starts.n
    assert starts.moves == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["random", "quantile", "k-means"])
def test_a_named_start_is_made_several_times(kind, name):
    starts = starts_of(kind(3, init=name, random_state=0))
    assert set(starts.kinds) == {name}
    assert starts.n > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", ["auto", "random"])
@pytest.mark.parametrize("n_init", [1, 5])
def test_a_number_is_exactly_that_many_starts_and_no_moves(kind, init, n_init):
    starts = starts_of(kind(3, init=init, n_init=n_init, random_state=0))
    assert (starts.n, starts.moves, starts.improved) == (n_init, 0, 0)
    if init == "auto" and n_init == 5:
        assert len(starts.kinds) > 2


@pytest.mark.parametrize("n_init", ["auto", 4])
def test_what_is_given_is_the_only_start(n_init):
    labels = np.arange(600) % 3
    mixture = KMLE(3, random_state=0).fit(X).mixture_
    warm = KMLE(3, random_state=0, warm_start=True, n_init=n_init).fit(X)
    models = [
        (KMLE(3, init=labels, n_init=n_init), X),
        (ExponentialFamilyMixture(3, init=mixture, n_init=n_init), X),
        (warm, X),
        (KMLE(2, family="exponential", weights="uniform", algorithm="exact", n_init=n_init), np.exp(X[:, :1])),
    ]
    for model, rows in models:
        starts = starts_of(model, rows)
        assert (starts.n, starts.moves) == (1, 0)


@pytest.mark.parametrize(("n_init", "count"), [("auto", 1), (4, 4)])
def test_online_makes_several_starts_on_demand_only(n_init, count):
    starts = starts_of(KMLE(3, algorithm="online", n_init=n_init))
    assert (starts.n, starts.moves) == (count, 0)


@pytest.mark.parametrize("n_init", ["auto", 2])
def test_selections_have_the_starts_of_the_estimator(n_init):
    chosen = select(X, "gaussian", [2, 3], n_init=n_init, random_state=0)
    for candidate in chosen.candidates:
        model = ExponentialFamilyMixture(candidate.n_components, n_init=n_init, random_state=0)
        assert starts_of(model) == candidate.fit.starts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_components", [2, 5])
def test_auto_tolerance_leaves_less_than_a_tenth_of_a_nat(kind, seed, n_components):
    settings = {"init": "random", "n_init": 1, "random_state": seed, "max_iter": 20_000}
    stopped = kind(n_components, **settings).fit(X)
    to_the_end = kind(n_components, tol=0.0, **settings).fit(X)
    assert stopped.objective_ > to_the_end.objective_ - 0.1
    assert stopped.n_iter_ <= to_the_end.n_iter_


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_a_tolerance_is_the_gain_of_a_step_per_row(tol):
    fit = ExponentialFamilyMixture(3, init="random", n_init=1, tol=tol, random_state=0, max_iter=20_000).fit(X).result_
    assert {half.kind for half in fit.history} <= {PLAIN, ACCELERATED}
    gains = np.diff(fit.objectives)
    assert gains[-1] <= tol * len(X)
    assert (gains[:-1] > tol * len(X)).all()
