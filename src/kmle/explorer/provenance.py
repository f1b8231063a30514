"""Where rows come from, as a line of Python and as an argument of the command line."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Provenance(Protocol):
    """How somebody else gets the same rows."""

    def python(self, columns: Sequence[str], drop_missing: bool, labels: str | None) -> list[str]:
        """Lines of Python that end with the rows in `X` and, if asked for, classes in `labels`."""

    def command(self, columns: Sequence[str], drop_missing: bool) -> list[str] | None:
        """Arguments of `kmle fit` that name the rows; None where no command can."""


@dataclass(frozen=True)
class FromFile:
    """A file, read with these options of `read_table` and of the command line."""

    path: str
    options: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    has_missing: bool = False

    def python(self, columns: Sequence[str], drop_missing: bool, labels: str | None) -> list[str]:
        """Reads the file with `kmle.io.read_table`."""
        given = {"columns": list(columns), **self.options}
        given |= {"drop_missing": True} if drop_missing else {"keep_missing": True} if self.has_missing else {}
        written = ", ".join(f"{name}={value!r}" for name, value in given.items())
        lines = ["from kmle.io import read_table", f"table = read_table({self.path!r}, {written})", "X = table.rows"]
        if labels is not None:
            lines.append(f"labels = table.cells()[{labels!r}].to_numpy()[table.row_numbers()]")
        return lines

    def command(self, columns: Sequence[str], drop_missing: bool) -> list[str] | None:
        """The path and the options; a name with a comma cannot be given."""
        if any("," in name or name != name.strip() for name in columns):
            return None
        names = ["--columns", ",".join(columns)]
        return [self.path, *names, *self.arguments, *(["--drop-missing"] if drop_missing else [])]


@dataclass(frozen=True)
class FromMemory:
    """An array or a data frame that its owner calls X."""

    columns: tuple[str, ...]
    is_frame: bool

    def python(self, columns: Sequence[str], drop_missing: bool, labels: str | None) -> list[str]:
        """Selects the columns of X."""
        lines = []
        if labels is not None:
            column = f"X[{labels!r}]" if self.is_frame else f"X[:, {self.columns.index(labels)}]"
            lines.append(f"labels = np.nan_to_num(np.asarray({column}, dtype=float), nan=-1).astype(int)")
        if self.is_frame:
            lines.append(f"X = X[{list(columns)!r}]")
        elif tuple(columns) != self.columns:
            lines.append(f"X = X[:, {[self.columns.index(name) for name in columns]}]")
        if drop_missing:
            lines.append("complete = ~np.isnan(np.asarray(X, dtype=float)).any(axis=1)")
            lines.append("X = X[complete]" if labels is None else "X, labels = X[complete], labels[complete]")
        needs = ["import numpy as np"] if labels is not None or drop_missing else []
        return [*needs, *lines]

    def command(self, columns: Sequence[str], drop_missing: bool) -> list[str] | None:
        """No command reads the memory of a process."""
        return None


def quoted(arguments: Sequence[str]) -> str:
    """A command as a shell reads it."""
    return shlex.join(arguments)
