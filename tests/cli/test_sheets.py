"""Mixtures of every family as tables: all their parameters, within the width of a terminal."""

import json

import numpy as np
import pytest
from rich.console import Console

from cases import CASES, case_id
from cli.drawing import run
from kmle import Mixture
from kmle.cli.sheets import mixture_table, widest_table
from kmle.families.support import PositiveDefinite
from kmle.presentation.cells import number


def lines_of(table, width=80):
    console = Console(width=width, file=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_can_be_shown(tmp_path, case):
    mixture = Mixture(case.family, np.array([0.25, 0.75]), case.naturals(2, 0))
    shown = lines_of(widest_table(Console(width=80), mixture, None))
    assert all(len(line.rstrip()) <= 80 for line in shown)
    text = " ".join(shown)
    assert "0.25" in text
    if not isinstance(mixture.family.support, PositiveDefinite):
        scalars = [value for value in mixture.source.values() if value.ndim == 2 and value.shape[1] <= 3]
        assert all(number(entry) in text for value in scalars for entry in value.ravel())
    path = tmp_path / "model.json"
    path.write_text(mixture.to_json())
    assert run("show", path).exit_code == 0
    assert set(json.loads(run("show", path, "--json").stdout)["source"]) == set(mixture.source)
    assert run("sample", path, "-n", 5, "--out", tmp_path / "rows.csv").exit_code == 0
    assert run("score", path, tmp_path / "rows.csv").exit_code == 0


def test_correlations_stand_under_their_columns():
    covariance = np.array([[4.0, 1.0, -1.0], [1.0, 1.0, 0.0], [-1.0, 0.0, 9.0]])
    mixture = Mixture.from_source("gaussian", [1.0], mean=np.zeros((1, 3)), covariance=[covariance])
    *_, second, third = [line for line in lines_of(mixture_table(mixture, ["a", "b", "c"])) if line.strip()]
    assert second.split()[-2:] == ["1", "0.50"]
    assert third.split()[-3:] == ["3", "-0.17", "0.00"]
    assert second.index("0.50") == third.index("-0.17") + 1


def test_a_narrow_console_gets_what_fits():
    class Errors:
        weights = np.array([0.01, 0.01])
        source = {"mean": np.full((2, 2), 0.1), "covariance": np.full((2, 2, 2), 0.1)}  # noqa: RUF012

    mixture = Mixture.from_source("gaussian", [0.5, 0.5], mean=np.ones((2, 2)), covariance=[np.eye(2)] * 2)
    wide, middle, narrow = (
        "\n".join(lines_of(widest_table(Console(width=width), mixture, ["a", "b"], None, Errors)))
        for width in (100, 50, 40)
    )
    assert "±" in wide
    assert "correlation" in wide
    assert "±" in middle
    assert "correlation" not in middle
    assert "±" not in narrow
