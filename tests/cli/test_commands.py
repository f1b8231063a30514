"""Every command does what its help says, and says it."""

import json

import numpy as np
import polars as pl
import pytest

import kmle
from cli.drawing import FAITHFUL, rows, run
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.cli.options import AlgorithmName, InitName
from kmle.families import FAMILIES
from kmle.seeding import SEEDINGS

COMMANDS = ["fit", "select", "predict", "score", "show", "sample", "simplify", "compare", "families", "demo"]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.json"
    assert run("fit", FAITHFUL, "-k", 2, "--out", path, "-q").exit_code == 0
    return path


@pytest.fixture
def faithful():
    return pl.read_csv(FAITHFUL).to_numpy()


def test_fit_prints_what_the_library_learns(faithful):
    result = run("fit", FAITHFUL, "-k", 2)
    fit = ExponentialFamilyMixture(2, random_state=0).fit(faithful)
    assert result.exit_code == 0
    shown = result.stdout
    assert f"{fit.result_.log_likelihood:.3f}, complete {fit.result_.complete_log_likelihood:.3f}" in shown
    assert f"{fit.aic(faithful):.3f}, {fit.bic(faithful):.3f}, {fit.icl(faithful):.3f}" in shown
    assert fit.result_.stop_reason in shown
    assert f"{fit.result_.engine} engine" in shown
    for j, size in enumerate(np.bincount(fit.labels_)):
        assert f"{fit.weights_[j]:.4g}" in shown
        assert str(size) in shown
        assert all(f"{value:.4g}" in shown for value in fit.mixture_.source["mean"][j])
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_the_guess_and_its_reason_are_told():
    assert "family: gaussian, as 'eruptions', 'waiting' hold real numbers" in run("fit", FAITHFUL, "-k", 2).stderr


@pytest.mark.parametrize("algorithm", AlgorithmName)
def test_every_algorithm_runs(tmp_path, algorithm):
    path = tmp_path / "counts.csv"
    pl.DataFrame({"n": [0, 1, 1, 2, 30, 31, 29, 33]}).write_csv(path)
    result = run("fit", path, "-k", 2, "--algorithm", algorithm, "--family", "poisson", "--json")
    content = json.loads(result.stdout)
    assert content["about"]["algorithm"] == algorithm
    assert sorted(content["sizes"]) == [4, 4]


def test_the_options_name_what_the_library_has():
    assert {*AlgorithmName} == {*KMLE._algorithms, *ExponentialFamilyMixture._algorithms}
    assert {*InitName} <= {"auto", *SEEDINGS}


def test_restarts_are_those_of_the_library(faithful):
    for restarts in ("auto", "3"):
        result = run("fit", FAITHFUL, "-k", 3, "--restarts", restarts)
        starts = (
            ExponentialFamilyMixture(3, n_init=restarts if restarts == "auto" else 3, random_state=0)
            .fit(faithful)
            .result_.starts
        )
        assert f"{starts.agreeing} of {starts.n} starts agree" in " ".join(result.stdout.split())
    assert run("fit", FAITHFUL, "-k", 3).stdout.count("starts agree") == 1
    assert "1 start" in run("fit", FAITHFUL, "-k", 3, "--restarts", 1).stdout


@pytest.mark.parametrize("command", ["fit", "select"])
@pytest.mark.parametrize("restarts", ["0", "-1", "some", "1.5", ""])
def test_restarts_that_are_none_are_refused(command, restarts):
    result = run(command, FAITHFUL, "--restarts", restarts)
    assert result.exit_code == 2
    assert f"--restarts is {restarts}: write auto or a whole number of at least 1" in " ".join(result.stderr.split())


def test_doubts_about_a_fit_are_told(tmp_path):
    path = tmp_path / "counts.csv"
    counts = np.random.default_rng(0).negative_binomial(1, 0.02, 300)
    pl.DataFrame({"n": counts}).write_csv(path)
    fit = run("fit", path, "-k", 2, "--family", "poisson", "--restarts", 1)
    assert "try --family negative-binomial" in " ".join(fit.stderr.split())
    content = json.loads(run("fit", path, "-k", 2, "--family", "poisson", "--restarts", 1, "--json").stdout)
    assert any("negative-binomial" in note for note in content["about"]["notes"])
    assert content["about"]["starts"] == "1 start"


def test_the_edge_of_the_range_is_told_once(tmp_path):
    path = tmp_path / "groups.csv"
    x = np.concatenate([20 * j + np.random.default_rng(j).normal(size=40) for j in range(4)])
    pl.DataFrame({"x": x}).write_csv(path)
    result = run("select", path, "-k", "1-2", "--families", "gaussian", "--restarts", 2)
    shown = " ".join((result.stdout + result.stderr).split())
    assert shown.count("is the largest that was tried: try more with `kmle select -k 1-20`.") == 1


def test_json_is_a_model_file_and_tells_the_fit(faithful):
    result = run("fit", FAITHFUL, "-k", 2, "--family", "gaussian", "--json")
    content = json.loads(result.stdout)
    assert Mixture.from_dict(content) == ExponentialFamilyMixture(2, random_state=0).fit(faithful).mixture_
    assert content["columns"] == ["eruptions", "waiting"]
    assert sum(content["sizes"]) == 272
    assert content["about"]["rows"] == 272
    assert np.shape(content["source"]["covariance"]) == (2, 2, 2)


def test_labels_and_predictions_are_those_of_the_library(tmp_path, model, faithful):
    labels = tmp_path / "labels.parquet"
    run("fit", FAITHFUL, "-k", 2, "--labels", labels)
    fit = ExponentialFamilyMixture(2, random_state=0).fit(faithful)
    assert pl.read_parquet(labels)["label"].to_list() == fit.labels_.tolist()
    predicted = run("predict", model, FAITHFUL, "--probabilities", "--out", tmp_path / "predicted.csv")
    assert predicted.exit_code == 0
    table = pl.read_csv(tmp_path / "predicted.csv")
    assert table["label"].to_list() == fit.predict(faithful).tolist()
    np.testing.assert_allclose(table.drop("label").to_numpy(), fit.predict_proba(faithful), rtol=1e-12)


def test_rows_of_noise_have_the_label_of_the_library(tmp_path):
    data, model, labels = (tmp_path / name for name in ("data.csv", "model.json", "labels.csv"))
    noise = np.random.default_rng(1).uniform(-40, 40, (30, 2))
    np.savetxt(data, np.concatenate([rows(), noise]), delimiter=",", header="a,b", comments="")
    assert run("fit", data, "-k", 2, "--noise", "--out", model, "--labels", labels).exit_code == 0
    assert run("predict", model, data).stdout == labels.read_text()
    assert "-1" in labels.read_text().splitlines()


def test_predict_takes_the_columns_of_the_model_whatever_their_order(tmp_path, model):
    turned = tmp_path / "turned.csv"
    pl.read_csv(FAITHFUL).select("waiting", pl.lit("geyser").alias("kind"), "eruptions").write_csv(turned)
    assert run("predict", model, turned).stdout == run("predict", model, FAITHFUL).stdout


def test_score_is_the_likelihood(model, faithful, tmp_path):
    mixture = Mixture.from_json(model.read_text())
    out = tmp_path / "densities.npy"
    content = json.loads(run("score", model, FAITHFUL, "--json", "--out", out).stdout)
    np.testing.assert_allclose(content["log_likelihood"], mixture.log_density(faithful).sum())
    np.testing.assert_allclose(content["complete_log_likelihood"], mixture.complete_log_likelihood(faithful))
    np.testing.assert_allclose(np.load(out), mixture.log_density(faithful))
    assert "log-density per row" in run("score", model, FAITHFUL).stdout


def test_samples_come_from_the_seed(model):
    drawn = run("sample", model, "-n", 50, "--seed", 3, "--labels").stdout
    assert drawn == run("sample", model, "-n", 50, "--seed", 3, "--labels").stdout
    table = pl.read_csv(drawn.encode())
    assert table.columns == ["eruptions", "waiting", "label"]
    expected, labels = Mixture.from_json(model.read_text()).sample_joint(50, 3)
    np.testing.assert_allclose(table.drop("label").to_numpy(), expected)
    assert table["label"].to_list() == labels.tolist()


def test_show_prints_the_model(model):
    shown = run("show", model).stdout
    assert "2 gaussian components of eruptions, waiting" in shown
    assert "79.97" in shown
    assert json.loads(run("show", model, "--json").stdout)["weights"] == json.loads(model.read_text())["weights"]


def test_terminal_codes_in_names_are_not_obeyed(tmp_path):
    content = Mixture.from_source("poisson", [1.0], rate=[[1.0, 2.0]]).to_dict()
    path = tmp_path / "named.json"
    path.write_text(json.dumps(content | {"columns": ["red\x1b[31m", "b"], "about": {"\x1b]0;t\x07": "\x1b[2J"}}))
    assert "\x1b" not in run("show", path).stdout


def test_families_lists_every_family():
    shown = run("families")
    assert all(name in shown.stdout for name in FAMILIES)
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())
    listed = {entry["name"]: entry for entry in json.loads(run("families", "--json").stdout)}
    assert list(listed) == list(FAMILIES)
    assert listed["binomial"]["needs"] == ["trials"]
    assert listed["gamma"]["parameters"] == ["shape", "scale"]


def test_demo_writes_a_model_that_show_reads(tmp_path):
    result = run("demo", "--directory", tmp_path)
    assert result.exit_code == 0
    assert "Wrote faithful.json, faithful.png and faithful.html" in " ".join(result.stdout.split())
    assert run("show", tmp_path / "faithful.json").exit_code == 0


def test_weights_count_rows(tmp_path):
    path = tmp_path / "weighted.csv"
    pl.DataFrame({"x": [1.5, 2.5, 9.0], "w": [1.0, 3.0, 2.0]}).write_csv(path)
    content = json.loads(run("fit", path, "-k", 1, "--family", "gaussian", "--weights", "w", "--json").stdout)
    np.testing.assert_allclose(content["source"]["mean"], [[(1.5 + 3 * 2.5 + 2 * 9.0) / 6]])


def test_families_with_facts_and_products(tmp_path):
    path = tmp_path / "mixed.csv"
    pl.DataFrame({"hits": [1, 9, 2, 8], "time": [0.5, 3.0, 0.4, 3.5]}).write_csv(path)
    content = json.loads(run("fit", path, "-k", 2, "--family", "binomial:trials=10+gamma", "--json").stdout)
    assert set(content["source"]) == {"binomial_probability", "gamma_shape", "gamma_scale"}
    assert run("fit", path, "-k", 2, "--family", "binomial:trials=10+gamma").exit_code == 0


def test_quiet_says_nothing_and_verbose_tells_steps(tmp_path):
    quiet = run("fit", FAITHFUL, "-k", 2, "--quiet", "--out", tmp_path / "m.json")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert "iteration 1: objective" in run("fit", FAITHFUL, "-k", 2, "--verbose").stderr


def test_wide_and_many_components_stay_legible(tmp_path):
    rng = np.random.default_rng(0)
    wide, many = tmp_path / "wide.npy", tmp_path / "many.npy"
    np.save(wide, rng.normal(size=(400, 40)))
    np.save(many, rng.normal(size=500) + 100 * rng.integers(0, 30, 500))
    shown = run("fit", wide, "-k", 1, "--family", "gaussian")
    assert "... 30 more" in shown.stdout
    assert "--json prints everything" in shown.stderr
    assert len(shown.stdout.splitlines()) < 30
    shown = run("fit", many, "-k", 30, "--family", "gaussian", "--algorithm", "swap")
    assert "components of lower weight" in shown.stderr
    assert len(shown.stdout.splitlines()) < 32


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    shown = run(command, "--help").stdout
    assert "Examples:" in shown
    assert f"kmle {command}" in shown.partition("Examples:")[2]


def test_help_lists_every_command_and_version_is_told():
    shown = run("--help").stdout
    assert all(f" {command} " in shown for command in COMMANDS)
    assert run("--version").stdout.strip() == f"kmle {kmle.__version__}"


# Selecting, simplifying, comparing ------------------------------------------------------------------------------------


def test_select_and_a_fit_without_k_find_two(tmp_path):
    path = tmp_path / "two.csv"
    pl.DataFrame(rows(), schema=["a", "b"]).write_csv(path)
    table = tmp_path / "candidates.csv"
    assert run("select", path, "-k", "1-4", "--out", tmp_path / "best.json", "--table", table).exit_code == 0
    assert Mixture.from_json((tmp_path / "best.json").read_text()).n_components == 2
    assert len(pl.read_csv(table)) == 4
    result = run("fit", path, "--family", "gaussian")
    assert "k: 2, the best from 1 to 10 by BIC" in result.stderr


def test_simplify_keeps_what_it_is_told(tmp_path):
    mixture = Mixture.from_source("poisson", [0.25] * 4, rate=[1.0, 1.1, 30.0, 31.0])
    (tmp_path / "four.json").write_text(mixture.to_json())
    assert run("simplify", tmp_path / "four.json", "-k", 2, "--out", tmp_path / "two.json").exit_code == 0
    simpler = Mixture.from_json((tmp_path / "two.json").read_text())
    np.testing.assert_allclose(np.sort(simpler.source["rate"].ravel()), [1.05, 30.5], rtol=0.02)


def test_compare_finds_the_divergence(tmp_path):
    one, two = (Mixture.from_source("poisson", [1.0], rate=[rate]) for rate in (2.0, 3.0))
    (tmp_path / "one.json").write_text(one.to_json())
    (tmp_path / "two.json").write_text(two.to_json())
    content = json.loads(run("compare", tmp_path / "one.json", tmp_path / "two.json", "--json").stdout)
    np.testing.assert_allclose(content["KL(first : second)"]["value"], 2 * np.log(2 / 3) + 1, atol=0.01)
    assert content["KL(first : second)"]["lower"] <= 0.18907 <= content["KL(first : second)"]["upper"] + 1e-6
    assert "Jensen-Shannon" in run("compare", tmp_path / "one.json", tmp_path / "two.json").stdout


def test_compare_needs_rows_of_one_kind(tmp_path):
    counts, reals = tmp_path / "counts.json", tmp_path / "reals.json"
    counts.write_text(Mixture.from_source("poisson", [1.0], rate=[1.0]).to_json())
    reals.write_text(Mixture.from_source("gaussian", [1.0], mean=[[1.0]], covariance=[[[1.0]]]).to_json())
    result = run("compare", counts, reals)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_standard_errors_are_shown(tmp_path):
    (tmp_path / "counts.csv").write_text("n\n2\n3\n5\n6\n")
    # The standard error of a rate of four from four rows is sqrt(4 / 4).
    assert "4 ± 1" in run("fit", tmp_path / "counts.csv", "-k", 1, "--family", "poisson").stdout


@pytest.mark.parametrize(("option", "name"), [("--plot", "fit.png"), ("--report", "fit.html")])
def test_pictures_and_reports_are_written(tmp_path, option, name):
    pytest.importorskip({"--plot": "matplotlib", "--report": "plotly"}[option])
    result = run("fit", FAITHFUL, "-k", 2, option, tmp_path / name)
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).stat().st_size > 5000
