"""`write_comparison`: new data against a model, as a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..plotting.reading import Columns, Subject, read
from ..plotting.style import heading
from .calibration import quantile_panel, transform_panel
from .details import card_row, command_line, written_by
from .document import Section, document
from .drift import (
    ColumnDrift,
    LikelihoodDrift,
    column_drifts,
    drift_section,
    likelihood_details,
    likelihood_drift,
    likelihood_panel,
    moved,
)
from .markup import details, text
from .numbers import count, percent, plain
from .panels import certainty_panel, data_panel, weights_panel
from .parameters import components_section
from .rows import MOST_ROWS, RowNames, improbable_rows, uncertain_rows
from .summary import summary_section


def write_comparison(
    path: str | Path,
    model: Any,
    X: ArrayLike,
    columns: Columns = None,
    *,
    title: str | None = None,
    command: str | None = None,
    about: Mapping[str, Any] | None = None,
    row_names: RowNames = str,
) -> Path:
    """Writes new rows against a model as one HTML page: the drift of each column, of the shares and of the likelihood.

    Parameters
    ----------
    path : str or Path
        The file to write.
    model : Mixture or fitted estimator
        What the rows are compared with.
    X : array or data frame of shape (n, d)
        New rows, of the columns the model was learned from.
    columns : sequence of names or numbers, optional
        Names of the columns of data without names, or the columns to draw.
    title, command : str, optional
        The title of the page, and the command that wrote it.
    about : mapping, optional
        What the model file says of the data it was learned from (`rows`, `log_likelihood`, `data`).
    row_names : callable, optional
        What a row is called, from its number.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from kmle import Mixture
    >>> mixture = Mixture.from_source("poisson", [0.5, 0.5], rate=[2.0, 9.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_comparison(f"{folder}/new.html", mixture, mixture.sample(200, 1), columns=["calls"]).name
    'new.html'
    """
    subject = read(model, X, columns)
    drifts, likelihood = column_drifts(subject), likelihood_drift(subject)
    sections = _sections(subject, drifts, likelihood, about or {}, command, row_names)
    what = heading(subject.mixture)
    message = f"New data compared with a model: {what[:1].lower()}{what[1:]}. {moved(drifts)}"
    page = document(
        title or "New data compared with a model",
        message,
        _cards(subject, drifts, likelihood),
        sections,
        subject.mixture,
    )
    target = Path(path)
    target.write_text(page, encoding="utf-8", newline="\n")
    return target


def _cards(subject: Subject, drifts: list[ColumnDrift], likelihood: LikelihoodDrift) -> str:
    far = [drift for drift in drifts if drift.verdict in ("moderate", "large")]
    rows, columns = subject.rows.shape[0], len(drifts)
    changed = (
        "as expected"
        if abs(likelihood.errors) <= 3
        else ("lower than expected" if likelihood.errors < 0 else "higher than expected")
    )
    return card_row(
        {
            "Rows": (count(rows), f"{count(columns)} column{'s' * (columns != 1)}"),
            "Columns that drifted": (count(len(far)), f"of {count(columns)}, moderately or more"),
            "Mean log-density": (plain(likelihood.mean, 3), f"{changed}: {plain(likelihood.expected, 3)}"),
            "Improbable rows": (percent(likelihood.improbable), "0.1 % expected"),
        }
    )


def _sections(
    subject: Subject,
    drifts: list[ColumnDrift],
    likelihood: LikelihoodDrift,
    about: Mapping[str, Any],
    command: str | None,
    row_names: RowNames,
) -> list[Section]:
    mixture = subject.mixture
    labels = mixture.predict(subject.sampled(MOST_ROWS))
    sizes = np.bincount(labels, minlength=mixture.n_components) * (subject.rows.shape[0] / len(labels))
    calibration = {"Quantiles": quantile_panel(subject), "Probability transforms": transform_panel(subject)}
    uncertain = [Section("Least certain rows", uncertain_rows(subject, row_names))] if mixture.n_components > 1 else []
    return [
        Section("Drift of each column", drift_section(drifts), wide=True),
        Section("Likelihood", likelihood_panel(likelihood), key="likelihood"),
        Section("Drift of the likelihood", details(likelihood_details(likelihood, _learned_at(about)))),
        Section("New data and the model", data_panel(subject), wide=True, key="data"),
        Section("Weights", weights_panel(subject, sizes), key="weights"),
        Section("Certainty", certainty_panel(subject), key="certainty"),
        *uncertain,
        Section("Least probable rows", improbable_rows(subject, row_names), wide=not uncertain),
        *(
            Section(name, panel, key=name.split()[-1].lower())
            for name, panel in calibration.items()
            if panel is not None
        ),
        Section("Columns", summary_section(subject), wide=True),
        Section("Components of the model", components_section(mixture, sizes, NO_ERRORS, subject.names), wide=True),
        Section("How to reproduce it", command_line(command) + details(_origin(about) | written_by()), wide=True),
    ]


NO_ERRORS = "Rows are those of the new data; a model file has no standard errors."


def _learned_at(about: Mapping[str, Any]) -> float | None:
    """The mean log-density of the rows the model was learned from, if its file says so."""
    total, rows = about.get("log_likelihood"), about.get("rows")
    if isinstance(total, int | float) and isinstance(rows, int | float) and rows > 0:
        return float(total) / float(rows)
    return None


def _origin(about: Mapping[str, Any]) -> dict[str, str]:
    data = about.get("data")
    return {"Fitted to": text(data)} if isinstance(data, str) else {}
