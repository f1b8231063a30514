"""The right thing without options: EM, what is left out and said, words for options, plural forms, narrow terminals."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from cli.drawing import FAITHFUL, refusal, rows, run, run_process
from kmle import ExponentialFamilyMixture, Mixture, select


def written(tmp_path, columns, name="t.csv"):
    pl.DataFrame(columns).write_csv(tmp_path / name)
    return tmp_path / name


def said(result):
    return " ".join(result.stderr.split())


# EM -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["fit", "-k", 2], ["fit"], ["fit", "--criterion", "icl"], ["select", "-k", "1-2"]])
def test_em_unless_hard(tmp_path, command):
    path = written(tmp_path, {"x": rows(60)[:, 0]})
    for options, algorithm in (([], "em"), (["--hard"], "k-mle"), (["--algorithm", "k-mle"], "k-mle")):
        content = json.loads(run(*command, path, *options, "--json").stdout)
        assert content["about"]["algorithm"] == algorithm
    assert "--hard is the same as --algorithm k-mle" in refusal(run(*command, path, "--hard", "-a", "em"))


def test_icl_is_decided_by_em_too(tmp_path):
    path = written(tmp_path, {"x": rows(60)[:, 0]})
    content = json.loads(run("select", path, "-k", "1-2", "--criterion", "icl", "--json").stdout)
    assert (content["about"]["algorithm"], content["criterion"]) == ("em", "icl")


def test_hints_name_options(tmp_path):
    rng = np.random.default_rng(0)
    path = written(tmp_path, {"x": np.concatenate([rng.normal(size=300), rng.normal(3, 1, 300)])})
    message = said(run("fit", path, "-k", 2, "--hard"))
    assert "A fit without --hard" in message
    assert "ExponentialFamilyMixture" not in message
    limited = said(run("fit", path, "-k", 3, "--max-iter", 1))
    assert "raise --max-iter above 1" in limited
    for name in ("n_init", "random_state", "max_iter", "KMLE"):
        assert name not in message + limited


# What is left out and named -------------------------------------------------------------------------------------------


def test_ids_are_left_out_and_come_back(tmp_path):
    table = rows(60)
    path = written(tmp_path, {"id": np.arange(1, 61), "a": table[:, 0], "b": table[:, 1]})
    for options in ([], ["--stream", "-k", 2]):
        result = run("fit", path, *options, "--out", tmp_path / "m.json", "--force")
        assert "column 'id' numbers the rows and was omitted (select it with --columns)" in said(result)
        assert json.loads((tmp_path / "m.json").read_text())["columns"] == ["a", "b"]
    assert run("predict", tmp_path / "m.json", path).exit_code == 0
    back = json.loads(run("fit", path, "-k", 2, "--columns", "id,a,b", "--json").stdout)
    assert back["columns"] == ["id", "a", "b"]


def test_columns_without_entries_are_left_out(tmp_path):
    table = rows(60)
    table[0, 0] = np.nan  # begins as an empty column does
    path = written(tmp_path, {"a": table[:, 0], "none": np.full(60, np.nan), "b": table[:, 1]})
    result = run("fit", path, "-k", 2, "--out", tmp_path / "m.json")
    assert "column 'none' has no entry and was omitted" in said(result)
    assert json.loads((tmp_path / "m.json").read_text())["columns"] == ["a", "b"]
    assert run("predict", tmp_path / "m.json", path).exit_code == 0
    asked = run("fit", path, "-k", 2, "--columns", "a,none")
    assert asked.exit_code != 0
    assert "column 'none' has no entry" in said(asked)


def test_constant_columns_are_named(tmp_path):
    path = written(tmp_path, {"a": rows(60)[:, 0], "c": [7.5] * 60})
    for options in (["-k", 2], ["-k", 2, "--family", "diagonal-gaussian"]):
        assert "column 'c' is constant and cannot separate components" in said(run("fit", path, *options))


def test_a_k_at_the_edge_is_said(tmp_path):
    x = np.concatenate([100 * j + np.random.default_rng(j).normal(size=30) for j in range(12)])
    result = run("fit", written(tmp_path, {"x": x}), "--restarts", 4)
    assert "k: 10, the best from 1 to 10 by BIC" in said(result)
    assert "it is the largest that was tried, `kmle select -k 1-20` tries more" in said(result)


def test_household_amounts(tmp_path):
    rng = np.random.default_rng(1)
    scale = np.where(rng.integers(0, 2, 40)[:, None], [180, 60, 70, 110], [70, 30, 15, 40])
    amounts = np.round(rng.gamma([8, 6, 4, 5], 1.0, (40, 4)) * scale).astype(int)
    path = written(tmp_path, dict(zip(["housing", "food", "goods", "service"], amounts.T, strict=True)))
    content = json.loads(run("fit", path, "--json").stdout)
    assert content["family"]["name"] != "poisson"
    assert len(content["weights"]) < 6


def test_text_is_offered_and_taken_as_categories(tmp_path):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 120)
    kind = np.where(rng.uniform(size=120) < 0.9, np.array(["tall", "small"])[group], "odd")
    path = written(tmp_path, {"kind": kind, "x": 9 * group + rng.normal(size=120)})
    assert "column 'kind' holds text" in refusal(run("fit", path, "-k", 2))
    assert "read them as categories with --categorical kind" in refusal(run("fit", path, "-k", 2))
    result = run("fit", path, "-k", 2, "--categorical", "kind", "--out", tmp_path / "m.json")
    assert "'kind' holds categories" in said(result)
    assert re.search(r"categories of kind +odd, small, tall", result.stdout)
    assert json.loads((tmp_path / "m.json").read_text())["categories"] == {"kind": ["odd", "small", "tall"]}
    labels = pl.read_csv(run("predict", tmp_path / "m.json", path).stdout.encode())["label"].to_numpy()
    assert abs(np.corrcoef(labels, group)[0, 1]) > 0.99
    drawn = pl.read_csv(run("sample", tmp_path / "m.json", "-n", 50).stdout.encode())
    assert set(drawn["kind"]) <= {"odd", "small", "tall"}
    other = written(tmp_path, {"kind": ["new"], "x": [1.0]}, "other.csv")
    assert "holds 'new', which is not in the model" in refusal(run("predict", tmp_path / "m.json", other))
    assert "--categorical names 'y'" in refusal(run("fit", path, "--categorical", "y", "-c", "x", "-k", 2))
    assert "odd, small, tall" in run("show", tmp_path / "m.json").stdout


# Reading --------------------------------------------------------------------------------------------------------------


def test_reading_options_reach_every_command(tmp_path):
    path = tmp_path / "t.csv"
    text = "2019:2020\n" + "".join(f"1 {i:03}:{2 * i}\n" for i in range(20))
    path.write_bytes(text.encode("utf-16"))
    options = ["--header", "--separator", ":", "--thousands", "space", "--encoding", "utf-16"]
    fit = run("fit", path, "-k", 1, "--family", "gaussian", "--out", tmp_path / "m.json", "--json", *options)
    assert json.loads(fit.stdout)["columns"] == ["2019", "2020"]
    np.testing.assert_allclose(json.loads(fit.stdout)["source"]["mean"][0], [1009.5, 19.0], rtol=1e-6)
    for command in (["predict", tmp_path / "m.json", path], ["score", tmp_path / "m.json", path], ["select", path]):
        assert run(*command, *options).exit_code == 0


def test_huge_numbers_give_no_raw_warnings(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n2\n1e300\n-3e300\n5\n")
    # In this process a warning would be an error.
    for command in (["fit", path], ["select", path]):
        assert "products of such numbers overflow" in refusal(run(*command))
    result = run_process("fit", path, "-k", 2)
    assert result.returncode == 2
    message = result.stderr.decode()
    assert "Warning" not in message
    assert "warning:" not in message
    assert "products of such numbers overflow" in message


# Outputs are settled before the fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--plot", "p.xyz"], "--plot p.xyz: unknown format .xyz; use .png, .svg, .pdf"),
        (["--report", "r.pdf"], "--report r.pdf: unknown format .pdf; use .html"),
        (["--labels", "l.xyz"], "has no extension of a table format"),
    ],
)
def test_formats_are_refused_before_the_fit(monkeypatch, options, words):
    monkeypatch.setattr("kmle.cli.fit.read", lambda *_, **__: pytest.fail("the table was read"))
    assert words in refusal(run("fit", FAITHFUL, "-k", 2, *options))


def test_a_plot_without_an_extension_says_its_name(tmp_path):
    result = run("fit", FAITHFUL, "-k", 2, "--plot", tmp_path / "noext")
    assert f"wrote {tmp_path / 'noext.png'}" in result.stderr.replace("\n", "")
    assert (tmp_path / "noext.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("jobs", ["-5", "0", "some"])
def test_threads_that_are_none_are_refused(jobs):
    result = run("fit", FAITHFUL, "-k", 2, "-j", jobs)
    assert result.exit_code == 2
    assert "--jobs" in result.output


# Model files ----------------------------------------------------------------------------------------------------------


def test_a_model_file_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "m.json"
    path.write_text(Mixture.from_source("poisson", [1.0], rate=[3.0]).to_json(), encoding="utf-8-sig")
    assert "1 poisson component" in run("show", path).stdout


@pytest.mark.parametrize("content", ["{", "[1, 2", '{"a": nope}', "", "\ufeff", "{" * 2000, '{"family": 3}'])
def test_no_internals_in_what_is_said_of_model_files(tmp_path, content):
    path = tmp_path / "m.json"
    path.write_text(content)
    message = refusal(run("show", path))
    for word in ("char ", "Expecting", "delimiter", "NoneType", "object", "BOM", "recursion", "KeyError"):
        assert word not in message


# Words ----------------------------------------------------------------------------------------------------------------


def test_one_row_and_two_rows(tmp_path):
    one = run("fit", written(tmp_path, {"x": [3.0]}), "-k", 1, "--family", "poisson")
    assert "1 poisson component, 1 row of x" in one.stdout
    two = run("fit", written(tmp_path, {"x": [3.0, 4.0]}), "-k", 1, "--family", "poisson")
    assert "1 poisson component, 2 rows of x" in two.stdout


@pytest.mark.parametrize("width", [30, 40, 60])
def test_narrow_terminals_do_not_split_numbers(tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    result = run("fit", FAITHFUL, "-k", 2)
    assert all(len(line) <= width for line in result.stdout.splitlines())
    fit = ExponentialFamilyMixture(2, random_state=0).fit(pl.read_csv(FAITHFUL).to_numpy())
    numbers = [f"{weight:.4g}" for weight in fit.weights_]
    numbers += [f"{value:.4g}" for value in fit.mixture_.source["mean"].ravel()]
    numbers += [f"{fit.result_.log_likelihood:.3f}"]
    for number in numbers:
        assert number in result.stdout
    assert "…" not in result.stdout
    assert all(len(line) <= width for line in run("families").stdout.splitlines())


def test_json_carries_what_the_table_shows():
    content = json.loads(run("fit", FAITHFUL, "-k", 2, "--json").stdout)
    shown = run("fit", FAITHFUL, "-k", 2).stdout
    covariance = np.array(content["source"]["covariance"])
    deviation = np.array(content["std_dev"])
    np.testing.assert_allclose(deviation**2, np.diagonal(covariance, axis1=1, axis2=2))
    for j in range(2):
        assert f"{content['weights'][j]:.4g} ± {content['standard_errors']['weights'][j]:.2g}" in shown
        assert f"{content['correlation'][j][0][1]:.2f}" in shown
        for c in range(2):
            error = content["standard_errors"]["std_dev"][j][c]
            assert f"{deviation[j, c]:.4g} ± {error:.2g}" in shown
            error = content["standard_errors"]["source"]["mean"][j][c]
            assert f"{content['source']['mean'][j][c]:.4g} ± {error:.2g}" in shown
    for name in ("stop_reason", "starts", "algorithm", "engine", "log_likelihood", "aic", "bic", "icl", "notes"):
        assert name in content["about"]


def test_json_of_a_selection_has_all_candidates(tmp_path):
    path = written(tmp_path, {"x": rows(60)[:, 0]})
    content = json.loads(run("select", path, "-k", "1-3", "--families", "gaussian,gamma", "--json").stdout)
    assert {candidate["family"] for candidate in content["candidates"]} == {"gaussian", "gamma"}
    best = min(c["bic"] for c in content["candidates"] if c["bic"] is not None)
    assert content["about"]["bic"] == pytest.approx(best)
    assert content["standard_errors"]["weights"]


# Ctrl-C and start-up --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    ("command", "keeps"),
    [
        (["fit"], True),
        (["select"], False),
        (["select"], True),
        (["select", "--families", "gaussian,diagonal-gaussian"], True),
    ],
)
def test_control_c_while_k_is_selected_keeps_the_best_so_far(tmp_path, command, keeps):
    np.save(tmp_path / "cloud.npy", np.random.default_rng(0).normal(size=(60_000, 3)))
    out = ["--out", str(tmp_path / "m.json")] if keeps else []
    line = [sys.executable, "-m", "kmle", command[0], str(tmp_path / "cloud.npy"), *command[1:], "-v", *out]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for message in process.stderr:
            if "k = 2: bic" in message:
                process.send_signal(signal.SIGINT)
                break
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Traceback" not in stderr
    assert "stopped by Ctrl-C before the end" in stderr
    assert "gaussian component" in stdout
    assert "k = 10" not in stderr
    assert (tmp_path / "m.json").exists() is keeps
    if keeps:
        assert Mixture.from_json((tmp_path / "m.json").read_text()).n_components <= 3


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize("seconds", [0.15, 0.25, 0.4])
def test_control_c_at_start_up_shows_no_traceback(seconds):
    # The line is printed where main() already listens: what comes before is not the command's.
    code = "from kmle import cli\nrun = cli._run\ncli._run = lambda: (print(flush=True), run())\ncli.main()"
    command = [sys.executable, "-c", code, "fit", FAITHFUL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(seconds - 0.15)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert "Traceback" not in stderr
    assert process.returncode in (0, 1, 130)


def test_learning_and_selecting_load_no_scikit_learn(tmp_path):
    """The commands one after the other in a new process, and what is loaded after each."""
    np.savetxt(tmp_path / "t.csv", rows(60)[:, :1], header="a", comments="")
    commands = [["fit", "-k", "2"], ["fit", "-k", "2", "--json"], ["select", "-k", "1-2"], ["fit"]]
    code = """
import json, sys
from kmle.cli import main
for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended.code
    heavy = {name.split(".")[0] for name in sys.modules} & {"sklearn", "pandas", "joblib", "matplotlib"}
    print("loaded", sorted(heavy), file=sys.stderr)
"""
    given = json.dumps([[*command, str(tmp_path / "t.csv")] for command in commands])
    done = subprocess.run([sys.executable, "-c", code, given], capture_output=True, check=True, text=True)
    assert done.stdout.count("gaussian component") == 3
    assert [line for line in done.stderr.splitlines() if line.startswith("loaded")] == ["loaded []"] * len(commands)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fits_that_end_early_do_not_change_the_best(tmp_path, seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(3000, 2)) + 5 * rng.integers(0, 3, (3000, 1))
    path = written(tmp_path, {"a": table[:, 0], "b": table[:, 1]})
    content = json.loads(run("fit", path, "--family", "gaussian", "--json").stdout)
    chosen = select(pl.read_csv(path).to_numpy(), "gaussian", random_state=0)
    assert Mixture.from_dict(content) == chosen.best_estimator.mixture_
    assert not [note for note in content["about"]["notes"] if "less likely" in note or "largest" in note]


@pytest.mark.parametrize(("options", "family"), [([], "gaussian-eii"), (["--family", "gaussian"], "gaussian")])
def test_a_fit_chooses_the_covariances_unless_a_family_is_named(tmp_path, options, family):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 2)) + 6 * rng.integers(0, 3, (300, 1))
    path = written(tmp_path, {"a": table[:, 0], "b": table[:, 1]})
    result = run("fit", path, *options)
    assert result.exit_code == 0
    assert f"3 {family} components" in result.stdout
    assert ("the best of 14 covariance models by BIC" in said(result)) == (not options)


@pytest.mark.parametrize(
    ("draw", "family", "k"),
    [
        (lambda rng: rng.negative_binomial(4, 0.2, 600), "negative-binomial", 1),
        (lambda rng: rng.poisson(rng.choice([2.0, 30.0], 600)), "poisson", 2),
    ],
)
def test_a_fit_of_overdispersed_counts_compares_poisson_and_negative_binomial(tmp_path, draw, family, k):
    result = run("fit", written(tmp_path, {"visits": draw(np.random.default_rng(0))}))
    assert f"chosen: {family}, the best of poisson and negative-binomial by BIC" in said(result)
    assert f"{k} {family} component" in result.stdout


def test_a_fit_compares_them_beside_columns_of_other_kinds_too(tmp_path):
    rng = np.random.default_rng(0)
    far = rng.random(150) < 0.4
    visits = np.where(np.arange(150) % 30 == 0, np.nan, rng.negative_binomial(2, 0.1, 150))
    columns = {"hours": rng.gamma(2.0, np.where(far, 9.0, 0.5)), "visits": visits}
    result = run("fit", written(tmp_path, columns))
    assert "the best of gamma + poisson and gamma + negative-binomial by BIC" in said(result)
    assert "2 gamma + negative-binomial components" in result.stdout


def test_select_compares_the_covariance_models_of_gaussians(tmp_path):
    path = written(tmp_path, {"a": rows(120)[:, 0], "b": rows(120, 1)[:, 0]})
    content = json.loads(run("select", path, "-k", "1-3", "--families", "gaussians", "--json").stdout)
    assert len(content["candidates"]) == 14 * 3
    column = json.loads(run("select", path, "--columns", "a", "--families", "gaussians", "-k", 1, "--json").stdout)
    assert [each["family"] for each in column["candidates"]] == ["gaussian-eii", "spherical-gaussian"]


@pytest.mark.parametrize("command", [["fit", "-k", 2], ["select", "-k", 2]])
def test_two_whole_numbers_are_read_as_categories(tmp_path, command):
    rng = np.random.default_rng(0)
    sex = rng.integers(1, 3, 80)
    path = written(tmp_path, {"sex": sex, "height": np.round(rng.normal(160 + 20 * sex, 3), 1)})
    model = tmp_path / "m.json"
    fitted = run(*command, path, "--out", model) if command[0] == "fit" else run(*command, path)
    assert "'sex' holds two whole numbers and is read as categories" in said(fitted)
    if command[0] == "fit":
        labels = run("predict", model, path).stdout.split()[1:]
        assert len(set(zip(labels, sex.tolist(), strict=True))) == 2
    named = run(*command, path, *(["--family", "gaussian"] if command[0] == "fit" else ["--families", "gaussian"]))
    assert "two whole numbers" not in said(named)
