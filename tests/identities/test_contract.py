"""Every family keeps the contract: in the table, listed, documented, and nothing final written over."""

import inspect
from dataclasses import FrozenInstanceError

import pytest

from cases import CASES, case_id
from kmle import families
from kmle.families import FAMILIES, CustomFamily, ExponentialFamily
from kmle.families.member import Member


def final_names(base):
    """The names a class marks as final; properties carry no mark that Python could show, so they are named here."""
    marked = {name for name, value in vars(base).items() if getattr(value, "__final__", False)}
    return marked | ({"n_statistics", "n_parameters"} if base is ExponentialFamily else set())


def overridden(kind):
    """What a class, or one between it and the contract, writes over although it is final further up."""
    line = kind.__mro__
    return [
        (below.__name__, name)
        for place, base in enumerate(line)
        for name in final_names(base)
        for below in line[:place]
        if name in vars(below)
    ]


def test_the_table_has_every_family():
    # Student t is no exponential family and has tests of its own.
    assert {case.family.name for case in CASES} == set(FAMILIES) - {"student-t"}
    assert len({case.id for case in CASES}) == len(CASES)


def test_there_is_something_final():
    derived = {"log_density", "mle", "kl", "bregman", "entropy", "fisher_information", "right_centroid", "n_statistics"}
    assert derived <= set().union(*map(final_names, ExponentialFamily.__mro__))


@pytest.mark.parametrize("kind", [*FAMILIES.values(), CustomFamily], ids=lambda kind: kind.__name__)
def test_nothing_final_is_overridden(kind):
    assert overridden(kind) == []


def test_an_override_would_be_seen():
    class Careless(families.Poisson):
        def entropy(self, natural):
            return natural

    assert overridden(Careless) == [("Careless", "entropy")]


@pytest.mark.parametrize("kind", FAMILIES.values(), ids=lambda kind: kind.__name__)
def test_every_family_is_documented_with_an_example(kind):
    assert (inspect.getmodule(kind).__doc__ or "").strip()
    assert ">>> " in kind.__doc__
    assert getattr(families, kind.__name__) is kind
    assert kind.__name__ in families.__all__


@pytest.mark.parametrize("name", FAMILIES)
def test_names_are_lower_case_with_hyphens(name):
    assert name == name.lower()
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz-")


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_family_is_a_value(case):
    with pytest.raises(FrozenInstanceError):
        case.family.n_features = 7
    assert hash(case.family) == hash(case.family.for_data(case.sample(case.naturals(1, 0)[0], 5)))


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_law_says_what_it_is(case):
    dist = Member(case.family, case.naturals(1, seed=1))
    text = repr(dist)
    assert text.startswith(case.family.name + "(")
    assert all(f"{name}=" in text for name in case.family.parameters)
    assert "\n" not in text


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_free_parameters_are_counted(case):
    """As many as the rank of the covariance of t, which the Fisher information is."""
    redundant = {"categorical-one-column": 1, "categorical-two-columns": 2, "multinomial": 1}
    assert case.family.n_parameters == case.family.n_statistics - redundant.get(case.id, 0)
