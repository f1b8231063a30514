"""Where rows come from, as a line of Python and as an argument of the command line."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .censoring import Censoring


class Provenance(Protocol):
    """How somebody else gets the same rows."""

    def python(self, asked: "Asked") -> list[str]:
        """Lines of Python that end with the rows in `X` and, if asked for, classes in `labels`."""

    def command(self, asked: "Asked") -> list[str] | None:
        """Arguments of `kmle fit` that name the rows; None where no command can."""


@dataclass(frozen=True)
class Asked:
    """The columns of the rows, and what else is read."""

    columns: tuple[str, ...]
    drop_missing: bool = False
    labels: str | None = None
    censoring: Censoring | None = None

    @property
    def with_censoring(self) -> list[str]:
        """The columns, and that of events or upper bounds after that of the values."""
        return [*self.columns, *([] if self.censoring is None else [self.censoring.column])]


@dataclass(frozen=True)
class FromFile:
    """A file, read with these options of `read_table` and of the command line."""

    path: str
    options: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    has_missing: bool = False

    def python(self, asked: Asked) -> list[str]:
        """Reads the file with `kmle.io.read_table`."""
        given = {"columns": asked.with_censoring, **self.options}
        given |= {"drop_missing": True} if asked.drop_missing else {"keep_missing": True} if self.has_missing else {}
        written = ", ".join(f"{name}={value!r}" for name, value in given.items())
        lines = ["from kmle.io import read_table", f"table = read_table({self.path!r}, {written})"]
        if asked.censoring is None:
            lines.append("X = table.rows")
        else:
            lines += ["values, other = table.rows.T", *asked.censoring.python()]
        if asked.labels is not None:
            lines.append(f"labels = table.cells()[{asked.labels!r}].to_numpy()[table.row_numbers()]")
        return lines

    def command(self, asked: Asked) -> list[str] | None:
        """The path and the options; a name with a comma cannot be given."""
        if any("," in name or name != name.strip() for name in asked.with_censoring):
            return None
        arguments = [self.path, "--columns", ",".join(asked.columns), *self.arguments]
        if asked.censoring is not None:
            arguments += [f"--{asked.censoring.kind}", asked.censoring.column]
        return [*arguments, *(["--drop-missing"] if asked.drop_missing else [])]


@dataclass(frozen=True)
class FromMemory:
    """An array or a data frame that its owner calls X."""

    columns: tuple[str, ...]
    is_frame: bool

    def python(self, asked: Asked) -> list[str]:
        """Selects the columns of X."""
        lines = []
        if asked.labels is not None:
            column = f"X[{asked.labels!r}]" if self.is_frame else f"X[:, {self.columns.index(asked.labels)}]"
            lines.append(f"labels = np.nan_to_num(np.asarray({column}, dtype=float), nan=-1).astype(int)")
        names = asked.with_censoring
        chosen = f"X[{names!r}]" if self.is_frame else f"X[:, {[self.columns.index(name) for name in names]}]"
        if asked.censoring is not None:
            lines += [f"values, other = np.asarray({chosen}, dtype=float).T", *asked.censoring.python()]
        elif self.is_frame or asked.columns != self.columns:
            lines.append(f"X = {chosen}")
        if asked.drop_missing:
            lines.append("complete = ~np.isnan(np.asarray(X, dtype=float)).any(axis=1)")
            lines.append("X = X[complete]" if asked.labels is None else "X, labels = X[complete], labels[complete]")
        return lines

    def command(self, asked: Asked) -> list[str] | None:
        """No command reads the memory of a process."""
        return None


def quoted(arguments: Sequence[str]) -> str:
    """A command as a shell reads it."""
    return shlex.join(arguments)
