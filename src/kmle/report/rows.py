"""Rows to examine: those whose component is most uncertain, and those the mixture finds least probable."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from ..inspection.diagnostics import IMPROBABLE
from ..inspection.outliers import tail_probabilities
from ..numerics.arrays import Array
from ..plotting.reading import Subject, dense
from .markup import badge, element, table, text
from .numbers import count, percent, short

RowNames = Callable[[int], str]
# Rows listed, columns shown of each, rows examined and draws they are compared with.
LISTED, SHOWN_COLUMNS, MOST_ROWS, DRAWS = 10, 5, 100_000, 10_000
# Below this entropy of the posterior, in nats, a row is not uncertain.
CERTAIN = 1e-3


def uncertain_rows(subject: Subject, row_names: RowNames) -> str:
    """The rows whose posterior has the highest entropy, with their two most probable components."""
    places = subject.sampled_places(MOST_ROWS)
    posterior = subject.mixture.posterior(subject.known(places))
    entropy = entr(posterior).sum(axis=1)
    worst = np.argsort(-entropy, kind="stable")[:LISTED]
    worst = worst[entropy[worst] > CERTAIN]
    if len(worst) == 0:
        return element("p", text("Every row has an almost certain component."))
    order = np.argsort(-posterior[worst], axis=1)
    cells = [
        [
            badge(int(order[at, 0])),
            percent(posterior[row, order[at, 0]]),
            badge(int(order[at, 1])),
            percent(posterior[row, order[at, 1]]),
        ]
        for at, row in enumerate(worst)
    ]
    heads = ["component", "probability", "next", "probability"]
    uncertain = int(np.count_nonzero(posterior.max(axis=1) < 0.9))
    message = f"{count(uncertain)} of {_sampled(subject, places)} have no component with a probability of 90 % or more."
    return _listing(subject, places[worst], row_names, heads, cells) + element("p", text(message), class_="note")


def improbable_rows(subject: Subject, row_names: RowNames) -> str:
    """The rows with the lowest density, and how rarely the mixture draws one no more probable."""
    places = subject.sampled_places(MOST_ROWS)
    if subject.intervals is not None:  # the probability of an interval is not comparable with a density
        places = places[subject.intervals.exact[places].all(axis=1)]
        if len(places) == 0:
            return element("p", text("No value is exact."))
    density = subject.mixture.log_density(subject.rows[places])
    worst = np.argsort(density, kind="stable")[:LISTED]
    try:
        drawn = subject.mixture.log_density(subject.mixture.sample(DRAWS, 0))
    except ValueError:  # some families cannot be drawn from
        tail = np.full(len(density), np.nan)
    else:
        tail = tail_probabilities(density, drawn)
    cells = [[short(float(density[row])), _rarity(float(tail[row]))] for row in worst]
    listed = _listing(subject, places[worst], row_names, ["log-density", "samples as improbable"], cells)
    rare = int(np.count_nonzero(tail < IMPROBABLE))
    examined = _sampled(subject, places) if subject.intervals is None else f"{count(len(places))} exact values"
    message = (
        f"{count(rare)} of {examined} are less probable than all but one in a thousand samples of the "
        f"mixture; {IMPROBABLE * len(places):.2g} would be expected."
    )
    return listed + (element("p", text(message), class_="note") if np.isfinite(tail).all() else "")


def _rarity(tail: float) -> str:
    if not np.isfinite(tail):
        return "\N{EN DASH}"
    return f"none of {count(DRAWS)}" if tail == 0 else percent(tail)


def _sampled(subject: Subject, places: NDArray[np.intp]) -> str:
    total = subject.rows.shape[0]
    return (
        f"{count(len(places))} rows" if len(places) == total else f"{count(len(places))} of {count(total)} rows drawn"
    )


def values_in_words(subject: Subject, rows: NDArray[np.intp], columns: Sequence[int]) -> list[list[str]]:
    """The values of some rows: numbers, a word where there is none, bounds where it is censored."""
    values: Array = dense(subject.rows[rows], columns)
    written = [["missing" if np.isnan(value) else f"{value:.5g}" for value in own] for own in values]
    if subject.intervals is None:
        return written
    known = subject.intervals[rows]
    for row in np.flatnonzero(~known.exact[:, 0]):
        written[row] = [_between(float(known.lower[row, 0]), float(known.upper[row, 0]))]
    return written


def _between(low: float, high: float) -> str:
    """A censored value.

    >>> _between(2.0, np.inf), _between(-np.inf, 3.0), _between(2.0, 3.0)
    ('≥ 2', '≤ 3', '2 to 3')
    """
    if np.isinf(low):
        return "missing" if np.isinf(high) else f"\N{LESS-THAN OR EQUAL TO} {high:.5g}"
    return f"\N{GREATER-THAN OR EQUAL TO} {low:.5g}" if np.isinf(high) else f"{low:.5g} to {high:.5g}"


def _listing(
    subject: Subject, rows: NDArray[np.intp], row_names: RowNames, heads: Sequence[str], cells: list[list[str]]
) -> str:
    columns = list(subject.columns[:SHOWN_COLUMNS])
    names = [text(subject.names[column]) for column in columns]
    lines = [
        [text(row_names(int(row))), *found, *own]
        for row, own, found in zip(rows, values_in_words(subject, rows, columns), cells, strict=True)
    ]
    return table(["row", *heads, *names], lines)
