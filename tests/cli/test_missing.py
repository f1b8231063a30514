"""Tables with missing values at the terminal: used by default, dropped on request."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.drawing import refusal, run

AIR = Path(__file__).parents[2] / "examples" / "data" / "airquality.csv"
COLUMNS = ["--columns", "Ozone,Solar.R,Wind,Temp"]


def test_missing_values_are_used(tmp_path):
    model = tmp_path / "model.json"
    page = tmp_path / "page.html"
    found = run("fit", AIR, *COLUMNS, "-k", 1, "--family", "gaussian", "--prior", 0, "--resolution", "none",
                "--out", model, "--report", page, "--json")  # fmt: skip
    content = json.loads(found.stdout)
    np.testing.assert_allclose(content["source"]["mean"][0], [41.871, 184.847, 9.958, 77.882], atol=2e-3)
    assert "44 of 612 entries (7.2 %) are missing" in page.read_text()
    assert "Missing entries" in page.read_text()
    labels = run("predict", model, AIR).stdout.split()
    assert labels == ["label", *["0"] * 153]
    assert "rows                 153" in run("score", model, AIR).stdout
    run("plot", model, AIR, "--out", tmp_path / "plot.png")
    run("report", model, AIR, "--out", tmp_path / "drift.html")


def test_streams_use_them_too(tmp_path):
    given = ["fit", AIR, *COLUMNS, "-k", 2, "--family", "diagonal-gaussian", "--json"]
    whole, streamed = (json.loads(run(*given, *more).stdout) for more in ([], ["--stream"]))
    np.testing.assert_allclose(streamed["source"]["mean"], whole["source"]["mean"], rtol=1e-3)


def test_they_are_dropped_on_request():
    found = run("fit", AIR, *COLUMNS, "-k", 1, "--drop-missing")
    assert "111 rows of Ozone" in found.stdout
    assert "42 of 153 rows with missing values were dropped" in found.stderr


def test_families_that_need_complete_rows_say_so(tmp_path):
    table = tmp_path / "shares.csv"
    table.write_text("a,b\n0.5,0.5\n0.25,\n0.1,0.9\n")
    sentence = refusal(run("fit", table, "-k", 1, "--family", "dirichlet"))
    assert sentence.startswith("row 1 (line 3), column 'b' is missing (NaN): dirichlet needs complete rows")
    assert "--drop-missing" in sentence


def test_missing_weights_are_refused(tmp_path):
    table = tmp_path / "weighted.csv"
    table.write_text("a,w\n1,1\n2,\n4,1\n")
    assert "the weights" in refusal(run("fit", table, "-k", 1, "--weights", "w"))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_guesses_look_at_what_is_there(tmp_path, format):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"visits": [3, None, 0, 7, 1, 2], "share": [0.2, 0.5, None, 0.1, 0.3, 0.9]})
    path = tmp_path / f"table.{format}"
    getattr(frame, f"write_{format}")(path)
    assert "'visits' holds counts; 'share' holds numbers strictly between 0 and 1" in run("fit", path, "-k", 1).stderr


def test_text_is_read_as_categories_where_the_family_has_them(tmp_path):
    table, model = tmp_path / "towns.csv", tmp_path / "model.json"
    table.write_text("town,size,x\n" + "A,small,1.5\nB,large,\n,large,7.5\n" * 10)
    family = "categorical+categorical+gaussian"
    run("fit", table, "--family", family, "-k", 2, "--out", model)
    assert json.loads(model.read_text())["categories"] == {"town": ["A", "B"], "size": ["large", "small"]}
    assert run("predict", model, table).stdout.split()[1:4] in (["0", "1", "1"], ["1", "0", "0"])
    wrong = refusal(run("fit", table, "--family", "categorical+gaussian+gaussian", "-k", 2))
    assert "column 'size' holds categories, which gaussian cannot have" in wrong
