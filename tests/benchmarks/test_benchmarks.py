"""The benchmark harness works; how fast anything is never fails a test."""

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kmle import Mixture

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.competitors import Competitor  # noqa: E402
from benchmarks.harness import CONTESTANTS, Settings, Trail, measure  # noqa: E402
from benchmarks.markdown import CLOSING, OPENING, ablation_table, page_part, put_into, workload_section  # noqa: E402
from benchmarks.results import Book, Result, Row  # noqa: E402
from benchmarks.workloads import WORKLOADS  # noqa: E402

from benchmarks import __main__ as command  # noqa: E402
from benchmarks import ablation, command_line, explore, missing, using  # noqa: E402


def lines_of(markdown):
    """The competitors' lines of a table."""
    return [line for line in markdown.splitlines() if line.startswith("| ")][2:]


def invented(name="W5", quick=False):
    rows = [
        Row("a peer", True, seconds_per_iteration=1.0, iterations=9, seconds=9.0, log_likelihood=-1.0),
        Row("a poor peer", True, seconds_per_iteration=2.0, iterations=2, seconds=4.0, log_likelihood=-9.0),
        Row("a failing peer", True, error="ValueError: a | b"),
        Row(
            "kmle hard", False, seconds_per_iteration=0.01, iterations=9, seconds=0.1, log_likelihood=-1.1,
            reached={"a poor peer": 0.05},
        ),
        Row(
            "kmle soft", False, seconds_per_iteration=0.02, iterations=9, seconds=0.2, log_likelihood=-1.0,
            reached={"a peer": 0.3, "a poor peer": 0.1},
        ),
    ]  # fmt: skip
    return Result(name, "invented", (10, 2), 3, quick, "2000-01-01", False, rows)


@pytest.mark.parametrize("name", WORKLOADS)
def test_quick_data_have_the_stated_shape(name):
    workload = WORKLOADS[name]
    if name in ("W1", "W10"):
        pytest.importorskip("skimage")
    X = workload.data(quick=True)
    assert X.shape == workload.quick_shape
    assert workload.shape[0] > 3 * workload.quick_shape[0]
    np.testing.assert_array_equal(X, workload.data(quick=True))
    start = workload.start(X[:3000])
    assert start.n_components == workload.n_components
    assert set(workload.peers + workload.ours) <= set(CONTESTANTS)


def test_kmle_alone_on_counts_writes_nothing(capsys):
    files = [command.PAGE, *command.BOOKS.iterdir(), *command.PICTURES.iterdir()]
    before = {path: path.read_bytes() for path in files if path.exists()}
    given = ["--quick", "--only", "W5", "--no-peers", "--no-memory", "--no-write", "--repeats", "1", "--threads", "1"]
    assert command.main(given) == 0
    assert {path: path.read_bytes() for path in files if path.exists()} == before
    printed = capsys.readouterr().out
    assert [line.split("**")[1] for line in lines_of(printed)] == list(WORKLOADS["W5"].ours)


def test_an_unknown_workload_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["--only", "W99"])
    assert "there is no W99" in capsys.readouterr().err


def test_competitors_are_chosen_by_name(capsys):
    chosen = ["--quick", "--only", "W5", "--repeats", "1", "--no-memory", "--no-write", "--competitors"]
    assert command.main([*chosen, "kmle soft"]) == 0
    assert [line.split("**")[1] for line in lines_of(capsys.readouterr().out)] == ["kmle soft"]
    with pytest.raises(SystemExit):
        command.main([*chosen, "kmle sot"])
    assert "there is no kmle sot; choose from scikit-learn, " in capsys.readouterr().err


def test_a_peer_that_is_missing_or_fails_has_its_line(monkeypatch):
    def failing(task):
        raise RuntimeError("out of order\nand more")

    absent = Competitor("pomegranate float32", failing, ("no_such_module",))
    monkeypatch.setitem(CONTESTANTS, "pomegranate float32", absent)
    workload = replace(WORKLOADS["W9"], peers=("pomegranate float32",), ours=("kmle soft",))
    result = measure(workload, Settings(quick=True, repeats=1, memory=False))
    assert result.rows[0].error == "not installed: no_such_module"
    assert all(row.seconds and row.log_likelihood for row in result.rows[1:])
    monkeypatch.setitem(CONTESTANTS, "pomegranate float32", Competitor("pomegranate float32", failing))
    result = measure(workload, Settings(quick=True, repeats=1, memory=False))
    assert result.rows[0].error == "RuntimeError: out of order"


def test_the_table_has_a_line_for_each_contestant():
    lines = lines_of(workload_section(invented()))
    assert len(lines) == 5
    assert "a / b" in lines[2]
    assert len({line.count("|") for line in lines}) == 1


def test_numbers_in_which_a_peer_is_ahead_are_bold():
    result = invented()
    rows = [replace(row, memory=50.0 if row.is_peer else 90.0) for row in result.rows]
    quick = Row("a quick peer", True, seconds_per_iteration=1e-3, iterations=5, seconds=0.05, log_likelihood=-0.5)
    result = replace(result, rows=[*rows, quick])
    assert result.ahead(result.rows[0]) == {"memory"}
    assert result.ahead(quick) == {"iteration", "likelihood"}
    assert result.ahead(result.ours("kmle soft")) == set()
    section = workload_section(result)
    assert "| **50 MB** |" in section
    assert "| **-0.5000** |" in section
    assert "| **1 ms** |" in section
    slow = replace(quick, log_likelihood=-1.0)
    soft = replace(result.ours("kmle soft"), reached={"a quick peer": 0.3})
    assert result.ahead(slow) == {"iteration", "likelihood"}
    assert "seconds" in replace(result, rows=[slow, soft]).ahead(slow)
    assert "| **0.167x** |" in page_part([Book({"Processor": "One"}, [], {"W5": replace(result, rows=[slow, soft])})])


def test_results_without_likelihoods_are_compared_by_their_ends():
    rows = [replace(row, log_likelihood=None, reached={}) for row in invented("Wadult").rows]
    book = Book({"Processor": "One"}, [], {"Wadult": replace(invented("Wadult"), rows=rows), "W5": invented()})
    text = page_part([book])
    assert "| a poor peer, 4 s | kmle soft, 200 ms | 20x |" in text
    assert [result.name for result in book.in_order()] == ["W5", "Wadult"]


def test_every_engine_is_measured_against_the_dense_one():
    entries = ablation.ablation(True, 1, 1, ("W9",), memory=False)
    assert {entry["engine"] for entry in entries} == {
        "dense", "sorted", "bounds", "boxes", "ball-tree", "vp-tree", "compressed", "auto",
    }  # fmt: skip
    assert all(entry["same"] for entry in entries)
    lines = lines_of(ablation_table(entries))
    assert [line.split("|")[1].strip() for line in lines] == ["W9, hard", "W9, soft"]


def test_engines_have_their_peak_memory(monkeypatch):
    monkeypatch.setattr(ablation, "NAMES", ("dense", "sorted", "auto"))
    monkeypatch.setattr(ablation, "ESTIMATORS", {"hard": ablation.ESTIMATORS["hard"]})
    entries = ablation.ablation(True, 1, 1, ("W9",))
    assert "MB, sorted |" in lines_of(ablation_table(entries))[0]
    by_engine = {entry["engine"]: entry["megabytes"] for entry in entries if entry["kind"] == "hard"}
    # 60 000 rows in the kernels' layout are one megabyte.
    assert 0.5 < by_engine["dense"] < 20


def test_the_ratio_is_that_to_the_peer_hardest_to_beat():
    result = invented()
    assert result.hardest_peer().name == "a peer"
    assert result.quickest_to(result.hardest_peer())[1] == 0.3
    assert result.least_ratio(result.ours("kmle soft")) == pytest.approx(30)
    assert result.least_ratio(result.ours("kmle hard")) is None


def test_a_singular_outcome_is_not_compared():
    thin = Mixture.from_source("gaussian", [1.0], mean=[[0.0, 0.0]], covariance=[[[1.0, 0.0], [0.0, 1e-12]]])
    sound = Mixture.from_source("gaussian", [1.0], mean=[[0.0, 0.0]], covariance=[[[1.0, 0.0], [0.0, 1e-3]]])
    workload, X = WORKLOADS["W3"], np.zeros((2, 2))
    assert workload.is_singular(thin)
    assert not workload.is_singular(sound)
    assert Trail([0.1], [thin], workload, X).seconds_to(-1e9) is None
    assert Trail([0.1], [sound], workload, X).seconds_to(-1e9) == 0.1


def test_the_page_shows_what_was_measured(tmp_path):
    page = tmp_path / "benchmarks.md"
    written = command.PAGE.read_text(encoding="utf-8")
    page.write_text(written, encoding="utf-8")
    put_into(page, page_part([Book.read(path) for path in sorted(command.BOOKS.glob("*.json"))]))
    assert page.read_text(encoding="utf-8") == written


def test_a_page_keeps_what_is_around_the_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before {OPENING} old {CLOSING} after", encoding="utf-8")
    books = [Book({"Processor": f"{name}(R) 7, 2 cores"}, [], {"W5": invented()}) for name in ("Quick", "Slow")]
    put_into(page, page_part(books))
    text = page.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("### ")] == [
        "### On Quick(R) 7, 2 cores",
        "### On Slow(R) 7, 2 cores",
    ]
    assert "(pictures/benchmarks-quick-7.png)" in text
    assert text.startswith("before ")
    assert text.endswith(" after")
    assert "old" not in text
    page.write_text("no markers", encoding="utf-8")
    with pytest.raises(ValueError, match="markers"):
        put_into(page, "text")


def test_quick_results_never_replace_full_ones(tmp_path):
    book = Book()
    book.add(invented(quick=True))
    book.add(invented(quick=False))
    book.add(invented(quick=True))
    assert not book.results["W5"].quick
    book.write(tmp_path / "book.json")
    assert Book.read(tmp_path / "book.json") == book
    assert Book.read(tmp_path / "none.json") == Book()


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="peaks are told by POSIX")
def test_the_command_line_is_compared_with_reading(capsys):
    command_line.main(["--rows", "2000", "--repeats", "1"])
    message = capsys.readouterr().out
    assert "2000 rows" in message
    assert "kmle / polars" in message


def test_all_measured_results_can_be_read():
    books = [Book.read(path) for path in sorted(command.BOOKS.glob("*.json"))]
    assert books
    assert all(book.results for book in books)


def test_conditionals_are_compared(capsys):
    using.conditionals(2000, d=4, k=3)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[2] for line in lines[1:2]] == ["1.0"]
    assert len(lines) == 6


def test_contamination_is_what_it_says():
    for kind in ("even", "cluster", "beside"):
        X, outlier = using.contaminated(0, 200, 3, kind)
        assert X.shape == (210, 3)
        assert outlier.sum() == 10


def test_missing_entries_are_compared():
    for _, sides in missing.cases(300):
        holes, complete = sides["kmle"](), sides["kmle, complete rows"]()
        # Both are likelihoods of the entries that are there, which the fit to them maximises.
        assert holes.log_likelihood == pytest.approx(complete.log_likelihood, rel=0.01)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")
def test_the_processor_time_of_descendants_is_counted():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        found = dict(explore.processes((os.getpid(),)))
        assert found.keys() >= {os.getpid(), child.pid}
        assert found[os.getpid()] == pytest.approx(sum(os.times()[:2]), abs=0.5)
        assert os.getppid() not in found
    finally:
        child.kill()
        child.wait()


def test_the_commands_on_the_page_have_options_that_exist():
    lines = command.PAGE.read_text(encoding="utf-8").splitlines()
    shown = [line for line in lines if line.startswith("python -m benchmarks ")]
    assert len(shown) >= 5
    for line in shown:
        command.arguments(shlex.split(line, comments=True)[3:])
