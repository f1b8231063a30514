"""The command as a process: files and standard input, start-up, Ctrl-C, a missing extra."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from cli.drawing import FAITHFUL, code_of, rows, run, run_process
from kmle import ExponentialFamilyMixture, Mixture
from package import STRICTLY


def written(tmp_path, kind, table):
    """The table in a file of this kind."""
    path = tmp_path / f"data.{kind}"
    frame = pl.DataFrame(table, schema=["a", "b"])
    writers = {
        "csv": lambda: frame.write_csv(path),
        "tsv": lambda: frame.write_csv(path, separator="\t"),
        "parquet": lambda: frame.write_parquet(path),
        "feather": lambda: frame.write_ipc(path),
        "npy": lambda: np.save(path, table),
        "csv.gz": lambda: path.write_bytes(gzip.compress(frame.write_csv().encode())),
    }
    writers[kind]()
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_fit_then_predict_gives_the_labels_of_the_library(tmp_path, kind):
    started, table = run_process if kind == "parquet" else run, rows()
    data = written(tmp_path, kind, table)
    fit = started("fit", data, "-k", 2, "--out", tmp_path / "m.json", "--labels", tmp_path / "l.csv")
    assert code_of(fit) == 0, fit.stderr
    predicted = started("predict", tmp_path / "m.json", data, "--out", tmp_path / "p.npy")
    assert code_of(predicted) == 0, predicted.stderr
    expected = ExponentialFamilyMixture(2, random_state=0).fit(table)
    assert pl.read_csv(tmp_path / "l.csv")["label"].to_list() == expected.labels_.tolist()
    assert np.load(tmp_path / "p.npy").tolist() == expected.predict(table).tolist()
    assert Mixture.from_json((tmp_path / "m.json").read_text()) == expected.mixture_


def test_standard_input_and_output(tmp_path):
    table = rows()
    data = written(tmp_path, "csv", table).read_bytes()
    fit = run_process("fit", "-", "-k", 2, "--json", stdin=data)
    assert fit.returncode == 0, fit.stderr
    (tmp_path / "m.json").write_bytes(fit.stdout)
    predicted = run_process("predict", tmp_path / "m.json", "-", stdin=data)
    expected = ExponentialFamilyMixture(2, random_state=0).fit(table)
    assert pl.read_csv(io.BytesIO(predicted.stdout))["label"].to_list() == expected.labels_.tolist()


def test_bad_data_ends_with_two_and_one_sentence():
    result = run_process("fit", "-", "-k", 1, stdin=b"a\n1\nx\n3\n")
    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.decode().strip() == (
        "error: row 1 (line 3), column 'a' holds 'x', which is not a number: "
        "correct it, or leave it empty and use --drop-missing"
    )


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom kmle.cli.main import app\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'numpy', 'scipy', 'sklearn', 'polars'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"[]"


@pytest.mark.parametrize("command", [["fit", "-k", "2"], ["fit"], ["select", "-k", "1-2"]])
def test_modules_are_loaded_while_a_big_file_is_read(tmp_path, command):
    np.savetxt(tmp_path / "t.csv", rows()[:, :1], header="a", comments="")
    code = "import kmle.cli, kmle.cli.tables\nkmle.cli.tables.BIG_BYTES = 0\nkmle.cli.main()"
    process = [sys.executable, *STRICTLY, "-c", code, *command, str(tmp_path / "t.csv"), "-q"]
    done = subprocess.run(process, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_missing_extra_is_named():
    code = "import sys\nsys.modules['typer'] = None\nfrom kmle.cli import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, check=False)
    assert result.returncode == 1
    assert result.stderr.decode().strip() == ("the command line needs typer, rich and polars: pip install 'kmle[cli]'")


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize("keeps", [True, False])
def test_control_c_keeps_the_best_model_so_far(tmp_path, keeps):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "cloud.npy", rng.normal(size=(40_000, 3)))
    out = ["--out", str(tmp_path / "m.json")] if keeps else []
    command = [sys.executable, "-m", "kmle", "fit", str(tmp_path / "cloud.npy"), "-k", "12", "-a", "em", "-v", *out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("iteration 3:"):
                process.send_signal(signal.SIGINT)
                break
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "stopping after this step" in stderr
    assert "Traceback" not in stderr
    assert "stopped by the caller" in stdout
    if keeps:
        assert f"best model so far, and it is in {tmp_path / 'm.json'}" in stderr
        content = json.loads((tmp_path / "m.json").read_text())
        assert Mixture.from_dict(content).n_components == 12
        assert content["about"]["iterations"] < 100
    else:
        assert "--out saves it" in stderr


@pytest.mark.skipif(os.name == "nt", reason="pipes are those of POSIX")
def test_a_reader_that_leaves_early_does_no_harm(tmp_path):
    (tmp_path / "m.json").write_text(Mixture.from_source("poisson", [1.0], rate=[3.0]).to_json())
    command = f"{sys.executable} -m kmle sample {tmp_path / 'm.json'} -n 200000 | head -n 2"
    result = subprocess.run(command, shell=True, capture_output=True, check=True)
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr == b""


def test_the_demo_runs_from_anywhere(tmp_path):
    result = run_process("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert b"2 gaussian components, 272 rows of eruptions, waiting" in result.stdout
    assert (tmp_path / "kmle-demo" / "faithful.json").exists()
    assert FAITHFUL.endswith("faithful.csv")
