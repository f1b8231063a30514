"""`kmle plot` and `kmle report`, and the titles of reports."""

import re

import numpy as np
import pytest

from cli.drawing import FAITHFUL, refusal, rows, run


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.json"
    run("fit", FAITHFUL, "-k", 2, "--out", path, "-q")
    return path


def title_of(path):
    text = path.read_text(encoding="utf-8")
    (found,) = re.findall(r"<h1>(.*?)</h1>", text)
    return found


def test_a_report_is_titled_by_its_data_unless_a_title_is_given(tmp_path):
    run("fit", FAITHFUL, "-k", 2, "--report", tmp_path / "a.html")
    run("fit", FAITHFUL, "-k", 2, "--report", tmp_path / "b.html", "--title", "Old Faithful & co")
    assert title_of(tmp_path / "a.html") == "faithful"
    assert title_of(tmp_path / "b.html") == "Old Faithful &amp; co"


def test_the_criterion_is_in_the_report_when_k_was_chosen(tmp_path):
    run("fit", FAITHFUL, "--report", tmp_path / "a.html")
    assert "How many components" in (tmp_path / "a.html").read_text(encoding="utf-8")
    run("select", FAITHFUL, "-k", "1-3", "--families", "gaussian,log-normal", "--report", tmp_path / "b.html")
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "How many components" in text
    assert "log-normal" in text


def test_plot_writes_beside_and_does_not_overwrite(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "wrote faithful.png" in run("plot", model, FAITHFUL).stderr
    assert (tmp_path / "faithful.png").read_bytes().startswith(b"\x89PNG")
    assert "the file exists" in refusal(run("plot", model, FAITHFUL))
    assert run("plot", model, FAITHFUL, "--force").exit_code == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--kind", "cells"],
        ["--kind", "posterior"],
        ["--kind", "quantiles", "--show", "waiting"],
        ["--show", "waiting"],
    ],
)
def test_every_kind_of_plot(model, tmp_path, options):
    assert run("plot", model, FAITHFUL, "--out", tmp_path / "p.svg", *options).exit_code == 0
    assert "<svg" in (tmp_path / "p.svg").read_text(encoding="utf-8")


def test_report_compares_new_data(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new = np.loadtxt(FAITHFUL, delimiter=",", skiprows=1)[:, :2] + [0.0, 12.0]
    np.savetxt(tmp_path / "june.csv", new, delimiter=",", header="eruptions,waiting", comments="")
    assert "wrote june.html" in run("report", model, "june.csv").stderr
    text = (tmp_path / "june.html").read_text(encoding="utf-8")
    assert title_of(tmp_path / "june.html") == "june"
    assert "Drifted: waiting." in text
    assert (tmp_path / "june.html").stat().st_size < 1.5e6


@pytest.mark.parametrize("command", ["plot", "report"])
def test_what_cannot_be_done_is_said_before_it_is_tried(model, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    np.savetxt(tmp_path / "other.csv", rows()[:, :1], header="length", comments="")
    assert "no column 'eruptions'" in refusal(run(command, model, "other.csv"))
    assert "cannot be written to standard output" in refusal(run(command, model, FAITHFUL, "--out", "-"))
    assert not list(tmp_path.glob("*.png")) + list(tmp_path.glob("*.html"))


def test_a_format_no_plot_has_is_refused(model):
    assert "unknown format .html" in refusal(run("plot", model, FAITHFUL, "--out", "plot.html"))
