"""Nothing is lost: inputs are never overwritten, old files only on demand, devices stay, full disks are told."""

import json
import os
import resource
import stat
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from cli.drawing import FAITHFUL, refusal, rows, run

OUTPUTS = {"--out": "m.json", "--labels": "l.csv", "--plot": "p.png", "--report": "r.html"}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    pl.DataFrame(rows(40), schema=["a", "b"]).write_csv(path)
    return path


@pytest.fixture
def model(tmp_path, table):
    path = tmp_path / "model.json"
    assert run("fit", table, "-k", 2, "--out", path, "-q").exit_code == 0
    return path


def device(tmp_path, minor):
    """A private node of a memory device: 3 is null, 7 is full."""
    path = tmp_path / "device"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        path.open("wb").close()
    except (AttributeError, PermissionError):
        pytest.skip("no device nodes can be made here")
    return path


# Inputs and old files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--out", "--labels"])
def test_an_input_is_never_an_output(tmp_path, table, option):
    before = table.read_bytes()
    (tmp_path / "link.csv").symlink_to(table)
    os.link(table, tmp_path / "hard.csv")
    for name in (table, tmp_path / "link.csv", tmp_path / "hard.csv", tmp_path / "." / "t.csv"):
        assert "is the same file as the input" in refusal(run("fit", table, "-k", 2, option, name, "--force"))
    assert table.read_bytes() == before


def test_no_command_overwrites_what_it_reads(tmp_path, table, model):
    (tmp_path / "model.csv").symlink_to(model)
    for command in (
        ["predict", model, table, "--out", table],
        ["predict", model, table, "--out", tmp_path / "model.csv"],
        ["score", model, table, "--out", table],
        ["sample", model, "--out", tmp_path / "model.csv"],
        ["simplify", model, "-k", 1, "--out", model],
        ["select", table, "--table", table],
        ["select", table, "--out", table],
        ["fit", table, "-k", 2, "--checkpoint", table],
    ):
        assert "is the same file as the input" in refusal(run(*command, "--force"))


def test_standard_input_is_not_overwritten_either(table, model):
    before = table.read_bytes()
    command = [sys.executable, "-m", "kmle", "predict", str(model), "-", "--out", str(table), "--force"]
    with table.open("rb") as file:
        result = subprocess.run(command, stdin=file, capture_output=True, check=False)
    assert result.returncode == 2
    assert b"is the same file as the input standard input" in result.stderr
    assert table.read_bytes() == before


@pytest.mark.parametrize("option", OUTPUTS)
def test_existing_files_need_force(tmp_path, table, option):
    path = tmp_path / OUTPUTS[option]
    path.write_text("precious")
    assert "the file exists; give another name, or --force" in refusal(run("fit", table, "-k", 2, option, path))
    assert path.read_text() == "precious"
    path.chmod(0o640)
    assert run("fit", table, "-k", 2, option, path, "--force").exit_code == 0
    assert path.read_bytes() != b"precious"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_other_commands_need_force_too(tmp_path, table, model):
    old = tmp_path / "old.csv"
    old.write_text("precious")
    for command in (
        ["predict", model, table, "--out", old],
        ["score", model, table, "--out", old],
        ["sample", model, "--out", old],
        ["simplify", model, "-k", 1, "--out", old],
        ["select", table, "--table", old],
        ["select", table, "--out", old],
        ["fit", table, "-k", 2, "--checkpoint", old],
    ):
        assert "the file exists" in refusal(run(*command))
    assert old.read_text() == "precious"
    assert run("predict", model, table, "--out", old, "--force").exit_code == 0


def test_two_outputs_have_two_names(tmp_path, table):
    shown = refusal(run("fit", table, "-k", 2, "--out", tmp_path / "x.csv", "--labels", tmp_path / "x.csv"))
    assert "--out and --labels both name" in shown


def test_the_demo_has_a_folder_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "faithful.json").write_text("precious")
    monkeypatch.chdir(tmp_path)
    for name in ("kmle-demo", "kmle-demo-2"):
        assert run("demo").exit_code == 0
        assert (tmp_path / name / "faithful.json").exists()
    assert (tmp_path / "faithful.json").read_text() == "precious"
    assert "the file exists" in refusal(run("demo", "--directory", "."))


# Links, devices and pipes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", OUTPUTS)
def test_the_target_of_a_link_is_written(tmp_path, table, option):
    link, target = tmp_path / "link", tmp_path / "folder" / OUTPUTS[option]
    target.parent.mkdir()
    link = tmp_path / f"link{target.suffix}"
    link.symlink_to(target)
    assert run("fit", table, "-k", 2, option, link).exit_code == 0
    assert link.is_symlink()
    assert target.stat().st_size > 50
    assert "the file exists" in refusal(run("fit", table, "-k", 2, option, link))
    assert run("fit", table, "-k", 2, option, link, "--force").exit_code == 0
    assert link.is_symlink()


@pytest.mark.parametrize("option", ["--out", "--plot", "--report"])
def test_a_device_is_written_to_and_stays_one(tmp_path, table, option):
    node = device(tmp_path, 3)
    result = run("fit", table, "-k", 2, option, node)
    assert result.exit_code == 0, result.output
    assert stat.S_ISCHR(node.stat().st_mode)
    assert os.major(node.stat().st_rdev) == 1


@pytest.mark.parametrize("kind", ["csv", "npy", "parquet"])
def test_labels_on_a_device(tmp_path, table, kind):
    node = device(tmp_path, 3)
    node = node.rename(tmp_path / f"labels.{kind}")
    assert run("fit", table, "-k", 2, "--labels", node).exit_code == 0
    assert stat.S_ISCHR(node.stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are those of POSIX")
@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_a_pipe_is_written_to(tmp_path, table, model, kind):
    pipe = tmp_path / f"pipe.{kind}"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert run("predict", model, table, "--out", pipe).exit_code == 0
        content = reader.stdout.read()
    (tmp_path / f"read.{kind}").write_bytes(content)
    read = np.load(tmp_path / "read.npy") if kind == "npy" else pl.read_csv(content)["label"].to_numpy()
    assert len(read) == 40
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_checkpoint_is_a_file(tmp_path, table):
    node = device(tmp_path, 3)
    assert "is a device or a pipe" in refusal(run("fit", table, "-k", 2, "--checkpoint", node))


# Full disks -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
@pytest.mark.parametrize(
    "arguments",
    [["fit", FAITHFUL, "-k", "2"], ["fit", FAITHFUL, "-k", "2", "--json"], ["--help"], ["fit", "--help"], ["families"]],
)
def test_a_full_disk_behind_standard_output(arguments):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "kmle", *arguments]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, text=True)
    assert result.returncode == 1
    *_, last = result.stderr.strip().splitlines()
    assert last.lower() == "error: standard output cannot be written: no space left on device"
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_predictions_on_a_full_standard_output(table, model):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "kmle", "predict", str(model), str(table)]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, text=True)
    assert result.returncode == 1
    assert result.stderr.strip() == "error: standard output cannot be written: no space left on device"


def test_a_full_device(tmp_path, table):
    node = device(tmp_path, 7)
    result = run("fit", table, "-k", 2, "--out", node, "-q")
    assert result.exit_code == 1
    assert result.stderr.strip() == f"error: {node} cannot be written: no space left on device"


# As on a full disk, writing more than a number of bytes fails. Runs commands one after the other, and prints what each
# says on standard error, and its exit status.
LIMITED = """
import contextlib, io, json, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
from kmle.cli import main
said = []
for command in json.loads(sys.argv[1]):
    sys.argv, status = ["kmle", *command], 0
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            main()
        except SystemExit as ended:
            status = ended.code
    said.append([status, errors.getvalue()])
print(json.dumps(said))
"""
FULL_DISK = [*OUTPUTS.items(), ("--labels", "l.parquet"), ("--labels", "l.npy"), ("--labels", "l.csv.gz")]


def test_a_full_disk_leaves_nothing_half_written(tmp_path):
    data = tmp_path / "t.npy"
    np.save(data, np.random.default_rng(0).normal(size=20_000))
    cases = [
        (option, tmp_path / f"{existed}" / name, existed) for option, name in FULL_DISK for existed in (True, False)
    ]
    for _, path, existed in cases:
        path.parent.mkdir(exist_ok=True)
        if existed:
            path.write_text("old")
    start = ["fit", str(data), "-k", "2", "--restarts", "1", "--force", "-q"]
    commands = json.dumps([[*start, option, str(path)] for option, path, _ in cases])
    environment = os.environ | {"TMPDIR": "/tmp", "MPLCONFIGDIR": str(tmp_path / "config")}
    result = subprocess.run(
        [sys.executable, "-c", LIMITED, commands], capture_output=True, check=False, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    for (_, path, existed), (status, errors) in zip(cases, json.loads(result.stdout), strict=True):
        assert status == 1, errors
        assert errors.strip().splitlines()[-1].startswith(f"error: {path} cannot be written: ")
        assert "Traceback" not in errors
        assert path.exists() == existed
        if existed:
            assert path.read_text() == "old"
    assert {path.name for path in (tmp_path / "True").iterdir()} == {name for _, name in FULL_DISK}
    assert not list((tmp_path / "False").iterdir())


def test_limits_are_those_of_the_child_only():
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 512


# Dropped rows ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def gaps(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("name,a,b,label\nann,1.5,2,x\nbob,,3,y\ncid,9.0,4,z\n")
    return path


def test_lines_have_the_numbers_of_their_rows(tmp_path, model, gaps):
    for options in ([], ["--stream"]):
        result = run("predict", model, gaps, "--drop-missing", *options)
        assert pl.read_csv(result.stdout.encode())["row"].to_list() == [0, 2]
        run("score", model, gaps, "--drop-missing", "--out", tmp_path / "s.csv", "--force", *options)
        assert pl.read_csv(tmp_path / "s.csv")["row"].to_list() == [0, 2]
    assert "row" not in pl.read_csv(run("predict", model, FAITHFUL, "--columns", "eruptions,waiting").stdout.encode())


def test_labels_of_a_fit_have_the_numbers_of_their_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n2\n\nNA\n30\n31\n")
    for options in ([], ["--stream"]):
        command = ["fit", path, "-k", 2, "--family", "poisson", "--drop-missing", "--labels", tmp_path / "l.csv"]
        assert run(*command, "--force", *options).exit_code == 0
        assert pl.read_csv(tmp_path / "l.csv")["row"].to_list()[-2:] == [4, 5]


def test_append_keeps_all_columns_as_they_are(tmp_path, model, gaps):
    result = run("predict", model, gaps, "--drop-missing", "--append", "--probabilities")
    table = pl.read_csv(result.stdout.encode(), infer_schema=False)
    assert table.columns[:5] == ["name", "a", "b", "label", "label_2"]
    assert table["name"].to_list() == ["ann", "cid"]
    assert table["a"].to_list() == ["1.5", "9.0"]
    assert table["label"].to_list() == ["x", "z"]
    assert set(table["label_2"]) <= {"0", "1"}
    assert "cannot be combined with --stream" in refusal(run("predict", model, gaps, "--append", "--stream"))


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_append_to_other_formats(tmp_path, model, kind):
    data, out = tmp_path / f"d.{kind}", tmp_path / f"o.{kind}"
    if kind == "npy":
        np.save(data, rows(40))
        options = ["--columns", "x0,x1"]
    else:
        pl.DataFrame(rows(40), schema=["a", "b"]).with_columns(pl.lit("n").alias("name")).write_parquet(data)
        options = []
    assert run("predict", model, data, "--append", "--out", out, *options).exit_code == 0
    if kind == "npy":
        np.testing.assert_array_equal(np.load(out)[:, :2], rows(40))
    else:
        assert pl.read_parquet(out).columns == ["a", "b", "name", "label"]


def test_text_does_not_go_into_an_array(tmp_path, model, gaps):
    shown = refusal(run("predict", model, gaps, "--drop-missing", "--append", "--out", tmp_path / "o.npy"))
    assert "an array holds only numbers" in shown


def test_json_on_standard_output_is_all_there_is(table):
    json.loads(run("fit", table, "-k", 2, "--out", "-", "-q").stdout)
