"""The snippet and the command that the page shows give the same model in a fresh process."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

from kmle import Mixture, explore
from kmle.explorer.fitting import fits
from kmle.explorer.provenance import FromFile
from kmle.explorer.settings import Settings
from kmle.explorer.snippets import command, python
from kmle.explorer.source import from_array, from_table
from kmle.explorer.worker import Job
from kmle.io import read_table

RUN = """
import json, sys
models = []
for snippet in json.load(sys.stdin):
    names = {}
    exec(snippet, names)
    models.append(names["model"].mixture_.to_json())
json.dump(models, open("models.json", "w"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a name for a shell to stumble on, counts, classes and gaps."""
    made = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(4, 0.6, (120, 2)), rng.normal(9, 0.6, (80, 2))])
    lines = ["it's $(a),b,visits,gaps,kind,town,time,seen,until"]
    for row, (a, b) in enumerate(X.tolist()):
        gap = "" if row % 10 == 0 else f"{a + b:.6f}"
        known = ("" if row % 3 else "0") if row < 120 else ("" if row % 3 else "1")
        town = "" if row % 4 else "Ulm" if row < 120 else "Bern"
        time, seen = rng.gamma(4, 1 + 5 * (row < 120)), int(row % 3 > 0)
        until = "" if row % 7 == 0 else f"{time + 2 * (1 - seen):.6f}"
        visits = rng.poisson(3 + 9 * (row < 120))
        lines.append(f"{a:.6f},{b:.6f},{visits},{gap},{known},{town},{time:.6f},{seen},{until}")
    (made / "my data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def source(folder):
    path = str(folder / "my data.csv")
    return from_table(read_table(path, ignore_text=True, keep_missing=True), "data", FromFile(path, has_missing=True))


def last(source, **given):
    """The fit to all rows."""
    settings = Settings.read({"n_components": 2, **given}, source)
    shown = []
    fits(source, settings, Job("page", lambda job: None), shown.append)
    return shown[-1]


def same(found, written):
    again = Mixture.from_json(written)
    assert again.family.name == found.mixture.family.name
    np.testing.assert_allclose(again.weights, found.mixture.weights, rtol=1e-9)
    np.testing.assert_allclose(again.natural, found.mixture.natural, rtol=1e-7)


COMMANDS = """
import json, os, sys
from kmle.cli import main
for name, words in json.load(sys.stdin).items():
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, (name, ended.code)
    os.replace("model.json", name + ".json")
"""

FIRST = "it's $(a)"
GIVEN = {
    "guess of mixed columns": {"columns": [FIRST, "b", "visits"]},
    "covariance model": {"columns": [FIRST, "b"], "family": "gaussian-vee"},
    "k-MLE with a fixed shape": {
        "columns": ["b"],
        "family": "fixed-shape-gamma",
        "fixed": {"shape": 2},
        "algorithm": "k-mle",
    },
    "noise, prior and seed": {"columns": [FIRST], "noise": True, "prior_strength": 0.5, "seed": 3},
    "complete rows": {"columns": ["gaps", "b"], "drop_missing": True},
    "missing values": {"columns": ["gaps", "b"], "family": "diagonal-gaussian"},
    "classes by number": {"columns": ["b"], "labels": "kind"},
    "classes by name": {"columns": [FIRST, "b"], "labels": "town"},
    "events": {"columns": ["time", "seen"], "family": "gamma", "censoring": "event:seen"},
    "upper bounds and classes": {"columns": ["time"], "censoring": "upper:until", "labels": "town"},
    "classes of complete rows": {"columns": ["gaps"], "labels": "town", "drop_missing": True},
}


@pytest.fixture(scope="module")
def fitted(source):
    """The fits to all rows, by their names."""
    return {name: last(source, **given) for name, given in GIVEN.items()}


@pytest.fixture(scope="module")
def models(fitted, folder):
    """What one fresh process makes of all snippets, each by itself."""
    snippets = [python(found) for found in fitted.values()]
    subprocess.run([sys.executable, "-c", RUN], input=json.dumps(snippets), text=True, cwd=folder, check=True)
    return dict(zip(GIVEN, json.loads((folder / "models.json").read_text(encoding="utf-8")), strict=True))


@pytest.mark.parametrize("name", GIVEN)
def test_the_snippet_gives_the_same_model(fitted, models, name):
    same(fitted[name], models[name])


WITHOUT_COMMAND = "classes of complete rows"  # --labels-from does not go with --drop-missing


@pytest.fixture(scope="module")
def written(fitted, folder):
    """Where one fresh process wrote the models of all commands."""
    words = {name: command(found) for name, found in fitted.items()}
    assert words.pop(WITHOUT_COMMAND) is None
    assert all(line.startswith("kmle fit ") for line in words.values())
    given = {name: [*shlex.split(line)[1:], "--quiet", "--force"] for name, line in words.items()}
    process = [sys.executable, "-c", COMMANDS]
    subprocess.run(process, input=json.dumps(given), text=True, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.mark.parametrize("name", [name for name in GIVEN if name != WITHOUT_COMMAND])
def test_the_command_gives_the_same_model(fitted, written, name):
    same(fitted[name], (written / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("is_frame", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        {"columns": ["b"]},
        {"columns": ["a", "b"], "labels": "c", "drop_missing": True},
        {"columns": ["b"], "family": "gaussian", "censoring": "event:c"},
    ],
)
def test_the_snippet_for_data_in_memory(is_frame, given):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(200, 2)), rng.integers(0, 2, 200)])
    X[:100, :2] += 5
    X[::9, 0] = np.nan
    table = pandas.DataFrame(X, columns=["a", "b", "c"]) if is_frame else X
    found = last(from_array(table, ["a", "b", "c"]), **given)
    names = {"X": table}
    exec(python(found), names)
    np.testing.assert_allclose(names["model"].mixture_.natural, found.mixture.natural, rtol=1e-7)
    assert command(found) is None


def test_explore_starts_a_page_and_stops():
    pytest.importorskip("uvicorn")
    page = explore(np.arange(20.0).reshape(10, 2), columns=["a", "b"], browser=False)
    assert page.address in page._repr_html_()
    page.stop()


@pytest.mark.parametrize(
    ("X", "columns", "words"),
    [
        ([["a", "b"]], None, "must hold numbers"),
        ([[1.0, 2.0]], ["a"], "1 names but X has 2 columns"),
        ([[1.0, 2.0]], ["a", "a"], "same name"),
        (np.zeros((2, 2, 2)), None, "rows and columns are needed"),
    ],
)
def test_wrong_data_is_one_sentence(X, columns, words):
    with pytest.raises(ValueError, match=words):
        explore(X, columns, browser=False)
