"""Starts for one component more and one fewer."""

from itertools import combinations

import numpy as np
import pytest

from cases import CASES, case_id
from kmle.assignment.problem import Problem
from kmle.seeding.k_mle_plus_plus import spread_over
from kmle.selection.neighbours import cheapest_pair, grown, merged
from learning.drawing import drawn_rows, started


def problem_of(case, prior_strength=1e-3):
    return Problem(case.family, drawn_rows(case, 60), None, prior_strength)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_cheapest_merge_is_the_one_that_loses_least(case):
    problem = problem_of(case)
    labels = np.arange(60, dtype=np.int32) % 4
    statistics = problem.gather(labels, 4)

    def objective(labels):
        statistics = problem.gather(labels, 4)
        parameters = problem.first_parameters(statistics)
        natural = problem.updated_natural(parameters, statistics)
        return problem.complete_objective(type(parameters)(natural, parameters.log_weights), statistics)

    losses = {
        (i, j): -objective(np.where(labels == j, i, labels).astype(np.int32)) for i, j in combinations(range(4), 2)
    }
    found = cheapest_pair(problem, statistics.counts, statistics.sums)
    assert losses[found] <= min(losses.values()) + 1e-6 * abs(min(losses.values()))


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_growing_and_merging_give_legal_starts(case):
    problem = problem_of(case)
    rng = np.random.default_rng(0)
    start = started(problem, 3)
    more = grown(problem, start, spread_over(problem, 5, rng), 5, rng)
    assert len(more.natural) == min(5, len(np.unique(problem.rows.X, axis=0)))
    np.testing.assert_array_equal(more.natural[: len(start.natural)], start.natural)
    fewer = merged(problem, more, 2)
    assert len(fewer.natural) == 2
    for parameters in (more, fewer):
        assert np.exp(parameters.log_weights).sum() == pytest.approx(1.0)
        assert np.isfinite(problem.incomplete_objective(parameters, problem.soften(parameters)))


def test_merging_everything_is_the_law_of_all_rows():
    case = next(case for case in CASES if case.id == "gamma-2")
    problem = problem_of(case, prior_strength=0.0)
    one = merged(problem, started(problem, 4), 1)
    np.testing.assert_allclose(one.natural[0], problem.prior_natural, rtol=1e-6)


def test_no_component_is_added_where_no_row_is_left():
    problem = Problem(CASES[0].family, np.array([[1.0], [1.0], [1.0]]), None, 1e-3)
    rng = np.random.default_rng(0)
    assert len(grown(problem, started(problem, 1), spread_over(problem, 3, rng), 3, rng).natural) == 1
