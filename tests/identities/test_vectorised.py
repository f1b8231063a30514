"""Every formula works on stacks of parameters at once, and on a million rows without a million calls."""

import numpy as np
import pytest

from cases import CASES, case_id
from kmle.families import Poisson

ONE = [
    "log_normalizer",
    "moment_from_natural",
    "entropy",
    "mean_log_carrier",
    "fisher_information",
]
TWO = ["bregman", "kl", "cross_entropy", "chernoff_coefficient", "bhattacharyya_coefficient", "chernoff_information"]
OF_MOMENTS = ["natural_from_moment", "conjugate"]


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_stacked_parameters_give_stacked_answers(case):
    family = case.family
    stack = case.naturals(6, seed=11).reshape(2, 3, -1)
    other = case.naturals(6, seed=12).reshape(2, 3, -1)
    moment, other_moment = family.moment_from_natural(stack), family.moment_from_natural(other)
    answers = {name: (getattr(family, name), (stack,)) for name in ONE}
    answers |= {name: (getattr(family, name), (stack, other)) for name in TWO}
    answers |= {name: (getattr(family, name), (moment,)) for name in OF_MOMENTS}
    answers["dual_bregman"] = family.dual_bregman, (moment, other_moment)
    for name, (function, arguments) in answers.items():
        merge = function(*arguments)
        assert merge.shape[:2] == (2, 3), name
        for i, j in ((0, 1), (1, 2)):
            alone = function(*(argument[i, j][None] for argument in arguments))
            np.testing.assert_allclose(merge[i, j], alone[0], rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_stacked_laws_have_stacked_usual_parameters(case):
    stack = case.naturals(6, seed=13).reshape(2, 3, -1)
    merge = case.family.source_from_natural(stack)
    for i, j in np.ndindex(2, 3):
        for name, value in case.family.source_from_natural(stack[i, j][None]).items():
            np.testing.assert_allclose(merge[name][i, j], value[0], rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_law_against_many(case):
    dists = case.naturals(3, seed=14)
    for name in TWO:
        function = getattr(case.family, name)
        np.testing.assert_allclose(
            function(dists[0], dists), [function(dists[0], dist) for dist in dists], rtol=1e-8, atol=1e-8, err_msg=name
        )


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rows_and_components_do_not_meet(case):
    dists = case.naturals(4, seed=15)
    rows = case.sample(dists[0], 6, seed=15)
    merge = case.family.log_density(rows, dists)
    assert merge.shape == (6, 4)
    for i, j in np.ndindex(6, 4):
        np.testing.assert_allclose(merge[i, j], case.family.log_density(rows[i : i + 1], dists[j]).item(), rtol=1e-10)


def test_a_million_rows_take_few_calls(monkeypatch):
    calls = []
    plain = Poisson.sufficient_statistic

    def counted(self, X):
        calls.append(len(X))
        return plain(self, X)

    monkeypatch.setattr(Poisson, "sufficient_statistic", counted)
    rng = np.random.default_rng(16)
    rows = rng.poisson(5.0, (1_000_000, 1)).astype(float)
    dists = np.log(rng.uniform(1, 20, (32, 1)))
    density = Poisson(n_features=1).log_density(rows, dists)
    assert density.shape == (1_000_000, 32)
    assert 1_000_000 <= sum(calls) <= 1_000_002  # the lowest and the highest values are looked at first
    assert len(calls) <= 17
    Poisson().mle(rows)
    assert len(calls) <= 34
