"""`write_report`: the page, put together from its parts."""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..families.checking import check_sample_weight
from ..learning import Fit
from ..numerics.arrays import Array
from ..plotting.reading import Columns, Subject, read
from ..plotting.style import heading
from .facts import cards, diagnostics_section, learning_facts, likelihood_table, reproduction
from .figure import Panel, palettes
from .markup import element, script_data, text
from .panels import certainty_panel, data_panel, history_panel, weights_panel
from .parameters import components_section, errors_of


def write_report(
    path: str | Path,
    estimator: Any,
    X: ArrayLike,
    columns: Columns = None,
    *,
    sample_weight: ArrayLike | None = None,
    command: str | None = None,
    seed: object = None,
    title: str | None = None,
) -> Path:
    """Writes a fitted estimator and the rows X it was fitted to as one HTML page that needs no network.

    `columns` names the columns of data without names, or chooses which are drawn; `command` and `seed` are shown as
    the way to the same fit. The page is about 5 MB, nearly all of it Plotly, however many rows there are.

    >>> import tempfile
    >>> from kmle import KMLE
    >>> X = [[1], [2], [30], [28], [3]]
    >>> model = KMLE(2, family="poisson", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/report.html", model, X, columns=["calls"]).name
    'report.html'
    """
    library = _plotly()
    subject = _subject(estimator, X, columns)
    weights = check_sample_weight(sample_weight, subject.rows.shape[0])
    fit = estimator.fit_
    sizes = np.bincount(fit.labels, weights, fit.mixture.n_components).astype(float)
    panels = {
        "data": data_panel(subject),
        "weights": weights_panel(subject, sizes),
        "certainty": certainty_panel(subject),
        "history": history_panel(fit),
    }
    script = (files(__package__) / "page.js").read_text(encoding="utf-8")
    drawn = {key: [figure.content() for _, figure in panel.views] for key, panel in panels.items()}
    page = TEMPLATE.format(
        policy=_policy(library, script),
        title=text(title or heading(fit.mixture)),
        style=(files(__package__) / "page.css").read_text(encoding="utf-8"),
        about=text(_about(fit, bool(title), weights is not None)),
        cards=cards(fit, float(sizes.sum())),
        main=_sections(estimator, subject, panels, sizes, weights) + _last_section(estimator, command, seed),
        model=script_data(fit.mixture.to_dict()),
        content=script_data({"panels": drawn, "palettes": palettes(fit.mixture.n_components)}),
        library=library,
        script=script,
    )
    target = Path(path)
    target.write_text(page, encoding="utf-8", newline="\n")
    return target


def _plotly() -> str:
    """The text of plotly.js, or one sentence on how to get it."""
    try:
        from plotly.offline import get_plotlyjs
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "plotly":
            raise
        raise ModuleNotFoundError("write_report needs plotly: pip install 'kmle[report]'", name="plotly") from None
    # The two characters could only stand in a string; they must not end the element.
    # Parsers of HTML read every end of line as "\n", and the page's policy goes by what they read.
    return str(get_plotlyjs()).replace("</script", "<\\/script").replace("\r\n", "\n").replace("\r", "\n")


def _subject(estimator: Any, X: ArrayLike, columns: Columns) -> Subject:
    """The rows the estimator was fitted to, or one sentence on what is wrong."""
    if not hasattr(estimator, "fit"):
        raise ValueError(f"estimator is a {type(estimator).__name__}: give a fitted KMLE or ExponentialFamilyMixture")
    check_is_fitted(estimator, "mixture_")
    fit = getattr(estimator, "fit_", None)
    if fit is None or fit.mixture is not estimator.mixture_:
        raise ValueError("estimator was learned batch by batch, which leaves no history to report: use fit(X)")
    subject = read(estimator, X, columns)
    n, learned = subject.rows.shape[0], len(fit.labels)
    if learned != n:
        raise ValueError(f"X has {n} rows but the estimator was fitted to {learned}: give the rows it was fitted to")
    return subject


def _about(fit: Fit, titled: bool, weighted: bool) -> str:
    """The line under the title."""
    told = f"{heading(fit.mixture)}, learned by {fit.algorithm}." if titled else f"Learned by {fit.algorithm}."
    return told + (" Tables count rows by their weights, pictures and diagnostics each row once." if weighted else "")


def _sections(estimator: Any, subject: Subject, panels: dict[str, Panel], sizes: Array, weights: Array | None) -> str:
    fit = estimator.fit_
    errors = errors_of(fit.mixture, subject.rows, weights, fit.algorithm, fit.prescribed_weights)
    parts = [
        ("Data and mixture", _drawing("data", panels["data"]), "wide"),
        ("Components", components_section(fit.mixture, sizes, errors, subject.names), "wide"),
        ("Weights", _drawing("weights", panels["weights"]), "half"),
        ("Certainty", _drawing("certainty", panels["certainty"]), "half"),
        ("Learning", _drawing("history", panels["history"]), "half"),
        ("How it went", learning_facts(estimator, subject, weights), "half"),
        ("Likelihood and criteria", likelihood_table(fit, float(sizes.sum())), "half"),
        ("Diagnostics", diagnostics_section(subject), "half"),
    ]
    return "".join(_section(*part) for part in parts)


def _last_section(estimator: Any, command: str | None, seed: object) -> str:
    return _section("How to get it again", reproduction(estimator, command, seed), "wide")


def _section(name: str, content: str, kind: str) -> str:
    return element("section", element("h2", text(name)), content, class_=kind)


def _drawing(key: str, panel: Panel) -> str:
    """Where a picture is drawn, and the list to choose from where there are several."""
    chooser = ""
    if len(panel.views) > 1:
        options = [element("option", text(view), value=str(place)) for place, (view, _) in enumerate(panel.views)]
        chooser = element("label", "Show ", element("select", *options, data_for=key), class_="chooser")
    place = element("div", class_="plot", id=f"plot-{key}", data_panel=key)
    note = element("p", text(panel.caption), " ", element("span", class_="view-note"), class_="note")
    return element("figure", chooser, place, note)


def _policy(*scripts: str) -> str:
    """Nothing may be fetched, and no script may run but these."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="kmle">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<div><h1>{title}</h1><p>{about}</p></div>
<nav><button id="download" type="button">Download the model</button>
<button id="theme" type="button" aria-label="Light or dark">◐</button></nav>
</header>
{cards}
<noscript><p class="note">The pictures and the download need JavaScript.</p></noscript>
<main>{main}</main>
<footer>Written by kmle. This page holds all it shows and asks nothing of the network.</footer>
<script type="application/json" id="model">{model}</script>
<script type="application/json" id="content">{content}</script>
<script>{library}</script>
<script>{script}</script>
</body>
</html>
"""
