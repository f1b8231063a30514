"""What `--stream` adds: what it cannot be asked for, and how far each pass has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from .options import AlgorithmName
from .outputs import check_table_output
from .tables import counted
from .terminal import Teller, Terminal

if TYPE_CHECKING:
    from ..io import Table, TableStream

STREAMED = (
    AlgorithmName.K_MLE,
    AlgorithmName.HARD_EM,
    AlgorithmName.SWAP,
    AlgorithmName.EM,
    AlgorithmName.SPARSE_EM,
    AlgorithmName.ONLINE,
)


def check_streamed(
    k: int | None,
    algorithm: AlgorithmName,
    labels: str | None,
    plot: str | None,
    report: str | None,
    checkpoint: str | None,
) -> None:
    """Refuses, before any work, what cannot be had from a stream."""
    if k is None:
        raise ValueError("--stream needs -k: selecting the number of components needs the data in memory")
    if algorithm not in STREAMED:
        raise ValueError(
            f"--algorithm {algorithm} needs the data in memory: with --stream use one of {', '.join(STREAMED)}"
        )
    if algorithm == AlgorithmName.ONLINE and checkpoint is not None:
        raise ValueError("--checkpoint cannot be combined with --algorithm online on a stream, which is read only once")
    for option, path in (("--plot", plot), ("--report", report)):
        if path is not None:
            raise ValueError(f"{option} cannot be combined with --stream: it needs the data in memory")
    check_table_output(labels, batches=True)


def report_dropped(terminal: Terminal, table: Table | TableStream) -> None:
    """The rows left out of a stream, which are known only after a pass; those of a whole table were told before."""
    from ..io.table import Table

    if not isinstance(table, Table) and table.n_dropped:
        terminal.note(f"note: {table.notes[-1]}")


class ReportedPasses:
    """The stream, with how far each pass over it has come told next to the bar; a pass ends early where it may."""

    def __init__(self, stream: TableStream, report: Teller, may_end: Callable[[], bool]) -> None:
        self.columns = stream.columns
        self._stream = stream
        self._print_message = report
        self._may_end = may_end
        self._n_passes = 0
        self.n_rows = 0
        """Rows of the latest pass."""
        self.step = ""
        """Words on the latest step of the fit."""

    def __iter__(self) -> Iterator[Any]:
        self._n_passes += 1
        self.n_rows, total = 0, self._stream.n_responsibilities
        with closing(iter(self._stream)) as batches:
            for batch in batches:
                yield batch
                self.n_rows += len(batch[0] if isinstance(batch, tuple) else batch)
                share = counted(self.n_rows, "row") if total is None else f"{100 * self.n_rows // total} %"
                self._print_message(f"{self.step}pass {self._n_passes}, {share}")
                if self._may_end():
                    break
