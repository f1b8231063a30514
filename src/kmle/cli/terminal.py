"""What a command says, and where: results on standard output, everything else on standard error."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType

# Work that lasts longer than this, in seconds, shows a bar.
PATIENCE = 1.0

Teller = Callable[[str], None]


def printable(text: str) -> str:
    """The text on one line, with what a terminal would obey rather than print written out.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    line = " ".join(text.split())
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in line)


def _console(stderr: bool) -> Console:
    return Console(stderr=stderr, highlight=False, emoji=False, markup=False)


@dataclass(frozen=True)
class Terminal:
    """The two streams of a command and how much it says."""

    quiet: bool = False
    verbose: bool = False
    out: Console = field(default_factory=lambda: _console(stderr=False))
    err: Console = field(default_factory=lambda: _console(stderr=True))

    def show(self, *parts: RenderableType) -> None:
        """Results; nothing when quiet."""
        if not self.quiet:
            for part in parts:
                self.out.print(part)

    def write_json(self, content: Any) -> None:
        """Results for programs, quiet or not."""
        print(json.dumps(content, indent=1, allow_nan=False))

    def note(self, text: str) -> None:
        """A remark, on standard error; nothing when quiet."""
        if not self.quiet:
            self.err.print(printable(text), soft_wrap=True)

    def detail(self, text: str) -> None:
        """A remark for those who asked for more."""
        if self.verbose:
            self.err.print(printable(text), soft_wrap=True)

    @contextmanager
    def working(self, what: str) -> Iterator[Teller]:
        """A bar on standard error once the work has lasted a second; none when quiet or not on a terminal.

        What it yields changes the words next to the bar.
        """
        if self.quiet or not self.err.is_terminal:
            yield lambda text: None
            return
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
        progress = Progress(*columns, console=self.err, transient=True)
        task = progress.add_task(what, total=None)
        timer = threading.Timer(PATIENCE, progress.start)
        timer.daemon = True
        timer.start()
        try:
            yield lambda text: progress.update(task, description=text)
        finally:
            timer.cancel()
            timer.join()
            if progress.live.is_started:
                progress.stop()
