"""Where entries are missing: the patterns of rows, most frequent first."""

import numpy as np

from .._kernels import has_missing
from ..data.holes import unique_patterns
from ..families.validation import issparse
from ..plotting.reading import Subject
from .markup import element, table, text
from .numbers import count, percent

# Largest number of patterns that are listed.
MOST_PATTERNS = 12


def missing_section(subject: Subject) -> str | None:
    """A line for each pattern: what rows lack, and how many rows that is; None where nothing is missing."""
    if issparse(subject.rows) or not has_missing(subject.rows):
        return None
    hole = np.isnan(subject.rows)
    patterns, pattern = unique_patterns(hole)
    sizes = np.bincount(pattern, minlength=len(patterns))
    order = np.argsort(-sizes, kind="stable")
    n = len(hole)
    lines = [
        [_lacking(subject, patterns[place]), count(int(sizes[place])), percent(sizes[place] / n)]
        for place in order[:MOST_PATTERNS]
    ]
    share = percent(hole.sum() / hole.size)
    missing = f"{count(int(hole.sum()))} of {count(hole.size)} entries ({share}) are missing."
    sentence = f"{missing} The fit is that of the others."
    if len(patterns) > MOST_PATTERNS:
        sentence += f" The {MOST_PATTERNS} most frequent of {count(len(patterns))} patterns."
    return table(["missing", "rows", "share"], lines) + element("p", text(sentence), class_="note")


def _lacking(subject: Subject, pattern: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    names = [subject.names[column] for column in np.flatnonzero(pattern)]
    return text(", ".join(names)) if names else "nothing"
