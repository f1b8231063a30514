"""`kmle classify`, `regress` and `outliers`: the same answers as the estimators, model files, tables, refusals."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from cli.drawing import FAITHFUL, refusal, run
from kmle import Mixture, MixtureClassifier, MixtureImputer, MixtureOutlierDetector, MixtureRegressor

IRIS = load_iris()
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
SPECIES = IRIS.target_names[IRIS.target]
GEYSER = pl.read_csv(FAITHFUL).to_numpy().astype(float)


@pytest.fixture
def flowers(tmp_path):
    path = tmp_path / "flowers.csv"
    pl.DataFrame(dict(zip(NAMES, IRIS.data.T, strict=True)) | {"species": SPECIES}).write_csv(path)
    return path


@pytest.fixture
def field(tmp_path):
    path = tmp_path / "field.csv"
    pl.DataFrame(dict(zip(NAMES, IRIS.data[::10].T, strict=True))).write_csv(path)
    return path


def figures(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


# classify -------------------------------------------------------------------------------------------------------------


def test_classes_are_those_of_the_classifier(flowers, field, tmp_path):
    out, model = tmp_path / "classes.csv", tmp_path / "species.json"
    command = ["classify", flowers, "--target", "species", "--family", "gaussian", "-k", 1]
    found = figures(run(*command, "--new", field, "--out", out, "-p", "--save", model, "--json"))
    expected = MixtureClassifier(1).fit(IRIS.data, SPECIES)
    assert found["accuracy"] == expected.score(IRIS.data, SPECIES)
    table = pl.read_csv(out)
    assert table["class"].to_list() == expected.predict(IRIS.data[::10]).tolist()
    shares = table.select(f"probability_{name}" for name in expected.classes_).to_numpy()
    np.testing.assert_allclose(shares, expected.predict_proba(IRIS.data[::10]), atol=1e-12)
    assert sum(found["predicted"].values()) == 15
    # The saved model gives the same classes.
    again = tmp_path / "again.csv"
    assert run("classify", field, "--model", model, "--out", again, "--append", "-p").exit_code == 0
    saved = pl.read_csv(again)
    assert saved.columns == [*NAMES, *table.columns]
    np.testing.assert_allclose(saved.select(table.columns[1:]).to_numpy(), shares, atol=1e-12)


def test_several_components_and_rejected_rows(flowers, tmp_path):
    out, model = tmp_path / "classes.csv", tmp_path / "species.json"
    run("classify", flowers, "--target", "species", "-k", 2, "--save", model)
    content = json.loads(model.read_text())
    assert content["about"]["component_classes"] == [0, 0, 1, 1, 2, 2]
    found = figures(run("classify", flowers, "-m", model, "--reject", 0.999, "--out", out, "--json"))
    classes = pl.read_csv(out)["class"]
    assert found["predicted"]["rejected"] == (classes == "rejected").sum() > 0


def test_classes_are_shown(flowers):
    shown = run("classify", flowers, "--target", "species", "--folds", 5)
    assert "versicolor" in shown.stdout
    assert "cross-validated" in shown.stdout
    assert shown.stderr.count("Values are rounded") == 1


# regress --------------------------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_regressor(tmp_path):
    out, model = tmp_path / "waiting.csv", tmp_path / "joint.json"
    command = ["regress", FAITHFUL, "--target", "waiting", "-k", 2, "--std", "--quantiles", "0.05,0.95"]
    found = figures(run(*command, "--out", out, "--save", model, "--json"))
    expected = MixtureRegressor(2, random_state=0).fit(GEYSER[:, :1], GEYSER[:, 1])
    mean, std = expected.predict(GEYSER[:, :1], return_std=True)
    table = pl.read_csv(out)
    np.testing.assert_allclose(table["predicted_waiting"], mean, rtol=1e-9)
    np.testing.assert_allclose(table["std_waiting"], std, rtol=1e-9)
    quantiles = expected.predict_quantile(GEYSER[:, :1], [0.05, 0.95])
    np.testing.assert_allclose(table.select("waiting_q0.05", "waiting_q0.95").to_numpy(), quantiles, rtol=1e-6)
    assert found["r2"] == pytest.approx(expected.score(GEYSER[:, :1], GEYSER[:, 1]))
    # Any column can be predicted from the others by the joint model.
    back = figures(run("regress", FAITHFUL, "--target", "eruptions", "--model", model, "--json"))
    turned = Mixture.load(model).condition({"waiting": GEYSER[:, 1]}).mean()
    assert back["predicted_mean"] == pytest.approx(turned.mean())


def test_predictions_are_appended(tmp_path):
    out = tmp_path / "longer.csv"
    assert run("regress", FAITHFUL, "--target", "waiting", "--append", "--out", out, "--quiet").stdout == ""
    assert pl.read_csv(out).columns == ["eruptions", "waiting", "predicted_waiting"]


# outliers -------------------------------------------------------------------------------------------------------------


def test_outliers_are_those_of_the_detector(tmp_path):
    out, model = tmp_path / "marked.csv", tmp_path / "normal.json"
    command = ["outliers", FAITHFUL, "-k", 2, "--family", "gaussian", "--contamination", 0.02]
    found = figures(run(*command, "--out", out, "--save", model, "--json"))
    expected = MixtureOutlierDetector(2, contamination=0.02, random_state=0).fit(GEYSER)
    assert found["threshold"] == pytest.approx(expected.offset_)
    table = pl.read_csv(out)
    np.testing.assert_array_equal(table["outlier"] == 1, expected.predict(GEYSER) == -1)
    np.testing.assert_allclose(table["log_density"], expected.score_samples(GEYSER), rtol=1e-9)
    assert found["outlier_rows"] == np.argsort(table["log_density"].to_numpy())[: found["outliers"]].tolist()
    assert figures(run("outliers", FAITHFUL, "-m", model, "--json")) == found
    most = figures(run("outliers", FAITHFUL, "-m", model, "--json", "--contamination", 0.5))
    assert most["outliers"] == len(GEYSER) // 2


def test_rows_with_holes_are_learned_from_and_predicted(tmp_path):
    """Entries of features and of the target may be missing; rows without a target are predicted only."""
    holed = IRIS.data.copy()
    holed[np.random.default_rng(0).random(holed.shape) < 0.1] = np.nan
    species = [None if row in (3, 70) else name for row, name in enumerate(SPECIES)]
    path, out = tmp_path / "holed.csv", tmp_path / "out.csv"
    columns = [pl.Series(name, holed[:, place], nan_to_null=True) for place, name in enumerate(NAMES)]
    pl.DataFrame([*columns, pl.Series("species", species)]).write_csv(path)
    result = run("classify", path, "--target", "species", "-k", 1, "--family", "gaussian", "--out", out, "--json")
    assert "2 rows have no 'species': predicted, and not learned from" in result.stderr
    assert figures(result)["rows"] == 148
    assert (pl.read_csv(out)["class"].to_numpy() == SPECIES).mean() > 0.95
    regress = ["regress", path, "--target", "petal_width", "--ignore-text", "-k", 1, "--out", out, "--force"]
    assert f"{np.isnan(holed[:, 3]).sum()} rows have no 'petal_width'" in run(*regress).stderr
    predicted = pl.read_csv(out)["predicted_petal_width"].to_numpy()
    assert np.corrcoef(predicted, IRIS.data[:, 3])[0, 1] > 0.95
    model = tmp_path / "model.json"
    run("fit", path, "--ignore-text", "-k", 1, "--out", model)
    run("regress", path, "--target", "petal_width", "-m", model, "--out", out, "--force")
    np.testing.assert_allclose(pl.read_csv(out)["predicted_petal_width"], predicted, atol=0.05)
    detector = MixtureOutlierDetector(1, contamination=0.1, random_state=0).fit(holed)
    run("outliers", path, "--ignore-text", "-k", 1, "--contamination", 0.1, "--out", out, "--force")
    np.testing.assert_array_equal(pl.read_csv(out)["outlier"], detector.predict(holed) == -1)
    assert "no row has a value of 'species'" in refusal(
        run("classify", _without(path, tmp_path), "--target", "species")
    )


def _without(path, folder):
    """The table without any class."""
    pl.read_csv(path).with_columns(species=pl.lit(None, pl.String)).write_csv(folder / "none.csv")
    return folder / "none.csv"


def test_any_model_marks_outliers(tmp_path):
    model = tmp_path / "model.json"
    run("fit", FAITHFUL, "-k", 2, "--out", model)
    shown = run("outliers", FAITHFUL, "--model", model)
    assert "log-density" in shown.stdout
    assert 0 < figures(run("outliers", FAITHFUL, "--model", model, "--json"))["outliers"] < 12


def test_rows_on_standard_output_are_alone():
    lines = run("outliers", FAITHFUL, "--out", "-").stdout.strip().splitlines()
    assert lines[0] == "outlier,log_density"
    assert len(lines) == len(GEYSER) + 1


# impute ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def holed(tmp_path):
    path = tmp_path / "holed.csv"
    rows = np.array(IRIS.data)
    rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    pl.DataFrame(dict(zip(NAMES, rows.T, strict=True)) | {"species": SPECIES}, nan_to_null=True).write_csv(path)
    return path, rows


def test_imputed_values_are_those_of_the_imputer(holed, tmp_path):
    path, rows = holed
    out, model = tmp_path / "complete.csv", tmp_path / "model.json"
    command = ["impute", path, "--ignore-text", "-k", 2, "--family", "gaussian"]
    found = figures(run(*command, "--out", out, "--save", model, "--json"))
    expected = MixtureImputer(2, random_state=0).fit_transform(rows)
    table = pl.read_csv(out)
    assert table.columns == NAMES
    np.testing.assert_allclose(table.to_numpy(), expected, rtol=1e-9)
    assert found["missing"] == np.isnan(rows).sum() == sum(found["missing_by_column"].values())
    assert "mean of imputed" in run(*command).stdout
    # Draws by the saved model, with all columns in their places.
    draws = tmp_path / "draws.csv"
    assert run("impute", path, "-m", model, "--sample", "--append", "--out", draws).exit_code == 0
    drawn = pl.read_csv(draws)
    assert drawn.columns == [*NAMES, "species"]
    known = ~np.isnan(rows)
    values = drawn.select(NAMES).to_numpy()
    np.testing.assert_array_equal(values[known], rows[known])
    assert 0.01 < np.abs(values[~known] - expected[~known]).mean() < 1


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["classify", "FLOWERS"], "--target is missing"),
        (["classify", "FLOWERS", "--target", "specie"], "did you mean 'species'"),
        (
            ["classify", "FLOWERS", "--target", "species", "-k", "60"],
            "setosa: -k is 60 but there are only 50 rows",
        ),
        (["classify", "FLOWERS", "--target", "species", "--folds", "51"], "--folds is 51: it must be from 2 to 50"),
        (["classify", "FLOWERS", "--target", "species", "--append"], "--append needs --out"),
        (["classify", "FLOWERS", "--target", "species", "--out", "FLOWERS"], "FLOWERS"),
        (["classify", "FIELD", "--model", "MODEL"], "has no classes"),
        (["classify", "FIELD", "--model", "MODEL", "--save", "x.json"], "--save cannot be combined with --model"),
        (["regress", "FLOWERS", "--target", "petal_width"], "select others with --columns or use --ignore-text"),
        (["regress", "FIELD", "--target", "petl_width"], "did you mean 'petal_width'"),
        (["regress", "FIELD", "--target", "petal_width", "-c", "petal_width"], "no column besides 'petal_width'"),
        (["regress", "FIELD", "--target", "petal_width", "--quantiles", "5,95"], "probabilities between 0 and 1"),
        (["regress", "FIELD", "--target", "petal_width", "--model", "MODEL"], "has no column 'petal_width'"),
        (["outliers", "FIELD", "--contamination", "0.7"], "--contamination is 0.7"),
        (["outliers", "FIELD", "--cluster-share", "0.7"], "--cluster-share is 0.7"),
        (["outliers", "FIELD", "--contamination", "some"], "--contamination is some"),
        (["outliers", "FIELD", "--model", "MODEL"], "has no column 'eruptions'"),
        (["outliers", "FIELD", "--new", "MISSING"], "not found"),
    ],
)
def test_wrong_usage_is_refused_in_one_sentence(flowers, field, tmp_path, command, sentence):
    model = tmp_path / "model.json"
    plain = Mixture.from_source("gaussian", [1.0], mean=[[0.0, 0.0]], covariance=[np.eye(2)])
    plain.with_columns(["eruptions", "waiting"]).save(model)
    places = {"FLOWERS": flowers, "FIELD": field, "MODEL": model, "MISSING": tmp_path / "missing.csv"}
    said = refusal(run(*(places.get(word, word) for word in command)))
    assert str(places.get(sentence, sentence)) in said
