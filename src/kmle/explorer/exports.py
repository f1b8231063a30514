"""What a page downloads: the model, the labels, a report."""

import csv
import io
import json
import tempfile
from pathlib import Path

from ..estimators.tables import without_noise
from ..io.models import model_dict
from ..report import write_report
from .fitting import Fitted
from .snippets import command

KINDS = {
    "model": ("model.json", "application/json"),
    "labels": ("labels.csv", "text/csv; charset=utf-8"),
    "report": ("report.html", "text/html; charset=utf-8"),
}


def exported(fitted: Fitted, kind: str) -> bytes:
    """The content of the file."""
    return {"model": _model, "labels": _labels, "report": _report}[kind](fitted)


def _model(fitted: Fitted) -> bytes:
    about = {"data": fitted.source.name, "rows": len(fitted.chosen.rows), "seed": fitted.settings.seed}
    content = model_dict(fitted.mixture, fitted.chosen.columns, about, fitted.source.categories)
    return json.dumps(content).encode()


def _labels(fitted: Fitted) -> bytes:
    """A label per row used, with its number in the data."""
    written = io.StringIO(newline="")
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(["row", "label"])
    labels = without_noise(fitted.mixture, fitted.fit.labels)
    lines.writerows((fitted.chosen.number(row), int(label)) for row, label in enumerate(labels))
    return written.getvalue().encode()


def _report(fitted: Fitted) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = write_report(
            Path(folder) / "report.html",
            fitted.estimator,
            fitted.chosen.rows,
            list(fitted.chosen.columns),
            command=command(fitted),
            seed=fitted.settings.seed,
            title=fitted.source.name,
            row_names=fitted.row_name,
            intervals=fitted.chosen.intervals,
        )
        return path.read_bytes()
