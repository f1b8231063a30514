"""From a fit to what the page shows: figures for Plotly, tables, sentences; all by the code of reports."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..estimators.notes import named_columns
from ..inspection import StandardErrors
from ..plotting.reading import Subject
from ..plotting.style import heading
from ..report.calibration import quantile_panel, transform_panel
from ..report.details import diagnosis, diagnostics_section, starts_text
from ..report.document import LINES
from ..report.figure import Panel, palettes, shared_lists
from ..report.numbers import count, duration, plain
from ..report.panels import View, certainty_panel, data_views
from ..report.parameters import components_section, errors_of
from ..report.rows import improbable_rows, uncertain_rows
from .fitting import Fitted, sampled
from .snippets import command, python

# Rows from which errors and diagnostics are worked out; they count for all.
DETAIL_ROWS = 20_000
NO_ERRORS = "Standard errors follow."


def colours(n_components: int) -> dict[str, Any]:
    """The colours that figures of `n_components` components use."""
    return {"palettes": palettes(n_components), "lines": palettes(LINES)}


def overview(fitted: Fitted, view: str) -> dict[str, Any]:
    """What is shown at once: one plot, the components, single numbers, and the code that gives them."""
    subject, mixture = fitted.subject, fitted.mixture
    views, caption = data_views(subject)
    shown = next((each for each in views if each.name == view), views[0])
    sizes = _sizes(fitted)
    return {
        "stage": "all" if fitted.is_complete else "sample" if fitted.is_sample else "early",
        "title": heading(mixture),
        "status": status(fitted),
        "colours": colours(mixture.n_components),
        "plot": plot(shown, caption),
        "views": [each.name for each in views],
        "numbers": numbers(fitted),
        "components": components_section(mixture, sizes, NO_ERRORS, fitted.chosen.columns),
        "n_components": mixture.n_components,
        "columns": list(fitted.chosen.columns),
        "python": python(fitted),
        "command": command(fitted),
        "notes": notes(fitted) if fitted.is_complete else [],
        "starts": "" if not fitted.is_complete else starts_text(fitted.fit),
    }


def notes(fitted: Fitted) -> list[str]:
    """What the data says against the components, in the words of the page."""
    found = named_columns(list(fitted.fit.notes), fitted.chosen.columns)
    return [note.replace("random_state", "seed").replace(": raise n_init.", ".") for note in found]


def plot(view: View, caption: str) -> dict[str, Any]:
    """One plot: its figure, and the columns of its panels, for rows that are selected in it."""
    figure = view.draw().content()
    thin, shared = shared_lists({"data": figure["data"], "layout": figure["layout"]})
    return {**thin, "note": f"{caption} {figure['note']}".strip(), "shared": shared, "view": view.name,
            "panels": [list(pair) for pair in view.columns]}  # fmt: skip


def status(fitted: Fitted) -> str:
    """Which rows the page shows a fit to."""
    n, fit = len(fitted.chosen.rows), fitted.fit
    if fitted.number is not None and len(fitted.number) < n:
        return f"A first fit to {count(len(fitted.number))} of {count(n)} rows"
    if fitted.is_sample:
        return "A first fit from one start"
    rows = f"all {count(n)} rows"
    if fitted.chosen.kept is not None:
        rows += f" without missing values (of {count(len(fitted.source.rows))})"
    if fitted.chosen.intervals is not None:
        rows += f", {count(int((~fitted.chosen.intervals.exact).sum()))} of them censored"
    steps = f"{count(fit.n_iter)} iteration{'s' * (fit.n_iter != 1)}"
    if not fitted.is_complete:
        return f"A fit to {rows} after {steps}, with more to come"
    return f"Fitted to {rows}: {fit.algorithm}, {steps}, {duration(fit.seconds)}"


def numbers(fitted: Fitted) -> dict[str, str]:
    """The criteria and the mean entropy; those of a sample would mislead."""
    found = fitted.fit.criteria
    names = {
        "BIC": found.bic,
        "ICL": found.icl,
        "AIC": found.aic,
        "log-likelihood": found.log_likelihood,
        "mean entropy": fitted.fit.mean_entropy,
    }
    if fitted.is_sample and fitted.number is not None and len(fitted.number) < len(fitted.chosen.rows):
        return dict.fromkeys(names, "…") | {"parameters": count(found.n_parameters)}
    shown = {name: plain(value, 3 if name == "mean entropy" else 1) for name, value in names.items()}
    return shown | {"parameters": count(found.n_parameters)}


def _sizes(fitted: Fitted) -> np.ndarray[Any, Any]:
    """The rows of each component; those of a sample count for all."""
    labels = fitted.fit.labels
    sizes = np.bincount(labels, minlength=fitted.mixture.n_components).astype(float)
    return np.round(sizes * (len(fitted.chosen.rows) / max(len(labels), 1)))


def details(fitted: Fitted, check: Callable[[], None]) -> Iterator[dict[str, Any]]:
    """What takes longer, part by part: errors, diagnostics, rows to look at."""
    few = _few(fitted)
    errors = _errors(fitted)
    yield {"components": components_section(fitted.mixture, _sizes(fitted), errors, fitted.chosen.columns)}
    check()
    if fitted.mixture.n_components > 1:
        yield {"certainty": panel(certainty_panel(fitted.subject))}
        check()
    for key, make in (("quantiles", quantile_panel), ("transforms", transform_panel)):
        made = make(few)
        yield {key: None if made is None else panel(made)}
        check()
    yield {"diagnostics": diagnostics_section(few, diagnosis(few))}
    check()
    uncertain = uncertain_rows(fitted.subject, fitted.row_name) if fitted.mixture.n_components > 1 else ""
    yield {"uncertain": uncertain, "improbable": improbable_rows(fitted.subject, fitted.row_name)}


def panel(drawn: Panel) -> dict[str, Any]:
    """Plots to choose from."""
    views = [{"name": name, **figure.content()} for name, figure in drawn.views]
    return {"views": views, "caption": drawn.caption}


def _few(fitted: Fitted) -> Subject:
    """The rows of diagnostics."""
    subject = fitted.subject
    places = subject.sampled_places(DETAIL_ROWS)
    if len(places) == subject.rows.shape[0]:
        return subject
    intervals = None if subject.intervals is None else subject.intervals[places]
    return replace(subject, rows=subject.rows[places], intervals=intervals)


def _errors(fitted: Fitted) -> StandardErrors | str:
    """Standard errors; of many rows from a sample that counts for all."""
    total = len(fitted.chosen.rows)
    number = sampled(total, DETAIL_ROWS)
    weights = None if len(number) == total else np.full(len(number), total / len(number))
    data = fitted.chosen.data[number]
    return errors_of(fitted.mixture, data, weights, fitted.fit.algorithm, fitted.fit.prescribed_weights)
