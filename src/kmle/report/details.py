"""What the page says in words and single numbers: criteria, how learning went, diagnostics, how to do it again."""

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from math import isfinite, nan
from typing import Any

import numpy as np

from .. import __version__
from .._kernels import has_missing
from ..algorithms import Fit
from ..estimators.notes import named_columns
from ..families.validation import issparse
from ..inspection import Diagnostics, diagnose
from ..inspection.diagnostics import OVERLAP
from ..plotting.reading import Subject
from .library import PLOTLY_VERSION
from .markup import badge, details, element, folded, table, text
from .numbers import column, count, duration, percent, plain

# Rows examined for diagnostics; a certificate needs them all and is not sought for more.
MOST_ROWS = 100_000
# Numbers a certificate examines (rows, components, coordinates), and numbers diagnostics compare (pairs of components
# and coordinates, each pair with an effort of its own): a few seconds each.
MOST_SCORED, MOST_COMPARED, PAIR_EFFORT = 30_000_000, 200_000, 20
PACKAGES = ("numpy", "scipy", "scikit-learn")


def likelihood_table(fit: Fit, n_rows: float) -> str:
    """Log-likelihoods and criteria."""
    found = fit.criteria
    values = {
        "log-likelihood": found.log_likelihood,
        "complete log-likelihood": found.complete_log_likelihood,
        "AIC": found.aic,
        "AICc": found.aicc if isfinite(found.aicc) else nan,
        "BIC": found.bic,
        "ICL": found.icl,
    }
    message = f"{count(found.n_parameters)} free parameters, {count(n_rows)} rows. Of criteria, lower is better."
    rows = [[text(meaning), plain(value, 2)] for meaning, value in values.items()]
    return table(["", "value"], rows) + element("p", text(message), class_="note")


def cards(fit: Fit, n_rows: float, found: Diagnostics | None) -> str:
    """The few numbers that matter most."""
    n_columns = fit.mixture.family.n_features or 1
    shown = {
        "Components": (count(fit.mixture.n_components), f"{count(fit.criteria.n_parameters)} free parameters"),
        "Rows": (count(n_rows), f"{count(n_columns)} column{'s' * (n_columns != 1)}"),
        "BIC": (plain(fit.criteria.bic, 1), "lower is better"),
        "Mean entropy": (plain(fit.mean_entropy, 3), f"nats per row: {_how_apart(fit, found)}"),
        "Last ascent": (duration(fit.seconds), f"{count(fit.n_iter)} iteration{'s' * (fit.n_iter != 1)}"),
    }
    return card_row(shown)


def _how_apart(fit: Fit, found: Diagnostics | None) -> str:
    if fit.mixture.n_components == 1:
        return "there is one component"
    if fit.mean_entropy > OVERLAP:
        return "they overlap"
    if found is None:
        return "low"
    return "well separated" if found.overfitted is None else "but perhaps too many components"


def card_row(shown: Mapping[str, tuple[str, str]]) -> str:
    """Cards, each with its name, a value and a few words."""
    each = [
        element("div", element("b", text(name)), element("strong", text(value)), element("small", text(message)))
        for name, (value, message) in shown.items()
    ]
    return element("div", *each, class_="cards")


def fit_details(estimator: Any, subject: Subject, sample_weight: Any) -> str:
    """Why it stopped, what did the work, what is certain, what is to be noted."""
    fit = estimator.result_
    message = {
        "Stopped": text(fit.stop_reason),
        "Algorithm": text(f"{fit.algorithm}, {count(fit.n_iter)} iteration{'s' * (fit.n_iter != 1)}"),
        "Starts": starts_text(fit),
        "Engine": text(fit.engine),
        "Work": text(fit.work),
        "Time": text(duration(fit.seconds)),
        "Certificate": text(_certificate(estimator, subject, sample_weight)),
    }
    if estimator.notes_:
        message["Notes"] = "<br>".join(text(note) for note in named_columns(estimator.notes_, subject.names))
    return details(message)


def starts_text(fit: Fit) -> str:
    """How many starts were tried, of which kinds, how many agree, and what moves brought."""
    starts = fit.starts
    kinds = ", ".join(f"{count(number)} {name}" for name, number in starts.kinds.items())
    message = text(starts) + (f"<br><small>{text(kinds)}</small>" if starts.n > 1 else "")
    if starts.moves:
        led = f"{count(starts.improved)} led to a better optimum" if starts.improved else "none led further"
        message += f"<br><small>{text(f'{count(starts.moves)} moves between optima, {led}')}</small>"
    return message


def _certificate(estimator: Any, subject: Subject, sample_weight: Any) -> str:
    n, mixture = subject.rows.shape[0], subject.mixture
    if not issparse(subject.rows) and has_missing(subject.rows):
        return "Not computed: entries are missing."
    if subject.intervals is not None:
        return "Not computed: values are censored."
    if n > MOST_ROWS or n * mixture.n_components * mixture.family.n_statistics > MOST_SCORED:
        return f"Not computed: on {count(n)} rows it would take long; use estimator.certify(X)."
    return str(estimator.result_.certify(subject.rows, sample_weight).sentence)


def diagnosis(subject: Subject) -> Diagnostics | None:
    """What `diagnose` finds, on a sample of many rows; None for censored values and where it would take long."""
    mixture = subject.mixture
    if subject.intervals is not None:
        return None
    if mixture.n_components**2 * (mixture.family.n_statistics + PAIR_EFFORT) > MOST_COMPARED:
        return None
    return diagnose(mixture, subject.sampled(MOST_ROWS))


def diagnostics_section(subject: Subject, found: Diagnostics | None) -> str:
    """How well the components are told apart and how well they fit, as sentences and a folded table."""
    if subject.intervals is not None:
        return element("p", text("Not computed: values are censored; the survival curve says how they fit."))
    if found is None:
        message = f"Not computed: comparing {count(subject.mixture.n_components)} components takes long; "
        return element("p", text(message + "use kmle.inspection.diagnose(estimator, X)."), class_="note")
    apart = found.separation
    sentences = str(found).partition("\n\n")[2].splitlines()
    if found.n_rows < subject.rows.shape[0]:
        sentences.append(f"{count(found.n_rows)} of {count(subject.rows.shape[0])} rows were used.")
    listed = element("ul", *(element("li", text(sentence)) for sentence in sentences))
    if subject.mixture.n_components == 1:
        return listed
    k = np.arange(subject.mixture.n_components)
    cells = zip(
        column(apart.own_posterior),
        [badge(int(near)) for near in apart.nearest],
        column(apart.overlap[k, apart.nearest]),
        [percent(1 - apart.confusion[j, j]) for j in k],
        strict=True,
    )
    heads = ["component", "mean posterior of its rows", "nearest", "overlap with it", "rows it loses to others"]
    return listed + folded(
        "Component by component", table(heads, [[badge(int(j)), *c] for j, c in zip(k, cells, strict=True)])
    )


def reproduction(estimator: Any, command: str | None, seed: object) -> str:
    """The command, the settings and the versions that give this fit again."""
    if seed is None:
        seed = getattr(estimator, "random_state", None)
    message = {"Seed": text("none: another run may give another mixture" if seed is None else seed), **written_by()}
    shown = command_line(command)
    settings = element("pre", element("code", text(f"{' '.join(repr(estimator).split())}.fit(X)")))
    return shown + settings + details(message)


def command_line(command: str | None) -> str:
    """The command as it was given, if there was one."""
    return element("pre", element("code", text(command))) if command else ""


def written_by() -> dict[str, str]:
    """The versions of all packages, and when the page was written."""
    versions = {"kmle": __version__, "Python": platform.python_version()}
    versions |= {package: version(package) for package in PACKAGES} | {"plotly.js": PLOTLY_VERSION}
    return {
        "Versions": text(", ".join(f"{name} {number}" for name, number in versions.items())),
        "Written": text(datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
    }
