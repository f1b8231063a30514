"""Censored values and labels at the terminal: the numbers of R's survival and fitdistrplus."""

import json
from pathlib import Path

import pytest

from cli.drawing import refusal, run

DATA = Path(__file__).parents[2] / "examples" / "data"
VETERAN, SALINITY, IRIS = DATA / "veteran.csv", DATA / "salinity.csv", DATA / "iris.csv"
PLAIN = ["--prior", 0, "--resolution", "none"]


def test_events(tmp_path):
    page = tmp_path / "page.html"
    given = ["--columns", "time", "--event", "status", "--family", "exponential", *PLAIN]
    result = run("fit", VETERAN, *given, "--report", page, "--json")
    assert "k: 1, the best from 1 to 4 by BIC, larger ones were not tried" in result.stderr
    found = json.loads(result.stdout)
    assert len(found["weights"]) == 1  # the number of components is selected
    assert found["about"]["log_likelihood"] == pytest.approx(-751.22121, abs=1e-4)
    assert "Failed under the mixture: 10 % by" in page.read_text(encoding="utf-8")


def test_bounds():
    given = ["--columns", "left", "--upper", "right", "-k", 1, "--family", "gamma", *PLAIN]
    found = json.loads(run("fit", SALINITY, *given, "--json").stdout)
    assert found["source"]["shape"][0][0] == pytest.approx(4.91728, abs=1e-2)


def test_labels(tmp_path):
    lines = IRIS.read_text().splitlines()
    hidden = [line if place % 3 == 0 else line.rpartition(",")[0] + "," for place, line in enumerate(lines)]
    table = tmp_path / "iris.csv"
    table.write_text("\n".join(hidden) + "\n")
    found = run("fit", table, "--labels-from", "Species", "--family", "gaussian", "--labels", tmp_path / "labels.csv")
    assert "3 gaussian components, 150 rows of Sepal.Length" in found.stdout
    assert "classes of the components: 0 is setosa, 1 is versicolor, 2 is virginica" in found.stderr
    labels = (tmp_path / "labels.csv").read_text().split()[1:]
    truth = [line.rpartition(",")[2].strip('"') for line in lines[1:]]
    names = ["setosa", "versicolor", "virginica"]
    assert sum(names[int(label)] == name for label, name in zip(labels, truth, strict=True)) >= 144


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--columns", "time", "--event", "status", "-k", 1, "--stream"], "--event cannot be combined with --stream"),
        (["--columns", "time", "--event", "age", "-k", 1], "events are 1 (seen) or 0 (censored)"),
        (["--columns", "time,age", "--event", "status", "-k", 1], "censored values are one column, not 2"),
        (["--columns", "time", "--event", "status", "--upper", "age", "-k", 1], "cannot be combined with --upper"),
        (["--labels-from", "celltype", "--drop-missing"], "--labels-from cannot be combined with --drop-missing"),
    ],
)
def test_refusals(arguments, sentence):
    assert sentence in refusal(run("fit", VETERAN, *arguments))
