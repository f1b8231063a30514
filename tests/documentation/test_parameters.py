"""Every parameter and result of what users call or write is documented: signatures against sections of docstrings."""

import inspect
import re
from importlib import import_module

import pytest

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


def public_callables(module):
    """The public functions and classes of a module, and all public methods of these, inherited ones too, by name."""
    found = {}
    for name in import_module(module).__all__:
        value = getattr(import_module(module), name)
        if inspect.isfunction(value):
            found[name] = value
        elif inspect.isclass(value):
            # A protocol says what others must have; nobody calls it.
            found |= {} if getattr(value, "_is_protocol", False) else {name: value}
            found |= {f"{name}.{method}": function for method, function in methods(value)}
    return found


def methods(kind):
    """The public methods that kmle defines for a class."""
    for name, function in inspect.getmembers(kind, lambda value: inspect.isfunction(value) or inspect.ismethod(value)):
        if not name.startswith("_") and function.__module__.startswith("kmle"):
            yield name, function


def documented(docstring):
    """The names in the sections Parameters and Attributes; the results of functions have the latter."""
    sections = re.findall(
        r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", docstring, flags=re.MULTILINE | re.DOTALL
    )
    lines = re.findall(r"^(\*{0,2}\w[^:\n]*?)(?: :|$)", "".join(sections), flags=re.MULTILINE)
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}


def missing(value):
    """What the docstring of a class or function leaves out."""
    signature, docstring = inspect.signature(value), inspect.getdoc(value) or ""
    gaps = set(signature.parameters) - {"self", "cls"} - documented(docstring)
    returns = signature.return_annotation not in (None, "None", inspect.Signature.empty)
    if not inspect.isclass(value) and returns and not re.search(r"^(Returns|Yields)\n---", docstring, re.MULTILINE):
        gaps.add("Returns")
    return sorted(gaps)


@pytest.mark.parametrize("module", MODULES)
def test_every_parameter_and_result_is_documented(module):
    callables = public_callables(module)
    assert callables
    gaps = {name: missing(value) for name, value in callables.items()}
    assert {name: gap for name, gap in gaps.items() if gap} == {}


def test_what_is_left_out_is_found():
    def add(a, b, *rest) -> int:
        """Adds.

        Parameters
        ----------
        a, b : int
            Terms.
        """

    assert missing(add) == ["Returns", "rest"]
    assert missing(public_callables("kmle.families")["Poisson.sample"]) == []
