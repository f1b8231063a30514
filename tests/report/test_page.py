"""The page by itself: whole, closed, escaped, and true to the fit."""

import json
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from cases import CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.inspection import standard_errors
from kmle.report import document as document_module
from kmle.report import write_report

VOID = {"meta", "link", "br", "input", "img", "hr"}
HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\"'&amp;%{x}$\\alpha$<b>\n{title}"]
LIBRARY = "/* the library */"


class Page(HTMLParser):
    """Elements and texts of a page; fails on what is not closed."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.data = [], [], [], {}
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script" and "id" in attributes:
            self.data[attributes["id"]] = self.data.get(attributes["id"], "") + data
        elif tag not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).replace("\N{NARROW NO-BREAK SPACE}", "").split())

    @property
    def panels(self):
        """The figures, with their shared lists put back."""
        content = json.loads(self.data["content"])

        def whole(value):
            if isinstance(value, dict):
                if set(value) == {"shared"}:
                    return content["shared"][value["shared"]]
                return {name: whole(item) for name, item in value.items()}
            return [whole(item) for item in value] if isinstance(value, list) else value

        return whole(content["panels"])

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The page of a fit, with a word in place of the library."""
    monkeypatch.setattr(document_module, "plotly", lambda: LIBRARY)

    def write(*args, **settings):
        return Page(write_report(tmp_path / "report.html", *args, **settings).read_text(encoding="utf-8"))

    return write


def plane(n=300, seed=0):
    dist = Mixture.from_source(
        "gaussian", [0.4, 0.6], mean=[[0.0, 0.0], [4.0, 6.0]], covariance=[np.eye(2), [[1.0, 0.4], [0.4, 2.0]]]
    )
    return dist.sample(n, seed)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_has_a_page_whose_model_is_the_one_fitted(case, written):
    dists = case.naturals(2, 3)
    X = np.concatenate([case.sample(dist, 60, seed) for seed, dist in enumerate(dists)])
    model = KMLE(2, family=case.family, random_state=0).fit(X)
    page = written(model, X)
    assert Mixture.from_json(page.data["model"]) == model.mixture_
    panels = page.panels
    assert set(panels) >= {"data", "weights", "certainty", "history"}
    assert all(view["data"] for views in panels.values() for view in views)


def test_nothing_comes_from_elsewhere(tmp_path):
    X = plane()
    path = write_report(tmp_path / "report.html", KMLE(2, random_state=0).fit(X), X)
    page = Page(path.read_text(encoding="utf-8"))
    assert [a["href"] for a in page.of("link")] == ["data:,"]
    assert not any("src" in attributes for _, attributes in page.elements)
    assert page.of("img") == page.of("iframe") == page.of("a") == []
    (policy,) = [a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http:" not in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert path.read_text(encoding="utf-8").count("Plotly.react(place") == 1
    assert 1e6 < path.stat().st_size < 1.5e6


def test_hostile_names_stay_text(written):
    X = np.random.default_rng(0).normal(size=(90, 3)) + np.repeat([[0], [9], [-9]], 30, axis=0)
    model = KMLE(3, random_state=0).fit(X)
    bad = HOSTILE[1]
    page = written(model, X, HOSTILE, command=f"kmle fit {bad}", seed=bad, title=f"<!--{bad}")
    assert len(page.of("script")) == 4
    assert page.of("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    options = "".join(page.texts)
    assert all(" ".join(name.split()) in " ".join(options.split()) for name in HOSTILE)
    # Titles in the pictures know tags and entities, so there they are escaped once more.
    titles = [view["layout"]["xaxis"]["title"]["text"] for view in page.panels["data"]]
    assert not any("<" in title for title in titles)
    assert any(title.startswith("&lt;img") for title in titles)


def test_columns_of_the_same_name_are_all_there(written):
    X = np.random.default_rng(0).normal(size=(60, 3))
    page = written(KMLE(1).fit(X), X, ["a", "a", "a"])
    # All pairs together, three pairs and three columns; then three columns each for quantiles and transforms.
    assert len(page.panels["data"]) == 7
    assert len(page.of("option")) == 7 + 3 + 3


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
def test_criteria_are_those_of_the_estimator(estimator, written):
    X = plane()
    model = estimator(2, random_state=0).fit(X)
    text = written(model, X).text.replace("\N{MINUS SIGN}", "-")
    aic, free = model.aic(X), model.mixture_.n_parameters
    expected = {
        "AIC": aic,
        "AICc": aic + 2 * free * (free + 1) / (len(X) - free - 1),
        "BIC": model.bic(X),
        "ICL": model.icl(X),
        "complete log-likelihood": model.complete_log_likelihood(X),
    }
    for name, value in expected.items():
        assert f" {name} {value:.2f} " in text


def test_starts_and_doubts_are_told(written):
    X = np.random.default_rng(0).negative_binomial(1, 0.05, (200, 1)).astype(float)
    model = KMLE(2, family="poisson", random_state=0).fit(X)
    text = written(model, X).text
    kinds = ", ".join(f"{number} {kind}" for kind, number in model.result_.starts.kinds.items())
    moves = f"{model.result_.starts.moves} moves between optima, none led further"
    assert f"Starts {model.result_.starts} {kinds} {moves} Engine" in text
    assert "try the negative binomial family" in text


def test_parameters_and_their_errors_are_shown(written):
    X = np.random.default_rng(0).poisson(np.repeat([3.0, 40.0], 200))[:, None]
    model = ExponentialFamilyMixture(2, family="poisson", random_state=0).fit(X)
    text = written(model, X, ["calls"]).text
    errors = standard_errors(model, X).source["rate"]
    for rate, error in zip(model.mixture_.source["rate"].ravel(), errors.ravel(), strict=True):
        assert f"{rate:.2f} ± {error:.2f}" in text
    assert "kmle 0." in text
    assert "Seed 0" in text
    assert "tolerance reached" in text


def test_without_standard_errors_the_page_says_why(written):
    X = plane(40)
    model = ExponentialFamilyMixture(2, init="random", tol=0.0, random_state=0, max_iter=1).fit(X)
    wide = np.random.default_rng(0).normal(size=(200, 60))
    text = written(KMLE(1, family="gaussian").fit(wide), wide).text
    assert "There are no standard errors: 1891 unknowns are too many" in text
    assert "The iteration limit ended the fit before it converged" in written(model, X).text


def test_the_page_does_not_grow_with_the_rows(written):
    lengths = []
    for n in (3000, 30_000):
        X = plane(n)
        page = written(KMLE(2, random_state=0).fit(X), X)
        lengths.append(len(page.data["content"]))
        assert f"2000 of {n} rows drawn" in page.text
    assert lengths[1] < 1.1 * lengths[0]


def test_weights_count_rows(written):
    X = plane(100)
    model = KMLE(2, random_state=0).fit(X, sample_weight=np.full(100, 3.0))
    text = written(model, X, sample_weight=np.full(100, 3.0)).text
    assert "Tables count rows by their weights" in text
    assert "11 free parameters, 300 rows." in text


def test_bad_input_is_named(written, tmp_path):
    X = plane(50)
    with pytest.raises(NotFittedError):
        written(KMLE(2), X)
    with pytest.raises(ValueError, match="estimator is a Mixture: give a fitted KMLE"):
        written(KMLE(2, random_state=0).fit(X).mixture_, X)
    with pytest.raises(ValueError, match="X has 49 rows but the estimator was fitted to 50"):
        written(KMLE(2, random_state=0).fit(X), X[1:])
    with pytest.raises(ValueError, match="fitted batch by batch"):
        written(KMLE(2, random_state=0).partial_fit(X), X)
    with pytest.raises(ValueError, match="fitted batch by batch"):
        written(KMLE(2, random_state=0).fit(X).partial_fit(X), X)
    with pytest.raises(ValueError, match="columns names 'c'"):
        written(KMLE(2, random_state=0).fit(X), X, ["c"])
    assert not list(tmp_path.iterdir())


def test_no_package_is_needed_but_those_of_kmle():
    code = (
        "import sys; sys.modules['plotly'] = sys.modules['matplotlib'] = None\n"
        "from kmle import KMLE; from kmle.report import write_report; import tempfile, pathlib\n"
        "X = [[1], [2], [30], [28], [3]]; model = KMLE(2, family='poisson', random_state=0).fit(X)\n"
        "print(write_report(pathlib.Path(tempfile.mkdtemp()) / 'r.html', model, X).stat().st_size > 1e6)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_what_would_take_long_is_left_out_and_said(written):
    X = np.random.default_rng(0).normal(size=(1200, 1))
    model = ExponentialFamilyMixture(120, init="k-mle++", n_init=1, max_iter=2, random_state=0)
    text = written(model.fit(X), X).text
    assert "Not computed: comparing 120 components takes long" in text
    many = np.random.default_rng(0).normal(size=(100_001, 1))
    assert "Not computed: on 100001 rows it would take long" in (
        text := written(KMLE(2, random_state=0).fit(many), many).text
    )
    assert "100000 of 100001 rows were used." in text


@pytest.mark.parametrize("family", ["gaussian", "gamma", "exponential"])
def test_decades_are_drawn_over_their_logarithm_unless_there_are_negative_numbers(family, written):
    X = np.random.default_rng(0).exponential(size=(400, 1)) * np.repeat([[1.0], [1e4]], 200, axis=0)
    page = written(KMLE(2, family=family, random_state=0).fit(X), X, ["seconds"])
    layout = page.panels["data"][0]["layout"]
    assert ("ticktext" in layout["xaxis"]) == (family != "gaussian")


def test_constant_columns_have_a_page(written):
    page = written(KMLE(1).fit(np.ones((30, 2))), np.ones((30, 2)))
    assert "30 rows." in page.text
