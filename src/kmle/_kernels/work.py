"""How much work passes over rows have done."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """Passes over rows, and the (row, component) pairs they scored.

    Pairs that an engine rules out for whole blocks of rows are not counted; the `sorted` and `boxes` engines do not
    count theirs at all.

    >>> print(Work(passes=3, scored=1200, rescored=7))
    3 passes, 1,200 pairs scored, 7 of them twice
    """

    passes: int = 0
    scored: int = 0
    rescored: int = 0
    """Pairs that were scored once more, as rounding left them uncertain."""
    in_numpy: int = 0
    """Pairs that were scored or added up in NumPy rather than by compiled kernels."""

    def __add__(self, other: "Work") -> "Work":
        mine, theirs = vars(self).values(), vars(other).values()
        return Work(*(one + another for one, another in zip(mine, theirs, strict=True)))

    def __str__(self) -> str:
        text = f"{self.passes:,} {'pass' if self.passes == 1 else 'passes'}, {self.scored:,} pairs scored"
        text += f", {self.rescored:,} of them twice" if self.rescored else ""
        return text + (f", {self.in_numpy:,} in NumPy" if self.in_numpy else "")


class Meter:
    """A running count of work, shared by all who work on the same fit.

    >>> meter = Meter()
    >>> meter.add(Work(passes=1, scored=10))
    >>> meter.work.scored
    10
    """

    def __init__(self) -> None:
        self.work = Work()

    def add(self, work: Work) -> None:
        """Counts more work."""
        self.work += work
