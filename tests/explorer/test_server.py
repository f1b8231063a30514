"""The server without a browser: who may speak to it, what it answers, and that it ends."""

import gc
import json
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import kmle
from explorer.serving import Talk, get, running
from kmle import Mixture
from kmle.explorer.fitting import Fitted
from kmle.explorer.source import from_array
from kmle.explorer.views import notes
from kmle.explorer.worker import Superseded, Worker


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (300, 2)), rng.normal(6, 1, (200, 2))])


@pytest.fixture(scope="module")
def server(rows):
    with running(from_array(rows, ["a", "b"])) as made:
        yield made


@pytest.fixture
def talk(server):
    with Talk(server.address) as opened:
        yield opened


# Who may speak to it -------------------------------------------------------------------------------------------------


def test_the_page_and_its_scripts_are_served(server):
    for name in ("", "plotly.js", "drawing.js", "explorer.js", "explorer.css", "report.css"):
        status, headers, content = get(server.address + name)
        assert (status, len(content) > 500) == (200, True), name
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_it_listens_on_this_machine_only(server):
    assert server._socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("path", ["", "wrong/", "wrong/plotly.js", "wrong/export/x/model"])
def test_a_request_without_the_token_is_refused(server, path):
    base = "/".join(server.address.split("/")[:3]) + "/"
    assert get(base + path)[0] == 403


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_another_host_or_origin_is_refused_even_with_the_token(server, headers):
    assert get(server.address, **headers)[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1", None])
def test_a_socket_from_another_origin_is_refused(server, origin):
    with pytest.raises(InvalidStatus), connect(server.address.replace("http", "ws") + "socket", origin=origin):
        pass


def test_two_servers_have_different_tokens(server, rows):
    with running(from_array(rows)) as other:
        assert other.address.split("/")[3] != server.address.split("/")[3]
        assert len(other.address.split("/")[3]) >= 20


# What it answers ------------------------------------------------------------------------------------------------------


def test_the_answer_is_the_fit_of_the_estimator(talk, rows):
    answer = talk.fit(n_components=2)
    model = kmle.ExponentialFamilyMixture(2, random_state=0).fit(rows)
    assert answer["numbers"]["BIC"].replace("\N{NARROW NO-BREAK SPACE}", "") == f"{model.result_.criteria.bic:.1f}"
    status, headers, content = get(export(talk, "model"))
    assert (status, headers["content-disposition"]) == (200, 'attachment; filename="model.json"')
    np.testing.assert_allclose(Mixture.from_json(content.decode()).natural, model.mixture_.natural, rtol=1e-6)


def export(talk, kind):
    address = talk.socket.request.path.replace("socket", f"export/{talk.welcome['page']}/{kind}")
    host = talk.socket.request.headers["Host"]
    return f"http://{host}{address}"


def test_the_labels_are_those_of_the_estimator(talk, rows):
    talk.fit(n_components=2, algorithm="k-mle", noise=True)
    lines = get(export(talk, "labels"))[2].decode().splitlines()
    model = kmle.KMLE(2, noise=True, random_state=0).fit(rows)
    assert lines[0] == "row,label"
    assert [int(line.split(",")[1]) for line in lines[1:]] == model.labels_.tolist()


def test_the_report_is_a_page(talk):
    talk.fit(n_components=2)
    assert get(export(talk, "report"))[2].startswith(b"<!DOCTYPE html>")


def test_a_file_that_is_not_there_is_not_found(talk):
    talk.fit(n_components=2)
    assert get(export(talk, "passwords"))[0] == 404


def test_a_sample_comes_first_then_all_rows_then_details(talk):
    number = talk.send("fit", settings={"columns": ["a", "b"], "n_components": 2})
    stages = []
    while "uncertain" not in (answer := talk.receive()):
        if answer["topic"] == "fit":
            assert answer["number"] == number
            stages.append(answer["stage"])
    assert stages[:3] == ["sample", "all", "details"]


def test_a_fit_that_takes_long_is_shown_before_it_ends(talk, rows, monkeypatch):
    """It is seen, its rows are listed, but what is exported is the whole fit."""
    monkeypatch.setattr("kmle.explorer.fitting.FIRST_LOOK", 0.0)
    number = talk.send("fit", settings={"columns": ["a", "b"], "n_components": 5})
    early = talk.until(lambda answer: answer.get("stage") == "early")
    assert early["number"] == number
    assert early["status"].startswith("A fit to all 500 rows after 1 iteration, with more to come")
    assert early["notes"] == []
    answer = talk.until(lambda answer: answer.get("stage") == "all")
    model = kmle.ExponentialFamilyMixture(5, random_state=0).fit(rows)
    assert answer["numbers"]["BIC"].replace("\N{NARROW NO-BREAK SPACE}", "") == f"{model.result_.criteria.bic:.1f}"
    np.testing.assert_array_equal(
        Mixture.from_json(get(export(talk, "model"))[2].decode()).natural, model.mixture_.natural
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"columns": []}, "no column is chosen"),
        ({"columns": ["z"]}, "no column 'z'"),
        ({"n_components": 0}, "k must be a whole number"),
        ({"n_components": "3"}, "k must be a whole number"),
        ({"family": "cauchy"}, "unknown family"),
        ({"family": "poisson"}, "poisson accepts whole numbers"),
        ({"family": "fixed-shape-gamma"}, "needs its shape"),
        ({"algorithm": "magic"}, "algorithm must be one of"),
        ({"prior_strength": -1}, "the prior must be a number"),
        ({"labels": "z"}, "not a column of classes"),
        ({"censoring": "event:z"}, "censoring must be none, or a column of events"),
        ({"censoring": "event:a"}, "it must be 1 (seen) or 0 (censored)"),
        ({"columns": ["a"], "censoring": "event:a"}, "no column besides 'a' is chosen"),
        ({"seed": 1.5}, "the seed must be a whole number"),
    ],
)
def test_wrong_settings_are_one_sentence(talk, settings, words):
    answer = talk.fit(**settings)
    assert words in answer["wrong"]
    # The page goes on.
    assert talk.fit(n_components=2)["stage"] == "all"


def test_the_page_has_its_own_words():
    with running(from_array([[1.0, 2.0], [3.0, 5.0]], ["a", "b"])) as server, Talk(server.address) as talk:
        assert talk.welcome["k"] == 2
        assert talk.fit(n_components=3)["wrong"] == "k is 3 but there are only 2 rows: use fewer components"
    fit = kmle.ExponentialFamilyMixture(1, random_state=0).fit([[1.0], [2.0]]).result_
    note = "Only 1 of 24 starts reached the best optimum; another random_state may give another result: raise n_init."
    shown = SimpleNamespace(fit=replace(fit, notes=(note,)), chosen=SimpleNamespace(columns=("a",)))
    assert notes(shown) == [
        "Only 1 of 24 starts reached the best optimum; another seed may give another result.",
    ]


def test_censored_values():
    """Columns of events and of upper bounds are offered, the curve of survival is the plot, listed rows are open."""
    rng = np.random.default_rng(0)
    seen = np.arange(400) % 3 > 0
    times = rng.gamma(3, 2, 400)
    table = np.column_stack([times, seen, np.where(seen, times, np.inf), rng.normal(size=400)])
    with running(from_array(table, ["time", "seen", "until", "other"])) as server, Talk(server.address) as talk:
        talk.send("fit", settings={"columns": ["time"]}, describe=True)
        offered = talk.until(lambda answer: answer["topic"] == "controls")["censoring"]
        assert [each["key"] for each in offered] == ["event:seen", "upper:until"]
        chosen = {"columns": ["time", "seen"], "family": "gamma", "n_components": 1, "censoring": "event:seen"}
        answer = talk.fit(**chosen)
        model = kmle.ExponentialFamilyMixture(1, family="gamma", random_state=0)
        model.fit(kmle.Intervals.from_events(times, seen))
        assert answer["numbers"]["BIC"].replace("\N{NARROW NO-BREAK SPACE}", "") == f"{model.result_.criteria.bic:.1f}"
        assert {"data", "mixture", "censored"} <= {trace.get("name") for trace in answer["plot"]["data"]}
        assert "134 of them censored" in answer["status"]
        talk.send("fit", settings=chosen, describe=True)
        families = talk.until(lambda answer: answer["topic"] == "controls")["families"]
        refused = {each["name"]: each["refused"] for each in families}
        assert refused["weibull"] is None
        assert "which von-mises cannot have" in refused["von-mises"]
        talk.fit(**chosen)
        talk.send("rows", rows={"kind": "row", "row": 0})
        listed = talk.until(lambda answer: answer["topic"] == "rows")["table"]
        assert f"\N{GREATER-THAN OR EQUAL TO} {times[0]:.5g}" in listed
        assert b"share beyond" in get(export(talk, "report"))[2]
        assert "censored values are one column" in talk.fit(**chosen | {"columns": ["time", "other"]})["wrong"]


@pytest.mark.parametrize("content", ["[]", "{", "1", '{"topic": "fit"}', '{"topic": "rows", "number": 1}'])
def test_nonsense_harms_nobody_else(server, talk, content):
    with Talk(server.address) as other:
        other.socket.send(content)
        assert talk.fit(n_components=2)["stage"] == "all"


def test_controls_offer_what_the_rows_allow(talk):
    talk.send("fit", settings={"columns": ["a", "b"]}, describe=True)
    controls = talk.until(lambda answer: answer["topic"] == "controls")
    families = {family["name"]: family for family in controls["families"]}
    assert families["gaussian"]["refused"] is None
    assert "accepts" in families["gamma"]["refused"]
    assert families["fixed-shape-gamma"]["fixed"] == [{"name": "shape", "needed": True, "default": None}]
    assert controls["guess"] == {"name": "gaussian", "reason": "'a', 'b' hold real numbers"}
    assert len(controls["structures"]) == 14


def test_rows_are_found_by_box_point_component_and_number(talk, rows):
    talk.fit(n_components=2)

    def table(**asked):
        number = talk.send("rows", rows=asked)
        return talk.until(lambda answer: answer["topic"] == "rows" and answer["number"] == number)

    inside = ((rows > 5) & (rows < 7)).all(axis=1).sum()
    assert f"{inside} rows" in table(kind="box", columns=[0, 1], x=[5, 7], y=[7, 5])["table"]
    assert ">17<" in table(kind="near", columns=[0, 1], x=rows[17, 0], y=rows[17, 1])["table"]
    assert ">3<" in table(kind="row", row=3)["table"]
    assert "300 rows" in table(kind="component", component=0)["table"]
    assert "No rows there" in table(kind="box", columns=[0, None], x=[100, 101])["table"]
    assert "no row 500" in table(kind="row", row=500)["wrong"]
    assert "wrong" in table(kind="box", columns=[0, 7], x=[0, 1])


def test_a_comparison_fills_in(talk, rows):
    number = talk.send(
        "compare",
        settings={"columns": ["a", "b"]},
        question={"families": "usual", "most": 3, "criterion": "bic"},
    )
    parts = []
    while not parts or not parts[-1].get("ended"):
        answer = talk.receive()
        assert (answer["topic"], answer["number"]) == ("compare", number)
        parts.append(answer)
    assert parts[-1]["best"]["n_components"] == 2
    assert parts[0]["done"] < parts[-1]["done"]


def test_a_fault_of_ours_is_told_and_the_page_goes_on(talk, monkeypatch):
    talk.fit(n_components=2)
    with monkeypatch.context() as broken:
        broken.setattr("kmle.explorer.pages.overview", lambda fitted, view: {}["missing"])
        assert talk.fit(n_components=3)["wrong"].startswith("internal error, KeyError")
    assert talk.fit(n_components=3)["stage"] == "all"


# One worker -----------------------------------------------------------------------------------------------------------


def test_fifty_rapid_changes_leave_the_last(talk):
    for turn in range(50):
        last = talk.send("fit", settings={"columns": ["a", "b"], "n_components": 2 + turn % 11})
    answers = []
    while not answers or answers[-1].get("stage") != "all" or answers[-1]["number"] != last:
        answers.append(talk.receive())
    fitted = [answer["number"] for answer in answers if answer["topic"] == "fit"]
    assert fitted == sorted(fitted)
    assert len([answer for answer in answers if answer.get("stage") == "all"]) <= 5


def test_fits_that_are_not_shown_are_not_kept(talk):
    for turn in range(20):
        talk.fit(n_components=2 + turn % 3)
    kept = [each for each in gc.get_objects() if type(each) is Fitted]
    assert 1 <= len(kept) <= 2 * 4  # of each page that this file has open: the one shown, the complete one


def test_two_pages_have_their_own_fits(server):
    with Talk(server.address) as first, Talk(server.address) as second:
        one = first.send("fit", settings={"columns": ["a"], "n_components": 2})
        two = second.send("fit", settings={"columns": ["a", "b"], "n_components": 3})
        assert first.until(lambda answer: answer.get("stage") == "all")["number"] == one
        assert second.until(lambda answer: answer.get("stage") == "all")["number"] == two
        assert json.loads(get(export(first, "model"))[2])["columns"] == ["a"]
        assert json.loads(get(export(second, "model"))[2])["columns"] == ["a", "b"]


def test_a_newer_job_ends_the_one_that_runs():
    worker, ended, began = Worker("test"), threading.Event(), threading.Event()

    def long(job):
        began.set()
        try:
            job.pause(20)
        except Superseded:
            ended.set()
            raise

    done = threading.Event()
    worker.submit("page", long)
    assert began.wait(5)
    worker.submit("other", lambda job: None)
    assert not ended.is_set()
    worker.submit("page", lambda job: done.set())
    assert ended.wait(5)
    assert done.wait(5)
    worker.stop()


def test_a_long_fit_is_ended_in_its_search():
    rng = np.random.default_rng(1)
    with running(from_array(rng.normal(size=(60_000, 6)))) as server, Talk(server.address) as talk:
        talk.send("fit", settings={"columns": talk.welcome["columns"], "n_components": 40})
        talk.until(lambda answer: answer.get("stage") == "sample")
        time.sleep(0.5)  # the fit to all rows has begun
        assert talk.fit(columns=["column 0"], n_components=1)["stage"] == "all"


# The end --------------------------------------------------------------------------------------------------------------


def test_it_stops_some_time_after_the_last_page_is_closed(rows):
    with running(from_array(rows), idle=0.3) as server:
        with Talk(server.address):
            assert not server.wait(1.0)
        assert server.wait(10)
        with pytest.raises(OSError):  # noqa: PT011 - refused, or reset
            get(server.address)


def test_rows_with_gaps_are_fitted_drawn_and_exported():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[np.arange(60), np.arange(60) % 3] = np.nan  # no row is complete
    X[0] = np.nan
    with running(from_array(X, ["a", "b", "c"])) as server, Talk(server.address) as talk:
        answer = talk.fit(n_components=2, family="diagonal-gaussian")
        assert answer["plot"]["view"] == "all pairs"
        assert "60 rows" in answer["status"]
        number = talk.send("rows", rows={"kind": "near", "columns": [0, 1], "x": 0.0, "y": 0.0})
        listed = talk.until(lambda message: message["topic"] == "rows" and message["number"] == number)
        assert "missing" in listed["table"]
        assert get(f"{server.address}export/{talk.welcome['page']}/report")[0] == 200
        assert "every row has a missing value" in talk.fit(drop_missing=True)["wrong"]


def test_a_column_without_entries_is_named():
    with running(from_array([[np.nan, 1.0], [np.nan, 2.0]], ["a", "b"])) as server, Talk(server.address) as talk:
        assert "column 'a' has no entry" in talk.fit(columns=["a", "b"])["wrong"]


def test_a_process_of_its_own_does_not_search_modules_for_garbage(rows):
    """The search takes 0.1 s, in the middle of a fit."""
    before = gc.get_freeze_count()
    try:
        with running(from_array(rows, ["a", "b"])) as server:
            server._server._load()
            assert gc.get_freeze_count() == before
        with running(from_array(rows, ["a", "b"]), alone=True) as server:
            server._server._load()
            assert gc.get_freeze_count() > before + 10_000
    finally:
        gc.unfreeze()
