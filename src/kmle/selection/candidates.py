"""The outcome of a selection, as a value: every candidate, the best one, a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..algorithms import Fit
from ..families import ExponentialFamily
from ..families.structured_gaussian import MODELS, MODELS_OF_ONE_COLUMN, structure_of
from .criteria import Criteria
from .notes import notes_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

# Criteria that differ by less are equal but for rounding.
EQUAL = 1e-6
# Rows of the printed table.
SHOWN = 10
# The same below a table of covariance models, up to how many models need no table, and how many stand side by side.
SHOWN_BELOW, FEW_MODELS, ACROSS = 3, 3, 7
# The note of a candidate that was left before its end, where only the best one was wanted.
BEHIND = "left before its end: other candidates are better"


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """A family and a number of components, with the best fit found.

    Only the best fit of each family carries labels; those of any other are `candidate.fit.mixture.predict(X)`.

    Attributes
    ----------
    name : str
        The family's short name, with its fixed parameters where two of the families share it.
    family : ExponentialFamily
        The family.
    n_components : int or None
        The number of components; None for a family that was left out.
    fit : Fit or None
        The best fit found; None without one.
    criteria : Criteria or None
        Its criteria.
    seconds : float
        How long the candidate took.
    note : str
        Why there is no fit, or what is to be known about it.
    """

    name: str
    family: ExponentialFamily
    n_components: int | None
    fit: Fit | None = None
    criteria: Criteria | None = None
    seconds: float = 0.0
    note: str = ""

    def __repr__(self) -> str:
        if self.fit is None or self.criteria is None:
            return f"<Candidate {self.name}: {self.note or 'no fit'}>"
        return (
            f"<Candidate {self.name}, {self.n_components} component{'s' * (self.n_components != 1)}: log-likelihood "
            f"{self.criteria.log_likelihood:.6g}, BIC {self.criteria.bic:.6g}>"
        )

    def value(self, criterion: str) -> float:
        """A criterion by its name; infinite without a fit.

        Parameters
        ----------
        criterion : {'bic', 'icl', 'aic', 'aicc'}
            The name.

        Returns
        -------
        float
            Lower is better.
        """
        return float("inf") if self.criteria is None else self.criteria.value(criterion)


@dataclass(frozen=True, eq=False)
class Selection:
    """All candidates, and the one with the lowest criterion.

    Attributes
    ----------
    candidates : tuple of Candidate
        All candidates, in the order families were given.
    best : Candidate
        The one with the lowest criterion.
    best_estimator : estimator
        A fitted estimator of the best candidate: it predicts, scores and samples.
    criterion : str
        The criterion that decided.
    left_out : tuple of str
        Columns that took no part in the comparison: constant ones, and exact combinations of others.
    alternative : Candidate or None
        A fit of another family that explains the data better than the best candidate, where it is known to be common.
    """

    candidates: tuple[Candidate, ...]
    best: Candidate
    best_estimator: Any
    criterion: str
    left_out: tuple[str, ...] = ()
    alternative: Candidate | None = None

    @property
    def ranking(self) -> tuple[Candidate, ...]:
        """The candidates that were fitted, best first; those that lost components only where no other has as many."""
        distinct: dict[tuple[str, int], Candidate] = {}
        for candidate in self.candidates:
            if candidate.fit is not None:
                key = candidate.name, candidate.fit.mixture.n_components
                before = distinct.get(key)
                if before is None or candidate.value(self.criterion) < before.value(self.criterion) - EQUAL:
                    distinct[key] = candidate
        return tuple(sorted(distinct.values(), key=lambda candidate: candidate.value(self.criterion)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before trusting the winner: k at the edge of the range, fits that fell short."""
        return tuple(notes_on(self))

    def to_frame(self) -> DataFrame:
        """Returns a table of all candidates; needs pandas.

        Returns
        -------
        pandas.DataFrame
            One row per candidate, in their order.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("Selection.to_frame needs pandas: pip install pandas") from None
        frame = pd.DataFrame([_record(candidate) for candidate in self.candidates])
        return frame.astype({"n_components": "Int64", "n_parameters": "Int64"})

    def plot(self, ax: Axes | None = None) -> Axes:
        """The criterion against the number of components, a line for each family; needs matplotlib.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        Axes
            What was drawn in.
        """
        from .plots import plot_selection

        return plot_selection(self, ax)

    def __str__(self) -> str:
        return "\n".join([*self.lines, self.sentence, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The best candidates in a table beside a plot, for notebooks."""
        from ..presentation.notebook import selection_html  # only notebooks need it

        return selection_html(self)

    @property
    def models(self) -> dict[str, str]:
        """The covariance models among the families, by mclust's names, and the names of their families.

        Empty where they are few, but for the two of one column.
        """
        names = {structure_of(candidate.family): candidate.name for candidate in self.candidates}
        found = {structure: names[structure] for structure in MODELS if structure in names}
        if set(found) == set(MODELS_OF_ONE_COLUMN.values()) == set(names):
            return {short: found[structure] for short, structure in MODELS_OF_ONE_COLUMN.items()}
        return found if len(found) > FEW_MODELS else {}

    def table(self) -> list[str]:
        """Returns the criterion of every covariance model and number of components, as mclust prints it.

        Returns
        -------
        list of str
            The lines of a table with one row per number of components and one column per model.
        """
        values = {(c.name, c.n_components): c.value(self.criterion) for c in self.candidates if c.fit is not None}
        sizes = sorted({c.n_components for c in self.candidates if c.n_components is not None})
        lines = [f"{self.criterion} of covariance models (lower is better)"]
        models = list(self.models.items())
        for first in range(0, len(models), ACROSS):
            block = models[first : first + ACROSS]
            lines.append("k " + "".join(f" {structure:>10}" for structure, _ in block))
            for k in sizes:
                cells = [values.get((name, k)) for _, name in block]
                lines.append(f"{k:<2}" + "".join(f" {'-':>10}" if v is None else f" {v:>10.2f}" for v in cells))
        return lines

    @property
    def lines(self) -> list[str]:
        """The table of the best candidates, and what is said of families that were left out."""
        if self.models:
            return [*self.table(), *self._ranked(SHOWN_BELOW)]
        return self._ranked(SHOWN)

    def _ranked(self, shown: int) -> list[str]:
        rows = [("family", "k", "log-likelihood", "parameters", self.criterion, "behind")]
        lowest = self.best.value(self.criterion)
        for candidate in self.ranking[:shown]:
            assert candidate.criteria is not None  # a fit has them
            value = candidate.value(self.criterion)
            rows.append(
                (
                    candidate.name,
                    str(candidate.n_components),
                    f"{candidate.criteria.log_likelihood:.2f}",
                    str(candidate.criteria.n_parameters),
                    f"{value:.2f}",
                    f"{value - lowest:.2f}",
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"{row[0]:<{widths[0]}}" + "".join(f"  {c:>{w}}" for c, w in _rest(row, widths)) for row in rows]
        hidden = len(self.ranking) - shown
        if hidden > 0:
            lines.append(f"... and {hidden} more")
        left_out = [f"{c.name} is omitted: {c.note}." for c in self.candidates if c.n_components is None]
        return [*lines, *left_out]

    @property
    def sentence(self) -> str:
        """The winner, and by how much."""
        best = self.best
        components = "1 component" if best.n_components == 1 else f"{best.n_components} components"
        message = f"By {self.criterion} the best is {best.name} with {components}"
        others = [c for c in self.ranking if c is not best]
        if not others:
            return f"{message}, the only candidate."
        second = others[0]
        margin = second.value(self.criterion) - best.value(self.criterion)
        return f"{message}, {margin:.2f} ahead of {second.name} with {second.n_components}."


def best_of(candidates: Sequence[Candidate], criterion: str) -> Candidate:
    """The candidate with the lowest criterion, the one with fewer components where two are equal to rounding."""
    lowest = min(candidate.value(criterion) for candidate in candidates)
    return next(candidate for candidate in candidates if candidate.value(criterion) <= lowest + EQUAL)


def _rest(row: tuple[str, ...], widths: list[int]) -> list[tuple[str, int]]:
    return list(zip(row[1:], widths[1:], strict=True))


def _record(candidate: Candidate) -> dict[str, Any]:
    """A row of the table; what a candidate without a fit does not have is missing."""
    criteria = candidate.criteria
    names = ("log_likelihood", "complete_log_likelihood", "n_parameters", "aic", "aicc", "bic", "icl")
    return {
        "family": candidate.name,
        "n_components": candidate.n_components,
        **{name: None if criteria is None else getattr(criteria, name) for name in names},
        "seconds": candidate.seconds,
        "note": candidate.note,
    }
