"""What the page offers for the chosen columns: families that hold them, the guess and its reason, classes."""

from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from ..data.intervals import Intervals, within_support
from ..families import ExponentialFamily, Gaussian, Product
from ..families.registry import PARAMETERLESS, STRUCTURED, kind_of, resolve, short_names
from ..numerics.arrays import Array
from .settings import MOST_COMPONENTS, Settings
from .source import Chosen, Source

# Rows that families are tried on, beside those with the smallest and largest values.
TRIED_ROWS = 2000
VOLUME = {"E": "one volume", "V": "own volumes"}
SHAPE = {"E": "one shape", "V": "own shapes", "I": "round"}
AXES = {"E": "one orientation", "V": "own orientations", "I": "axes of the columns"}


def controls(source: Source, settings: Settings) -> dict[str, Any]:
    """The choices, as the page shows them."""
    chosen = settings.chosen(source)
    rows, intervals = _telling_rows(chosen)
    guess = chosen.guess
    return {
        "columns": [_column(source, name) for name in source.columns],
        "families": [_family(name, rows, intervals) for name in short_names() if _is_offered(name)],
        "censoring": _censorings(source, settings.columns),
        "structures": _structures(rows),
        "guess": {"name": words(guess.family), "reason": guess.reason},
        "classes": list(source.classes),
        "missing": source.has_missing,
        "most": min(MOST_COMPONENTS, len(chosen.rows)),
    }


def words(family: ExponentialFamily) -> str:
    """A family as it is named on the page."""
    if isinstance(family, Product):
        return " + ".join(words(block) for block in family.families)
    return family.name


def _is_offered(name: str) -> bool:
    """Whether a name is a family that rows can have by itself; covariance models are listed elsewhere."""
    kind = kind_of(name)
    return name not in PARAMETERLESS and name not in STRUCTURED and kind is not Product


def _family(name: str, rows: Array, intervals: Intervals | None) -> dict[str, Any]:
    """A family, its fixed parameters, and why it cannot have the rows where it cannot."""
    kind = kind_of(name)
    own = [] if kind is None else [field for field in fields(kind) if field.name not in ("n_features", "n_categories")]
    fixed = [
        {"name": field.name, "needed": field.default is MISSING, "default": _default(field.default)}
        for field in own
        if field.init and isinstance(_default(field.default), int | float | None)
    ]
    if any(parameter["needed"] for parameter in fixed):
        return {"name": name, "fixed": fixed, "refused": None}
    return {"name": name, "fixed": fixed, "refused": _refusal(name, rows, intervals)}


def _default(value: Any) -> Any:
    return None if value is MISSING else value


def _refusal(name: str, rows: Array, intervals: Intervals | None = None) -> str | None:
    try:
        family = resolve(name).for_data(rows)
        family.check(rows)
        if intervals is not None:
            within_support(family, intervals)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def _structures(rows: Array) -> list[dict[str, str]]:
    """The covariance models of Gaussians, where there are several columns."""
    if rows.shape[1] == 1 or _refusal(Gaussian.name, rows) is not None:
        return []
    return [{"name": name, "words": structure_words(structure)} for name, structure in STRUCTURED.items()]


def structure_words(structure: str) -> str:
    """A covariance model in words.

    >>> structure_words("VEV")
    'VEV: own volumes, one shape, own orientations'
    """
    volume, shape, axes = tuple(structure)
    parts = [VOLUME[volume], SHAPE[shape], *([] if shape == "I" else [AXES[axes]])]
    return f"{structure}: {', '.join(parts)}"


def _column(source: Source, name: str) -> dict[str, Any]:
    values = source.rows[:, source.columns.index(name)]
    gaps = int(np.isnan(values).sum())
    return {"name": name, "missing": gaps}


def _censorings(source: Source, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """What may say where values are censored: events, and upper bounds where one column is left for the values."""
    found = [{"key": f"event:{name}", "words": f"{name}: 1 seen, 0 censored"} for name in source.events]
    for name in source.columns:
        left = [other for other in columns if other != name]
        if len(left) == 1 and source.is_upper(left[0], name):
            found.append({"key": f"upper:{name}", "words": f"{name}: upper bound"})
    return found


def _telling_rows(chosen: Chosen) -> tuple[Array, Intervals | None]:
    """Some rows, with those of the smallest and the largest value of each column, and their intervals.

    Medians are in place of gaps and of censored values.
    """
    rows, intervals = chosen.rows, chosen.intervals
    unknown = np.isnan(rows) if intervals is None else ~intervals.exact
    if unknown.any():
        rows = np.where(unknown, np.nanquantile(rows, 0.5, axis=0, method="lower"), rows)
    step = -(-len(rows) // TRIED_ROWS)
    places = np.unique(np.concatenate([np.arange(0, len(rows), step), rows.argmin(axis=0), rows.argmax(axis=0)]))
    return rows[places], None if intervals is None else intervals[places]
