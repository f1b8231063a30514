"""Hard steps with momentum: fewer of them, the objective never falls, and only plain steps end a fit."""

import numpy as np
import pytest

from kmle import KMLE
from kmle.algorithms.state import NO_LABEL_CHANGED
from kmle.estimators import plan
from kmle.families import FixedCovarianceGaussian

UNIT = FixedCovarianceGaussian(1.0)


def overlapping(seed: int) -> np.ndarray:
    """Rows of one broad Gaussian: clusters have no natural borders, so labels change for long."""
    return 3 * np.random.default_rng(seed).standard_normal((3000, 4))


def fitted(seed: int, algorithm: str = "k-mle", family: object = UNIT, weights: str | None = "uniform") -> KMLE:
    model = KMLE(8, family=family, weights=weights, algorithm=algorithm, n_init=1, init="random", random_state=seed)
    return model.fit(overlapping(seed))


def test_momentum_saves_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PLAIN_STEPS", 10)
    quick = [fitted(seed).result_ for seed in range(3)]
    monkeypatch.setattr(plan, "PLAIN_STEPS", 10**6)
    plain = [fitted(seed).result_ for seed in range(3)]
    assert sum(fit.n_iter for fit in quick) < 0.75 * sum(fit.n_iter for fit in plain)
    assert all(fit.stop_reason == NO_LABEL_CHANGED for fit in quick)
    means = [np.mean([fit.objective for fit in fits]) for fits in (quick, plain)]
    assert means[0] > means[1] - 1e-3 * abs(means[1])


@pytest.mark.parametrize("algorithm", ["k-mle", "hard-em"])
@pytest.mark.parametrize(("family", "weights"), [(UNIT, "uniform"), ("gaussian", None), ("diagonal-gaussian", None)])
def test_the_objective_never_falls_and_the_end_is_a_fixpoint(
    algorithm: str, family: object, weights: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "PLAIN_STEPS", 10)
    model = fitted(0, algorithm, family, weights)
    fit = model.result_
    assert fit.n_iter > plan.PLAIN_STEPS
    assert np.diff(fit.objectives).min() >= -1e-9 * abs(fit.objective)
    if fit.stop_reason == NO_LABEL_CHANGED:
        assert "stable" in str(fit.certify(overlapping(0)))


def test_momentum_begins_soon_after_a_search_and_as_late_as_ever_from_a_given_start() -> None:
    X, plans = overlapping(0), []
    for settings in ({}, {"n_init": 3}, {"init": X[:8]}):
        plans.append(plan.Plan(8, family=UNIT, algorithm="k-mle", **settings).make_algorithm(np.random.default_rng(0)))
    assert [algorithm.plain_steps for algorithm in plans] == [3, 40, 40]
