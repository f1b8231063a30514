"""Ctrl-C: the first asks a fit to stop after its current step, the second aborts at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from .terminal import Terminal


class Interruption:
    """While it is entered, Ctrl-C sets `requested` instead of breaking off."""

    def __init__(self, terminal: Terminal) -> None:
        self.requested = False
        self._terminal = terminal
        self._before: Any = None

    def __enter__(self) -> Self:
        # Python lets only the main thread handle signals; elsewhere Ctrl-C stays as it is.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._terminal.note("stopping after this step; press Ctrl-C again to abort")


@contextmanager
def deferred() -> Iterator[None]:
    """Ctrl-C takes effect at the end of the block; for imports of compiled packages, which print a panic otherwise."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pending.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pending:
            raise KeyboardInterrupt
