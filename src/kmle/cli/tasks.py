"""What `classify`, `regress` and `outliers` share: tables with a target, other tables like them, their outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from . import options as o
from .fit import row_column
from .learning import in_words_of, resolved_family
from .outputs import check_files, check_table_output
from .scoring import appended
from .tables import Asked, counted, read
from .terminal import Terminal

if TYPE_CHECKING:
    from ..families import ExponentialFamily
    from ..io import Model, Table
    from ..numerics.arrays import Array

T = TypeVar("T")
Columns = dict[str, Any]

K = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--components",
        metavar="N",
        min=1,
        help="Number of components; by default selected by BIC.",
        show_default=False,
        rich_help_panel=o.LEARNING,
    ),
]
New = Annotated[
    str | None,
    typer.Option(
        "--new",
        metavar="TABLE",
        help="Predict the rows of this table instead of those of DATA.",
        show_default=False,
        rich_help_panel=o.TABLE,
    ),
]
ModelIn = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL.json",
        help="Use this model instead of learning one from DATA.",
        show_default=False,
        rich_help_panel=o.MODEL_FILE,
    ),
]
Save = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="MODEL.json",
        help="Write the model to this file, for --model.",
        show_default=False,
        rich_help_panel=o.OUTPUT,
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="TABLE",
        help="Write a line for each row to this file, in the format of its extension; - is standard output.",
        show_default=False,
        rich_help_panel=o.OUTPUT,
    ),
]
Append = Annotated[
    bool,
    typer.Option("--append", help="With --out: append the new columns to the table.", rich_help_panel=o.OUTPUT),
]


@dataclass(frozen=True)
class Task:
    """The tables and files of a command, and what it says."""

    terminal: Terminal
    asked: Asked
    new: str | None
    model: str | None
    save: str | None
    out: str | None
    append: bool
    json: bool

    def check(self, force: bool) -> None:
        """Refuses options that contradict each other, and outputs that cannot be written."""
        if self.model is not None and (self.new is not None or self.save is not None):
            option = "--new" if self.new is not None else "--save"
            raise ValueError(f"{option} cannot be combined with --model: nothing is learned, and DATA is predicted")
        if self.append and self.out is None:
            raise ValueError("--append needs --out: name the file with the longer table")
        check_table_output(self.out)
        inputs = [self.asked.path, self.new, self.model]
        check_files({"--out": self.out, "--save": self.save}, inputs, force)

    def family(self, words: str | None, table: Table) -> ExponentialFamily:
        """The family named, or the one the columns suggest."""
        return resolved_family(self.terminal, words, table)

    def learned(self, what: str, table: Table, family: ExponentialFamily, fit: Callable[[], T]) -> T:
        """What a fit returns; it speaks of rows and columns as the table does."""
        with self.terminal.working(what):
            try:
                return fit()
            except ValueError as error:
                raise ValueError(in_words_of(table, family, error)) from None

    def say(self, notes: list[str], columns: Sequence[str]) -> None:
        """Reasons to doubt a fit, with the names of the columns and options."""
        from .figures import option_words

        for note in option_words(notes, columns):
            self.terminal.note(f"note: {note}")

    def others(self, like: Table) -> Table:
        """The rows to predict: those learned from, or those of --new with the same columns."""
        if self.new is None:
            return like
        own = replace(self.asked, path=self.new, columns=None, categorical=None, weights=None)
        columns, levels = list(like.columns), like.categories
        return read(self.terminal, own, columns=columns, levels=levels)

    def content(self) -> Model:
        """The model of --model."""
        from ..io.models import read_model

        assert self.model is not None  # asked for
        return read_model(self.model)

    def rows_for(self, content: Model, columns: list[str] | None) -> Table:
        """The rows of DATA for some columns of a model."""
        levels = {name: content.categories[name] for name in columns or () if name in content.categories}
        return read(self.terminal, self.asked, columns=columns, levels=levels)

    def write(self, table: Table, columns: Columns, in_place: bool = False) -> None:
        """The new columns of each row, where they are to go; columns `in_place` are the whole table."""
        if self.out is None:
            return
        from ..io.writing import write_table

        numbered = row_column(table, self.asked.drop_missing)
        longer = self.append and not in_place
        write_table(self.out, appended(table, columns) if longer else numbered | columns)
        if self.out != "-":
            self.terminal.note(f"wrote {self.out}")

    def saved(self, mixture: Any, table: Table, columns: list[str], about: Mapping[str, Any]) -> None:
        """The model, where it is to go."""
        if self.save is None:
            return
        from .. import __version__
        from ..io.models import write_model

        source = {"kmle": __version__, "data": table.source, "rows": len(table)}
        write_model(self.save, mixture, columns, source | dict(about), table.categories)
        self.terminal.note(f"wrote {self.save}")

    def show(self, figures: Mapping[str, Any], *parts: Any) -> None:
        """JSON, or tables; nothing where standard output has the rows."""
        if self.json:
            self.terminal.write_json(dict(figures))
        elif self.out != "-":
            self.terminal.show(*parts)


@dataclass(frozen=True)
class Training:
    """The features of the rows, and their target: numbers, or codes of classes."""

    name: str
    features: Table
    target: Array
    """NaN where a row has none: such rows are predicted, and not learned from."""
    levels: tuple[str, ...]

    def known(self, terminal: Terminal) -> tuple[Array, Array, Array | None]:
        """Features, targets and weights of the rows that have a target."""
        import numpy as np

        has = ~np.isnan(self.target)
        rows, weights = self.features.rows, self.features.weights
        if has.all():
            return rows, self.target, weights
        if not has.any():
            raise ValueError(
                f"{self.features.source}: no row has a value of {self.name!r}: there is nothing to learn from"
            )
        count = counted(int((~has).sum()), "row")
        verb = "has" if count == "1 row" else "have"
        terminal.note(f"note: {count} {verb} no {self.name!r}: predicted, and not learned from")
        return rows[has], self.target[has], None if weights is None else weights[has]


def training(task: Task, target: str, classes: bool) -> Training:
    """The table with its target apart; classes are read as they are written."""
    asked = task.asked
    if asked.columns is not None and target not in (o.split_columns(asked.columns) or ()):
        asked = replace(asked, columns=f"{asked.columns},{target}")
    if classes:
        asked = replace(asked, categorical=",".join(filter(None, [asked.categorical, target])))
    try:
        table = read(task.terminal, asked, leaves_out=True, target=target)
    except ValueError as error:
        _check_target(asked, target)
        sentence = str(error).replace("--categorical names", "--target is")
        # Only `classify` reads categories.
        raise ValueError(
            sentence if classes else re.sub(r", use (--ignore-text),.*", r" or use \1", sentence)
        ) from None
    if target not in table.columns:
        _check_target(asked, target)
        raise ValueError(f"{table.source} has no column {target!r} to predict: --target must name one of its columns")
    return _apart(table, target)


def _check_target(asked: Asked, target: str) -> None:
    """Refuses a target that is not there, whatever else is wrong with the table."""
    from ..io.reading import read_table

    if asked.path != "-":
        own = replace(asked, columns=target, categorical=target, weights=None, drop_missing=True)
        read_table(asked.path, **own.options(None, None))


def _apart(table: Table, target: str) -> Training:
    import numpy as np

    if len(table.columns) < 2:
        raise ValueError(f"{table.source} has no column besides {target!r}: name features with --columns")
    place = table.columns.index(target)
    names = tuple(name for name in table.columns if name != target)
    rows = np.ascontiguousarray(np.delete(table.rows, place, axis=1))
    left = {name: levels for name, levels in table.categories.items() if name != target}
    features = replace(table, rows=rows, columns=names, categories=left)
    return Training(target, features, np.asarray(table.rows[:, place], dtype=float), table.categories.get(target, ()))


def needs_target(target: str | None) -> str:
    """The column to predict; without a model somebody must name it."""
    if target is None:
        raise ValueError("--target is missing: name the column to predict")
    return target


def rows_of(table: Table) -> str:
    """How many rows a table has, in words."""
    return counted(len(table), "row")
