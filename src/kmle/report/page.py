"""`write_report`: a fit as a page, put together from its parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..algorithms import Fit
from ..data.intervals import Intervals
from ..families.validation import check_sample_weight
from ..numerics.arrays import Array
from ..plotting.reading import Columns, Subject, read
from ..plotting.style import heading
from ..selection import Selection
from .calibration import quantile_panel, transform_panel
from .choice import candidates_section, criterion_panel
from .details import cards, diagnosis, diagnostics_section, fit_details, likelihood_table, reproduction
from .document import Section, document
from .missing import missing_section
from .panels import certainty_panel, data_panel, history_panel, weights_panel
from .parameters import components_section, errors_of
from .rows import RowNames, improbable_rows, uncertain_rows
from .summary import summary_section
from .survival import survival_panel


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
    selection: Selection | None = None,
    row_names: RowNames = str,
    intervals: Intervals | None = None,
) -> Path:
    """Writes a fitted estimator and the rows X it was fitted to as one HTML page that needs no network.

    Parameters
    ----------
    path : str or Path
        The file to write.
    estimator : KMLE or ExponentialFamilyMixture
        The fitted estimator.
    X : array or data frame of shape (n, d)
        The rows it was fitted to.
    columns : sequence of names or numbers, optional
        Names of the columns of data without names, or the columns to draw.
    sample_weight : array of shape (n,), optional
        The weights given to `fit`.
    command, seed : optional
        Shown as the way to the same fit.
    title : str, optional
        The title, such as the name of the data set.
    selection : Selection, optional
        What `kmle.select` returned, where it chose the number of components or the family.
    row_names : callable, optional
        What a row is called, from its number.
    intervals : Intervals, default=None
        The values of the only column where some are censored; the page then has their survival curve.

    Returns
    -------
    Path
        The file. It is about 1.2 MB, nearly all of it plotly.js, however many rows there are.

    Examples
    --------
    >>> import tempfile
    >>> from kmle import KMLE
    >>> X = [[1], [2], [30], [28], [3]]
    >>> model = KMLE(2, family="poisson", random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/report.html", model, X, columns=["calls"]).name
    'report.html'
    """
    subject = replace(_subject(estimator, X, columns), intervals=intervals)
    weights = check_sample_weight(sample_weight, subject.rows.shape[0])
    fit = estimator.result_
    sizes = np.bincount(fit.labels, weights, fit.mixture.n_components).astype(float)
    found = diagnosis(subject)
    sections = [
        *_of_components(fit, subject, sizes, weights),
        *_of_rows(subject, row_names),
        *_of_fit(subject),
        *_of_choice(selection),
        *_of_learning(estimator, subject, sizes, weights),
        Section("Diagnostics", diagnostics_section(subject, found)),
        Section("How to reproduce it", reproduction(estimator, command, seed), wide=True),
    ]
    about = _about(fit, bool(title), weights is not None)
    shown = cards(fit, float(sizes.sum()), found)
    page = document(title or heading(fit.mixture), about, shown, sections, fit.mixture)
    target = Path(path)
    target.write_text(page, encoding="utf-8", newline="\n")
    return target


def _subject(estimator: Any, X: ArrayLike, columns: Columns) -> Subject:
    """The rows the estimator was fitted to, or one sentence on what is wrong."""
    if not hasattr(estimator, "fit"):
        raise ValueError(f"estimator is a {type(estimator).__name__}: give a fitted KMLE or ExponentialFamilyMixture")
    check_is_fitted(estimator, "mixture_")
    fit = getattr(estimator, "result_", None)
    if fit is None or fit.mixture is not estimator.mixture_:
        raise ValueError("estimator was fitted batch by batch and has no history to report: use fit(X)")
    subject = read(estimator, X, columns)
    n, learned = subject.rows.shape[0], len(fit.labels)
    if learned != n:
        raise ValueError(f"X has {n} rows but the estimator was fitted to {learned}: give the rows it was fitted to")
    return subject


def _about(fit: Fit, titled: bool, weighted: bool) -> str:
    """The line under the title."""
    message = f"{heading(fit.mixture)}, fitted by {fit.algorithm}." if titled else f"Fitted by {fit.algorithm}."
    return message + (" Tables count rows by their weights, plots and diagnostics each row once." if weighted else "")


def _of_components(fit: Fit, subject: Subject, sizes: Array, weights: Array | None) -> list[Section]:
    intervals = subject.intervals
    known: Any = subject.rows if intervals is None else intervals
    algorithm = fit.algorithm if intervals is None else "em"
    errors = errors_of(fit.mixture, known, weights, algorithm, fit.prescribed_weights)
    first = Section("Data and mixture", data_panel(subject), wide=True, key="data")
    if intervals is not None:
        panel = survival_panel(fit.mixture, intervals, weights, subject.names[0])
        first = Section("Survival", panel, wide=True, key="survival")
    return [
        first,
        Section("Components", components_section(fit.mixture, sizes, errors, subject.names), wide=True),
        Section("Weights", weights_panel(subject, sizes), key="weights"),
        Section("Certainty", certainty_panel(subject), key="certainty"),
    ]


def _of_rows(subject: Subject, row_names: RowNames) -> list[Section]:
    uncertain = []
    if subject.mixture.n_components > 1:
        uncertain.append(Section("Least certain rows", uncertain_rows(subject, row_names)))
    lacking = missing_section(subject)
    return [
        *uncertain,
        Section("Least probable rows", improbable_rows(subject, row_names), wide=not uncertain),
        *([] if lacking is None else [Section("Missing entries", lacking, wide=True)]),
        Section("Columns", summary_section(subject), wide=True),
    ]


def _of_fit(subject: Subject) -> list[Section]:
    panels = {"Quantiles": quantile_panel(subject), "Probability transforms": transform_panel(subject)}
    return [Section(name, panel, key=name.split()[-1].lower()) for name, panel in panels.items() if panel is not None]


def _of_choice(selection: Selection | None) -> list[Section]:
    if selection is None:
        return []
    return [
        Section("How many components", criterion_panel(selection), key="choice"),
        Section("Candidates", candidates_section(selection)),
    ]


def _of_learning(estimator: Any, subject: Subject, sizes: Array, weights: Array | None) -> list[Section]:
    fit = estimator.result_
    return [
        Section("Learning", history_panel(fit), key="history"),
        Section("The fit", fit_details(estimator, subject, weights)),
        Section("Likelihood and criteria", likelihood_table(fit, float(sizes.sum()))),
    ]
