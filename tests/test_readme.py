"""What README.md and its companions say is so: their code runs, shows what it says, and their tables match the code."""

import ast
import doctest
import importlib
import os
import re
import subprocess
import sys
from dataclasses import MISSING, fields

import numpy as np
import pytest

from documentation.pages import ROOT, codes, fenced_blocks, table, text
from kmle.families import FAMILIES, ExponentialFamily, Product, check_family

# Code -----------------------------------------------------------------------------------------------------------------


def test_the_first_command_prints_what_the_page_shows(tmp_path):
    for package in ("typer", "rich", "polars", "matplotlib"):
        pytest.importorskip(package)
    shown = next(output for language, output in fenced_blocks("docs/start/five-minutes.md") if language == "text")
    command = next(code for language, code in fenced_blocks("README.md") if language == "sh")
    assert command.rstrip().endswith("kmle demo")
    run = [sys.executable, "-m", "kmle", "demo"]
    message = subprocess.run(
        run, capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ | {"COLUMNS": "80"}
    )
    assert comparable(message.stdout) == comparable(shown)
    assert {path.name for path in (tmp_path / "kmle-demo").iterdir()} == {
        "faithful.json",
        "faithful.png",
        "faithful.html",
    }


def comparable(printed):
    """What was printed, without the seconds it took and blanks at the ends of lines."""
    return [re.sub(r"\d+\.\d+ s$", "... s", line.rstrip()) for line in printed.splitlines()]


def test_the_example_runs():
    run = [sys.executable, str(ROOT / "examples" / "faithful.py")]
    message = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "k-MLE: 1 iterations" in message
    assert "log-likelihood -1130.264" in message


def test_the_picture_can_be_drawn_again(tmp_path):
    pytest.importorskip("matplotlib")
    run = [sys.executable, str(ROOT / "examples" / "picture.py"), str(tmp_path / "drawn.png")]
    subprocess.run(run, capture_output=True, check=True, env=os.environ | {"MPLBACKEND": "agg"})
    assert (tmp_path / "drawn.png").stat().st_size > 10_000


def test_the_family_to_copy_obeys_every_law(tmp_path, monkeypatch):
    marked = text("CONTRIBUTING.md").partition("<!-- family-skeleton -->")[2]
    source = re.search(r"^```python\n(.*?)^```$", marked, flags=re.MULTILINE | re.DOTALL).group(1)
    (tmp_path / "copied_family.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("copied_family")
    (kind,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ExponentialFamily) and value.__module__ == "copied_family"
    )
    report = check_family(kind(1.5, n_features=1), [[-0.3], [-1.0], [-4.0]])
    assert report.ok, str(report)
    assert all(result.holds for result in report.results), str(report)
    two_columns = check_family(kind(1.5, n_features=2), [[-0.3, -2.0]])
    assert two_columns.ok, str(two_columns)
    # Its entropy has a closed form of its own; quadrature must agree.
    one, natural = kind(1.5, n_features=1), np.array([[-0.3], [-4.0]])
    np.testing.assert_allclose(one.mean_log_carrier(natural), one.integrate_log_carrier(natural), rtol=1e-9)
    assert doctest.testmod(module) == (0, 1)


# Tables ---------------------------------------------------------------------------------------------------------------


def test_the_table_of_families_is_the_registry():
    rows = table("docs/families.md", "Short name", "Class")
    assert [codes(row[0])[0] for row in rows] == list(FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_row_of(name):
    kind = FAMILIES[name]
    row = next(row for row in table("docs/families.md", "Short name", "Class") if codes(row[0]) == [name])
    assert codes(row[1]) == [kind.__name__]
    assert row[1].endswith("*") == kind.independent_columns
    if kind is not Product:
        assert codes(row[3]) == list(kind.parameters)
    facts = [(field.name, field.default) for field in fields(kind) if field.name != "n_features"]
    written = {MISSING: "{}", None: "{}=?"}
    assert codes(row[4]) == [written.get(default, f"{{}}={default}").format(fact) for fact, default in facts]


@pytest.mark.parametrize(
    ("words", "legal", "illegal"),
    [
        ("zeros and ones", [0.0, 1.0], [0.5, 2.0, -1.0]),
        ("numbers between 0 and 1", [0.5], [0.0, 1.0]),
        ("positive numbers", [1e-9, 3.5], [0.0, -1.0]),
        ("non-negative numbers", [0.0, 3.5], [-1.0]),
        ("counts 0, 1, 2, ...", [0.0, 7.0], [0.5, -1.0]),
        ("real numbers", [-3.5, 0.0], []),
        ("real vectors", [-3.5, 0.0], []),
        ("angles in radians", [-9.0, 2.0], []),
    ],
)
def test_the_data_a_family_takes(words, legal, illegal):
    names = [codes(row[0])[0] for row in table("docs/families.md", "Short name", "Class") if row[2] == words]
    assert names
    for name in names:
        support = FAMILIES[name].support
        assert not support.outside(np.array(legal)[:, None]).any()
        assert support.outside(np.array(illegal).reshape(-1, 1)).all()


def test_floors_and_caps_are_those_of_the_code():
    rows = table("docs/families.md", "Constant", "Value")
    assert len(rows) >= 10
    for constant, value, *_ in rows:
        module, _, name = codes(constant)[0].rpartition(".")
        assert getattr(importlib.import_module(f"kmle.{module}"), name) == pytest.approx(float(value), rel=1e-3), name


# Errata ---------------------------------------------------------------------------------------------------------------


def test_the_errata_and_the_tests_name_each_other():
    named = set(re.findall(r"`(test_[ab]\d+_\w+)`", text("docs/errata.md")))
    written = {
        node.name
        for path in (ROOT / "tests" / "paper").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and re.match(r"test_[ab]\d+_", node.name)
    }
    assert named == written


def test_every_misprint_has_its_row():
    numbers = [row[0] for row in table("docs/errata.md", "No.", "Where")]
    assert numbers == [f"A{i}" for i in range(1, 30)]
