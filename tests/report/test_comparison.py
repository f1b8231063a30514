"""New data compared with a model: what has drifted is said, what has not is not."""

import numpy as np
import pytest

from cases import CASES, case_id
from kmle import Mixture
from kmle.plotting.reading import read
from kmle.report import document as document_module
from kmle.report import write_comparison
from kmle.report.drift import column_drifts, likelihood_drift
from report.test_page import LIBRARY, Page

MODEL = Mixture.from_source(
    "gaussian", [0.4, 0.6], mean=[[0.0, 0.0], [6.0, 4.0]], covariance=[np.eye(2), [[1.0, 0.5], [0.5, 2.0]]]
)


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(document_module, "plotly", lambda: LIBRARY)

    def write(*args, **settings):
        return Page(write_comparison(tmp_path / "new.html", *args, **settings).read_text(encoding="utf-8"))

    return write


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_the_model_have_not_drifted(seed):
    subject = read(MODEL, MODEL.sample(1000, seed + 10))
    assert {drift.verdict for drift in column_drifts(subject)} <= {"none"}
    assert abs(likelihood_drift(subject).errors) < 3.5


def test_the_column_that_moved_is_named():
    X = MODEL.sample(1000, 1) + np.array([0.0, 1.5])
    first, second = column_drifts(read(MODEL, X, ["height", "width"]))
    assert first.verdict == "none"
    assert (second.name, second.verdict) == ("width", "large")
    spread = np.sqrt(0.4 * 1.0 + 0.6 * 2.0 + 0.4 * 0.6 * 16.0)
    assert second.shift == pytest.approx(1.5 / spread, abs=0.1)
    assert second.chance < 1e-6


def test_the_likelihood_falls_with_drift():
    found = likelihood_drift(read(MODEL, MODEL.sample(1000, 1) + np.array([0.0, 3.0])))
    assert found.errors < -10
    assert found.improbable > 0.05
    exact = MODEL.log_density(MODEL.sample(200_000, 5)).mean()
    assert found.expected == pytest.approx(exact, abs=0.05)


def test_the_page_says_it(written):
    X = MODEL.sample(800, 1) + np.array([0.0, 1.5])
    about = {"log_likelihood": -3600.0, "rows": 900, "data": "old.csv"}
    page = written(MODEL, X, ["height", "width"], title="June", about=about, command="kmle report model.json june.csv")
    assert "June New data compared with a model: mixture of 2 Gaussian components. Drifted: width." in page.text
    assert "\N{MINUS SIGN}4.0000 per row of its data" in page.text
    assert "Fitted to old.csv" in page.text
    assert "kmle report model.json june.csv" in page.text
    assert set(page.panels) >= {"likelihood", "data", "weights", "certainty", "quantiles", "transforms"}
    drift = page.text.partition("Drift of each column")[2]
    assert drift.index("width") < drift.index("height"), "the largest drift comes first"


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_can_be_compared(case, written):
    natural = case.naturals(2, 3)
    mixture = Mixture(case.family, np.array([0.5, 0.5]), natural)
    X = np.concatenate([case.sample(dist, 60, seed) for seed, dist in enumerate(natural)])
    assert "Drift of each column" in written(mixture, X).text
