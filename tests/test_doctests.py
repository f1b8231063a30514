"""Every example in a docstring of the installed package gives what it says."""

import doctest
import importlib
import io

import pytest

from package import module_files

# Running `python -m kmle` is what a __main__ is for; importing it is not.
MODULES = [name for name in module_files() if not name.endswith("__main__")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "kmle").split(".")[0] == "kmle":
            raise
        pytest.skip(f"{name} needs the optional package {error.name}")
    assert report_of_failures(module) == ""


def test_a_wrong_example_is_reported():
    module = type(doctest)("planted", ">>> 1 + 1\n3\n")
    assert "Expected:\n    3\nGot:\n    2" in report_of_failures(module)


def report_of_failures(module):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report = io.StringIO()
    for example in doctest.DocTestFinder().find(module):
        runner.run(example, out=report.write)
    return report.getvalue()
