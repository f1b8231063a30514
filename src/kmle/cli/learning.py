"""From options to a fit: what `fit`, `select` and `demo` share."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .interruption import Interruption
from .naming import family_from_words, repeated_words
from .options import SOFT, AlgorithmName, InitName
from .streaming import ReportedPasses, report_dropped
from .tables import counted
from .terminal import Terminal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..algorithms import Fit
    from ..estimators.plan import Plan
    from ..families import ExponentialFamily
    from ..io import Table, TableStream
    from ..mixture import Mixture
    from .knowing import Known

    Data = Table | TableStream


@dataclass(frozen=True)
class FitOptions:
    """How to learn, as the options say it."""

    algorithm: AlgorithmName = AlgorithmName.EM
    init: InitName | None = None
    prior: float = 1e-3
    restarts: int | str = "auto"
    max_iter: int | None = None
    seed: int = 0
    jobs: int | None = None
    checkpoint: str | None = None
    resume: bool = False
    resolution: Any = "auto"

    def plan(self, n_components: int = 1, family: ExponentialFamily | None = None) -> Plan:
        """The same as the library takes it; the family is still to come where several are compared."""
        from ..estimators.plan import Plan

        return Plan(
            n_components,
            family="gaussian" if family is None else family,
            algorithm=str(self.algorithm),
            init="auto" if self.init is None else str(self.init),
            prior_strength=self.prior,
            resolution=self.resolution,
            n_init=self.restarts,
            max_iter=self.max_iter,
            random_state=self.seed,
            n_jobs=self.jobs,
        )


@dataclass(frozen=True)
class Outcome:
    """A fit, how it was made, and whether Ctrl-C cut it short."""

    fit: Fit
    plan: Plan
    columns: tuple[str, ...]
    seconds: float
    n_rows: int
    interrupted: bool = False
    selection: Any = None
    """What chose the number of components, where something did."""
    known: Known | None = None
    """What is known of the rows beside their values."""

    @property
    def mixture(self) -> Mixture:
        """The mixture."""
        return self.fit.mixture

    @property
    def hard(self) -> bool:
        """Whether labels, not responsibilities, made the parameters."""
        return self.fit.algorithm not in SOFT

    @property
    def estimator(self) -> Any:
        """The estimator that would have found it: slow to load, and only a report needs it."""
        from ..estimators.selecting import fitted_estimator

        return fitted_estimator(self.plan, self.fit, list(self.columns))

    @property
    def labels(self) -> NDArray[Any]:
        """The component of each row, -1 for noise."""
        from ..estimators.tables import without_noise

        return without_noise(self.mixture, self.fit.labels)

    def sizes(self) -> NDArray[np.float64] | None:
        """How many rows each component has; None where a stream was too long for labels to be kept."""
        import numpy as np

        labels, k = self.fit.labels, self.mixture.n_components
        if len(labels) == 0:
            return None
        # By blocks, as bincount widens what it counts.
        blocks = (labels[start : start + (1 << 20)] for start in range(0, len(labels), 1 << 20))
        return np.sum([np.bincount(block, minlength=k) for block in blocks], axis=0, dtype=float)


def resolved_family(terminal: Terminal, words: str | None, table: Data) -> ExponentialFamily:
    """The family named, or the one the columns suggest, and why; of a stream the first batch is examined."""
    from ..data.guess import guess_family

    named = None if words is None else family_from_words(words)
    first = next(iter(table.parts()))
    _report_constants(terminal, first)
    if named is not None:
        check_categories(named, first)
        return named
    guess = guess_family(first.rows, first.columns, first.categories)
    where = "" if first.first_row is None else f" in the first {counted(len(first), 'row')}"
    terminal.note(f"family: {guess.family.full_name}, as {guess.reason}{where} (--family sets another)")
    return guess.family


def check_categories(family: ExponentialFamily, table: Table) -> None:
    """Refuses the codes of categories where a family takes them for numbers."""
    from ..families import Bernoulli, Categorical, ComponentFamilies, Product

    for component in family.families if isinstance(family, ComponentFamilies) else (family,):
        parts = component.families if isinstance(component, Product) else (component,)
        widths = [part.n_features or 1 for part in parts] if len(parts) > 1 else [len(table.columns)]
        owners = [part for part, width in zip(parts, widths, strict=True) for _ in range(width)]
        for name, own in zip(table.columns, owners, strict=False):
            if name in table.categories and not isinstance(own, Bernoulli | Categorical):
                raise ValueError(
                    f"column {name!r} holds categories, which {own.name} cannot have: put 'categorical' in its place"
                )


def with_number(
    family: ExponentialFamily, words: str | None, k: int | None, noise: bool
) -> tuple[ExponentialFamily, int | None]:
    """The family of all components, and their number where it is known: a list of families sets it."""
    from ..families import SHORT_NAMES, ComponentFamilies, Uniform
    from ..families.component_lists import component_families, with_components

    listed = family.families if isinstance(family, ComponentFamilies) else (family,)
    counted = words is not None and words.strip() not in SHORT_NAMES and ("*" in words or len(listed) > 1)
    if counted and words is not None and not isinstance(family, ComponentFamilies):
        listed = listed * sum(1 for _ in repeated_words(words))
    if counted and k not in (None, len(listed)):
        raise ValueError(f"-k is {k} but --family {words} names {len(listed)} components: omit -k")
    if not counted and k is not None:
        listed = with_components(listed, k)
    if noise:
        listed = (*listed, Uniform(everywhere=True))
    known = len(listed) if counted or k is not None else None
    if known is None and len(listed) == 1:
        return family, None
    return (component_families(listed) if known else ComponentFamilies(listed)), known


def _report_constants(terminal: Terminal, table: Table) -> None:
    """Names the columns that cannot tell components apart."""
    from ..data.guess import constant_columns
    from ..io.table import listed

    names = constant_columns(table.rows, table.columns)
    if names:
        what = f"column {listed(names, 4)} is" if len(names) == 1 else f"columns {listed(names, 4)} are"
        where = "" if table.first_row is None else f" in the first {counted(len(table), 'row')}"
        terminal.note(
            f"note: {what} constant{where} and cannot separate components: select other columns with --columns"
        )


def learn(
    terminal: Terminal,
    table: Data,
    family: ExponentialFamily,
    n_components: int,
    options: FitOptions,
    known: Known | None = None,
) -> Outcome:
    """Fits; the first Ctrl-C ends the fit after its current step."""
    from ..algorithms.loop import watched
    from ..estimators import learn as library
    from ..io.table import Table

    plan = options.plan(n_components, family)
    began = time.perf_counter()
    with (
        Interruption(terminal) as interruption,
        terminal.working(f"fitting {counted(n_components, 'component')}") as report,
    ):

        def may_end() -> bool:
            # Whatever batches an online fit has seen, it has a model of them.
            return interruption.requested and options.algorithm == AlgorithmName.ONLINE

        rows: Any = table.rows if isinstance(table, Table) else ReportedPasses(table, report, may_end)
        weights = table.weights if isinstance(table, Table) else None
        if known is not None and known.intervals is not None:
            rows = known.intervals

        def progress(iteration: int, objective: float) -> bool:
            message = f"iteration {iteration}, objective {objective:.6g}"
            if isinstance(rows, ReportedPasses):
                rows.step = f"{message}, "
            report(message)
            terminal.detail(f"iteration {iteration}: objective {objective:.6f}")
            return not interruption.requested

        with watched(progress, lambda: interruption.requested):
            try:
                fit = library.learn(
                    rows,
                    plan,
                    sample_weight=weights,
                    columns=table.columns,
                    checkpoint=options.checkpoint,
                    resume=options.resume,
                    labels=None if known is None else known.labels,
                )
            except ValueError as error:
                raise ValueError(in_words_of(table, family, error)) from None
    report_dropped(terminal, table)
    n_rows = rows.n_rows if isinstance(rows, ReportedPasses) else len(rows)
    seconds = time.perf_counter() - began
    return Outcome(fit, plan, tuple(table.columns), seconds, n_rows, interruption.requested, known=known)


def in_words_of(table: Data, family: ExponentialFamily, error: ValueError) -> str:
    """The library's sentence with the table's column names and line numbers, and the options' names."""
    sentence = str(error)
    if sentence.startswith("row "):
        sentence = _with_names(table, family, sentence)
    sentence = sentence.replace("drop the row or fill in a value first", "fill it in, or use --drop-missing")
    return sentence.replace("n_components is", "-k is").replace("n_samples = ", "").replace("sample_weight", "weight")


def _with_names(table: Data, family: ExponentialFamily, sentence: str) -> str:
    """A sentence about a row with the name of its column, found by looking once more, and the line of the row."""
    for part in table.parts():
        try:
            family.for_data(part.rows).check(part.rows, list(part.columns), missing=True)
        except ValueError as named:
            return _with_line(part, str(named))
    return _with_line(table, sentence)


def _with_line(table: Data, sentence: str) -> str:
    return re.sub(r"^row (\d+)", lambda match: table.row_name(int(match[1])), sentence)
