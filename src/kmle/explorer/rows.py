"""Rows that were clicked, selected by a box, or asked for: their values, and the posterior of their components."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..report.markup import badge, element, table, text
from ..report.numbers import count, percent, short
from ..report.rows import values_in_words
from .fitting import Fitted

LISTED, SHOWN_COLUMNS, SHOWN_COMPONENTS = 30, 8, 3


def listing(fitted: Fitted, asked: Any) -> str:
    """A table of the rows that are asked for, and what share of them each component has."""
    if not isinstance(asked, Mapping):
        raise ValueError("no rows were asked for")
    rows = np.asarray(fitted.subject.rows)
    places = _places(fitted, rows, asked)
    if len(places) == 0:
        return element("p", text("No rows there."), class_="note")
    shown = places[:LISTED]
    posterior = fitted.mixture.posterior(fitted.subject.known(shown))
    more = f"The first {count(len(shown))} of {count(len(places))} rows." if len(places) > len(shown) else ""
    return _shares(fitted, places) + _table(fitted, rows, shown, posterior) + element("p", text(more), class_="note")


def _places(fitted: Fitted, rows: Array, asked: Mapping[str, Any]) -> NDArray[np.intp]:
    kind = asked.get("kind")
    if kind == "row":
        return _by_number(fitted, asked.get("row"), len(rows))
    if kind == "component":
        component = asked.get("component")
        if not isinstance(component, int):
            raise ValueError("component must be a whole number")
        return np.flatnonzero(fitted.mixture.predict(fitted.chosen.data) == component)
    x, y = _pair(asked.get("columns"), rows.shape[1])
    if kind == "box":
        inside = _within(rows[:, x], asked.get("x"))
        return np.flatnonzero(inside if y is None else inside & _within(rows[:, y], asked.get("y")))
    if kind == "near":
        return _nearest(rows, x, y, asked)
    raise ValueError("a request for rows needs a box, a point, a component or a number")


def _by_number(fitted: Fitted, number: Any, n_rows: int) -> NDArray[np.intp]:
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError("the number of a row must be a whole number")
    chosen = fitted.chosen
    known = np.arange(len(chosen.rows)) if chosen.kept is None else chosen.kept
    place = np.flatnonzero(known == number)
    if len(place) == 0:
        raise ValueError(f"there is no row {number}: rows are numbered from 0 to {known[-1]}")
    return place[:n_rows]


def _pair(columns: Any, width: int) -> tuple[int, int | None]:
    known = isinstance(columns, list) and len(columns) == 2 and isinstance(columns[0], int) and 0 <= columns[0] < width
    if not known or not (columns[1] is None or (isinstance(columns[1], int) and 0 <= columns[1] < width)):
        raise ValueError("the plot has no such columns")
    return columns[0], columns[1]


def _numbers(given: Any, size: int) -> list[float]:
    good = isinstance(given, list) and len(given) == size and all(isinstance(value, int | float) for value in given)
    if not good:
        raise ValueError("a box has two numbers for each axis")
    return sorted(float(value) for value in given)


def _within(values: Array, ends: Any) -> NDArray[np.bool_]:
    low, high = _numbers(ends, 2)
    return (values >= low) & (values <= high)


def _nearest(rows: Array, x: int, y: int | None, asked: Mapping[str, Any]) -> NDArray[np.intp]:
    """The row nearest to a point, in units of the range of each column."""
    distance = np.zeros(len(rows))
    for column, given in ((x, asked.get("x")), (y, asked.get("y"))):
        if column is not None:
            values = rows[:, column]
            (at,) = _numbers([given], 1)
            distance += ((values - at) / (np.nanmax(values) - np.nanmin(values) or 1.0)) ** 2
    return np.array([int(np.nanargmin(distance))])


def _shares(fitted: Fitted, places: NDArray[np.intp]) -> str:
    posterior = fitted.mixture.posterior(fitted.subject.known(places[: 20 * LISTED]))
    shares = posterior.mean(axis=0)
    order = np.argsort(-shares, kind="stable")[: 2 * SHOWN_COMPONENTS]
    words = ", ".join(f"{badge(int(j))} {percent(float(shares[j]))}" for j in order if shares[j] >= 5e-4)
    label = "Its posterior" if len(places) == 1 else f"{count(len(places))} rows, mean posterior"
    return element("p", f"{text(label)}: {words}")


def _table(fitted: Fitted, rows: Array, shown: NDArray[np.intp], posterior: Array) -> str:
    columns = list(range(min(rows.shape[1], SHOWN_COLUMNS)))
    density = fitted.mixture.log_density(fitted.subject.known(shown))
    score = "log-density" if fitted.chosen.intervals is None else "log-likelihood"
    heads = ["row", "component", "posterior", score, *(text(fitted.chosen.columns[c]) for c in columns)]
    best = posterior.argmax(axis=1)
    lines = [
        [
            text(fitted.row_name(int(row))),
            badge(int(best[at])),
            percent(float(posterior[at, best[at]])),
            short(float(density[at])),
            *own,
        ]
        for at, (row, own) in enumerate(zip(shown, values_in_words(fitted.subject, shown, columns), strict=True))
    ]
    return table(heads, lines)
