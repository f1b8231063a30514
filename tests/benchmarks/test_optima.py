"""The benchmarks of defaults and optima work; what they measure never fails a test."""

import sys
from pathlib import Path

import numpy as np
import pytest

from kmle import Mixture

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.cells import CELLS, Cell  # noqa: E402
from benchmarks.defaults import LINES, Line, Measured, summary  # noqa: E402
from benchmarks.references import Reference, read, reference, write  # noqa: E402
from benchmarks.regular import grid_steps, is_regular  # noqa: E402

from benchmarks import defaults, optima  # noqa: E402


def test_cells_are_many_different_and_legal():
    assert len(CELLS) >= 150
    assert len({str(cell) for cell in CELLS}) == len(CELLS)
    for cell in CELLS:
        family = cell.model_family().for_data(cell.X)
        assert len(family.check(cell.X)) == len(cell.X)
    assert {cell.k for cell in CELLS} == {*range(2, 10), 12}


def test_every_cell_has_a_reference():
    known = read()
    for cell in CELLS:
        assert set(known[str(cell)].best) == {"em", "k-mle"}


def test_optima_of_one_cell_are_reported(tmp_path, capsys):
    file = tmp_path / "optima.json"
    given = ["--only", "copper | gamma", "--seeds", "1", "--left", "--file", str(file)]
    assert optima.main(given) == 0
    assert "missed the best regular optimum known: 0 of 1" in capsys.readouterr().out
    assert set(read(file)) == {"copper | gamma | 2"}


def test_a_reference_keeps_the_best(tmp_path):
    reference = Reference()
    reference.improve("em", -10.0, True, "a")
    reference.improve("em", -8.0, False, "b")
    reference.improve("em", -12.0, True, "c")
    assert (reference.best["em"], reference.regular["em"], reference.found_by["em"]) == (-8.0, -10.0, "a")
    write({"x": reference}, tmp_path / "file.json")
    assert read(tmp_path / "file.json") == {"x": reference}


def test_spikes_are_not_regular():
    X = np.round(np.random.default_rng(0).normal(size=(200, 1)), 1)
    assert grid_steps(X) == pytest.approx([0.1])
    wide = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[-0.5], [0.5]], covariance=[[[1.0]], [[1.0]]])
    spike = Mixture.from_source("gaussian", [0.9, 0.1], mean=[[0.0], [0.2]], covariance=[[[1.0]], [[1e-8]]])
    assert is_regular(wide, X)
    assert not is_regular(spike, X)


def test_scikit_learn_has_three_of_the_models():
    assert Cell("iris", "diagonal-gaussian", 3).covariance_type == "diag"
    assert Cell("iris", "gamma", 3).covariance_type is None


def test_lines_are_marked_where_ours_is_behind():
    line = Line("x", lambda: np.zeros((1000, 2)), 2)
    fine = Measured(line, (1000, 2), 0.02, -1.0, 0.01, -1.0, True)
    slow = Measured(line, (1000, 2), 0.2, -1.0, 0.1, -1.0, True)
    low = Measured(line, (1000, 2), 0.05, -1.1, 0.1, -1.0, True)
    spike = Measured(line, (1000, 2), 0.05, -1.1, 0.1, -1.0, False)
    assert [measured.behind for measured in (fine, slow, low, spike)] == ["", "time", "likelihood", ""]
    assert summary([fine, slow, low])[0].startswith("Behind on 2 of 3 lines")


def test_defaults_of_one_line_are_reported(capsys):
    assert len(LINES) >= 12
    assert defaults.main(["--only", "faithful", "--seeds", "1"]) == 0
    assert "| faithful, 272 x 2 (2) |" in capsys.readouterr().out


def test_a_reference_is_the_best_of_many_starts():
    cell = next(cell for cell in CELLS if str(cell) == "galaxies | gaussian | 2")
    found = reference(cell, starts=3)
    assert found.regular["em"] >= found.regular["k-mle"]
