"""Where only the best covariance model is wanted, those that cannot win are left early."""

import numpy as np
import pytest

from kmle.cli import options as o
from kmle.cli.learning import FitOptions
from kmle.estimators.comparison import compared
from kmle.families.structured_gaussian import structured
from kmle.search.race import Race, race_for
from kmle.selection.candidates import BEHIND
from published.datasets import IRIS

# Six round clusters, far apart: the simplest model wins, though it begins as the last one.
ROUND = (
    np.random.default_rng(0).standard_normal((600, 3))
    + 9 * np.random.default_rng(1).standard_normal((6, 3))[np.arange(600) % 6]
)
# Two components that share nothing, in more rows than are searched.
OWN = np.concatenate(
    [
        np.random.default_rng(2).standard_normal((1800, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.8], [0, 0, 0.2]]),
        2 + np.random.default_rng(3).standard_normal((1200, 3)) @ np.array([[2, 0, 1.0], [0, 0.3, 0], [0, 0, 1]]),
    ]
)


def best_of(X, only_best, criterion="bic"):
    plan = FitOptions(o.AlgorithmName.EM).plan()
    return compared(X, "gaussians", range(1, 9), criterion, plan, only_best=only_best).selection


@pytest.mark.parametrize("X", [IRIS, ROUND, OWN], ids=["iris", "round", "own"])
def test_the_best_of_a_race_is_that_of_the_table(X):
    fast, whole = best_of(X, True), best_of(X, False)
    assert (fast.best.name, fast.best.n_components) == (whole.best.name, whole.best.n_components)
    assert fast.best.value("bic") == pytest.approx(whole.best.value("bic"), abs=0.05)
    assert len(fast.candidates) == len(whole.candidates)
    left = [candidate for candidate in fast.candidates if candidate.fit is None]
    assert len(left) > len(fast.candidates) / 2
    assert {candidate.note for candidate in left} == {BEHIND}
    assert fast.notes == whole.notes  # nothing on the smallest number that was tried


def test_other_criteria_need_the_whole_table():
    assert race_for("aic", 100.0, range(1, 4), lambda model, k: k) is None
    assert race_for("bic", 100.0, (2, 4), lambda model, k: k) is None
    assert all(candidate.fit is not None for candidate in best_of(IRIS, True, "icl").candidates)


def test_a_model_goes_on_while_its_gains_could_make_it_the_best():
    def n_parameters(model, k):
        return structured(model, 2).n_parameters_for(k) + k - 1

    race = Race(n_parameters, each=0.0, last=9)
    for k, (gaining, stuck) in enumerate([(-400.0, -300.0), (-360.0, -200.0), (-320.0, -199.0), (-280.0, -199.0)], 1):
        race.enter("EII", k, gaining)
        race.enter("VVV", k, stuck)
        assert race.remaining(["EII", "VVV"], k) == ["EII", "VVV"]
    race.enter("EII", 5, -279.9)
    race.enter("VVV", 5, np.nan)
    assert "EII" in race.remaining(["EII"], 5)  # the gain before the last one still counts
    race.enter("EII", 6, -279.8)
    assert race.remaining(["EII", "VVV"], 6) == ["VVV"]
    assert ("VVV", 5) not in race.leaders() or race.values["VVV", 5] == np.inf
