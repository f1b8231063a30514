"""Model files that are cut short, too new, nonsense or malicious: one sentence, exit code 2, nothing executed."""

import json

import numpy as np
import pytest

from cli.drawing import refusal, run
from kmle import Mixture
from kmle.io import models

GOOD = Mixture.from_source("gaussian", [0.4, 0.6], mean=np.zeros((2, 2)), covariance=[np.eye(2)] * 2).to_dict()
TEXT = json.dumps(GOOD)


def changed(**changes):
    return json.dumps(GOOD | changes)


def family(name, natural=((0.1,), (0.2,)), **facts):
    return changed(family={"name": name, "facts": facts}, natural=natural)


HOSTILE = {
    "cut short": TEXT[:100],
    "empty": "",
    "not JSON": "a,b\n1,2\n",
    "not text": b"\xff\xfe\x00\x01",
    "a list": "[1, 2]",
    "a number": "12",
    "another format": changed(format="pickle"),
    "newer": changed(version=99),
    "no version": changed(version=None),
    "a version of words": changed(version="1"),
    "a version of many digits": '{"format": "kmle-mixture", "version": ' + "9" * 5000 + "}",
    "NaN": TEXT.replace("0.4", "NaN"),
    "infinite": TEXT.replace("0.4", "1e999"),
    "weights of words": changed(weights=["a", "b"]),
    "weights of truth values": changed(weights=[True, False]),
    "weights by name": changed(weights={"a": 1}),
    "weights beyond one": changed(weights=[0.7, 0.7]),
    "negative weights": changed(weights=[-0.5, 1.5]),
    "huge whole numbers": changed(weights=[10**400, 1]),
    "no parameters": changed(natural=[]),
    "ragged parameters": changed(natural=[[1, 2], [1]]),
    "too few parameters": changed(natural=[[1.0], [2.0]]),
    "deep parameters": changed(natural=[[[[1.0]]]]),
    "parameters outside": changed(natural=[[0, 0, 1, 0, 1], [0, 0, 1, 0, 1]]),
    "huge parameters": changed(natural=[[1e308] * 5] * 2),
    "huge shapes": family("gaussian", n_features=10**15),
    "huger shapes": family("gaussian", n_features=10**400),
    "negative columns": family("gaussian", n_features=-2),
    "half a column": family("gaussian", n_features=2.5),
    "columns of words": family("gaussian", n_features="2"),
    "columns of lists": family("gaussian", n_features=[2]),
    "a family of code": family("__import__('os').mkdir('pwned')", n_features=1),
    "an abstract family": family("ExponentialFamily", n_features=1),
    "a family that is a list": changed(family=[1]),
    "unknown facts": family("poisson", n_features=1, __class__="os"),
    "trials of words": family("binomial", n_features=1, trials="ten"),
    "huge trials": family("binomial", n_features=1, trials=10**300),
    "huge categories": family("categorical", n_features=1, n_categories=10**12),
    "a covariance of words": family("fixed-covariance-gaussian", n_features=1, covariance="x"),
    "a ragged covariance": family("fixed-covariance-gaussian", n_features=1, covariance=[[1, 2], [3]]),
    "deep nesting": "[" * 100_000,
    "deep families": '{"format": "kmle-mixture", "version": 1, "weights": [1], "natural": [[1]], "family": '
    + '{"name": "product", "families": [' * 400
    + "]}" * 400
    + "}",
    "names that are numbers": changed(columns=[1, 2]),
    "too few names": changed(columns=["a"]),
    "a name twice": changed(columns=["a", "a"]),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_models_are_refused(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    content = HOSTILE[case]
    path = tmp_path / "model.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    sentence = refusal(run("show", path))
    assert str(path) in sentence
    assert len(sentence) < 700
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


def test_giant_files_are_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "LARGEST_BYTES", 1 << 20)
    path = tmp_path / "model.json"
    path.write_bytes(b" " * (2 << 20))
    assert "is larger than 1 MB and cannot be a model file" in refusal(run("show", path))


def test_a_good_model_is_read_and_unknown_entries_do_no_harm(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(changed(extra={"anything": [1, None]}, about="nothing"))
    assert run("show", path).exit_code == 0


def test_writing_leaves_nothing_half_done(tmp_path):
    mixture = Mixture.from_dict(GOOD)
    path = tmp_path / "model.json"
    models.write_model(str(path), mixture, ["a", "b"], {"rows": 3})
    model = models.read_model(str(path))
    assert (model.mixture, model.columns, model.about) == (mixture, ("a", "b"), {"rows": 3})
    with pytest.raises(ValueError, match="not JSON compliant"):
        models.write_model(str(path), mixture, about={"bad": float("nan")})
    assert models.read_model(str(path)).mixture == mixture
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]
