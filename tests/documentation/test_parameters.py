"""Every parameter of what users call is documented: signatures against the sections of docstrings."""

import inspect
import re
from importlib import import_module

import pytest
from sklearn.base import BaseEstimator

import kmle
from kmle.algorithms import State
from kmle.families import ExponentialFamily

MODULES = [
    "kmle",
    "kmle.algorithms",
    "kmle.divergences",
    "kmle.families",
    "kmle.images",
    "kmle.inspection",
    "kmle.io",
    "kmle.plotting",
    "kmle.report",
    "kmle.selection",
]


def public_callables():
    """Functions, families, estimators and mixtures, and the methods of all that is not a contract, by their names."""
    found = {}
    for module in map(import_module, MODULES):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or (inspect.isclass(value) and is_built(value)):
                found[f"{module.__name__}.{name}"] = value
            if inspect.isclass(value) and not is_contract(value):
                found |= {f"{module.__name__}.{name}.{method}": function for method, function in methods(value)}
    return found


def is_built(kind):
    """Whether users make objects of a class; functions return the others."""
    return issubclass(kind, (ExponentialFamily, BaseEstimator)) or kind is kmle.Mixture


def is_contract(kind):
    """Whether its methods are what a family or an algorithm of your own must have; users call others."""
    return issubclass(kind, (ExponentialFamily, State)) or hasattr(kind, "step")


def methods(kind):
    """The public methods that kmle defines for a class."""
    for name, function in inspect.getmembers(kind, lambda value: inspect.isfunction(value) or inspect.ismethod(value)):
        if not name.startswith("_") and function.__module__.startswith("kmle"):
            yield name, function


def documented(docstring):
    """The names in the section Parameters."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", docstring, flags=re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^(\*{0,2}\w[^:\n]*?)(?: :|$)", section.group(1) if section else "", flags=re.MULTILINE)
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}


@pytest.mark.parametrize(("name", "value"), public_callables().items(), ids=public_callables())
def test_every_parameter_is_documented(name, value):
    parameters = [parameter for parameter in inspect.signature(value).parameters if parameter not in ("self", "cls")]
    missing = set(parameters) - documented(inspect.getdoc(value) or "")
    assert not missing, f"{name} has no line for {sorted(missing)}"


def test_a_missing_line_is_found():
    assert documented(
        "Adds.\n\nParameters\n----------\na, b : int\n    Terms.\n*rest\n    More.\n\nReturns\n-------\nint"
    ) == {
        "a",
        "b",
        "rest",
    }
