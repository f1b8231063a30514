"""A summary of each column, and what in it speaks against the numbers of the page."""

import numpy as np

from .._kernels import has_missing
from ..families.support import Integers
from ..families.validation import issparse
from ..numerics.arrays import Array
from ..plotting.bins import view
from ..plotting.marginals import column_supports
from ..plotting.reading import Subject, entries
from .markup import element, table, text
from .numbers import count, percent, short

MOST_COLUMNS, MOST_ROWS = 60, 200_000
# A value that is this share of all, a skewness, and rows far outside from which on it is worth a warning.
COMMON, SKEWED, FAR = 0.2, 2.0, 1
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def summary_section(subject: Subject) -> str:
    """A line for each column: missing entries, quantiles, mean, standard deviation, distinct values, warnings."""
    rows = subject.sampled(MOST_ROWS)
    supports = column_supports(subject.mixture)
    lines = []
    holes = not issparse(rows) and has_missing(rows)
    for column in subject.columns[:MOST_COLUMNS]:
        values = entries(rows, column).astype(float)
        whole = column < len(supports) and isinstance(supports[column], Integers)
        lacking = rows.shape[0] - len(values)
        shown = [count(lacking)] if holes else []
        lines.append([text(subject.names[column]), *shown, *_cells(values), _described(warnings_of(values, whole))])
    heads = [
        "column",
        *(["missing"] if holes else []),
        "least",
        "25 %",
        "median",
        "75 %",
        "largest",
        "mean",
        "std. dev.",
        "distinct",
        "warnings",
    ]
    sentences = []
    if rows.shape[0] < subject.rows.shape[0]:
        sentences.append(f"{count(rows.shape[0])} of {count(subject.rows.shape[0])} rows were used.")
    if len(subject.columns) > MOST_COLUMNS:
        sentences.append(f"The first {MOST_COLUMNS} of {count(len(subject.columns))} columns.")
    return table(heads, lines) + (element("p", text(" ".join(sentences)), class_="note") if sentences else "")


def _cells(values: Array) -> list[str]:
    quantiles = [short(float(value)) for value in np.quantile(values, QUANTILES)]
    return [*quantiles, short(float(values.mean())), short(float(values.std())), count(len(np.unique(values)))]


def _described(found: list[str]) -> str:
    return "<br>".join(text(warning) for warning in found) if found else "\N{EN DASH}"


def warnings_of(values: Array, whole: bool = False) -> list[str]:
    """What to doubt about a column; `whole` where its family is of whole numbers.

    >>> warnings_of(np.ones(20))
    ['constant']
    """
    n = len(values)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) == 1:
        return ["constant"]
    found = []
    steps = np.diff(distinct)
    if n > 10 and len(distinct) == n and np.allclose(steps, steps[0]):
        found.append("evenly spaced without repeats: an index or an id?")
    common = int(np.argmax(counts))
    if not whole and len(distinct) > 10 and counts[common] >= COMMON * n:
        found.append(f"{percent(counts[common] / n)} of the values are {distinct[common]:g}")
    if not whole and n >= 20 and len(distinct) <= 10:
        found.append(f"only {len(distinct)} distinct values")
    low, high = view(values)
    outside = int(np.count_nonzero((values < low) | (values > high)))
    if outside >= FAR:
        found.append(f"{count(outside)} {'value' if outside == 1 else 'values'} far outside")
    spread = values.std()
    skewness = float((((values - values.mean()) / spread) ** 3).mean()) if spread > 0 else 0.0
    if abs(skewness) > SKEWED:
        found.append(f"skewed to the {'right' if skewness > 0 else 'left'}")
    return found
