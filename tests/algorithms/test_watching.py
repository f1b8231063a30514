"""A watcher sees every step of the fits within it, and may end them."""

import numpy as np
import pytest

from kmle import KMLE
from kmle.algorithms.loop import watched

X = np.random.default_rng(0).gamma(2.0, size=(500, 2))


def fitted():
    return KMLE(5, family="gamma", init="random", n_init=1, random_state=0).fit(X).result_


def test_every_step_is_seen():
    seen = []
    with watched(lambda iteration, objective: seen.append((iteration, objective))):
        fit = fitted()
    assert [iteration for iteration, _ in seen] == list(range(1, fit.n_iter + 1))
    assert seen[-1][1] == fit.objective
    assert fit.converged
    fitted()
    assert len(seen) == fit.n_iter


def test_false_ends_the_fit_and_keeps_what_it_has():
    with watched(lambda iteration, objective: iteration < 3):
        fit = fitted()
    assert fit.n_iter == 3
    assert not fit.converged
    assert fit.stop_reason == "stopped by the caller"
    assert fit.mixture.n_components == 5


def test_an_error_leaves_no_watcher_behind():
    with pytest.raises(ZeroDivisionError), watched(lambda iteration, objective: 1 / 0):
        fitted()
    assert fitted().converged
