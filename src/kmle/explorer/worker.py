"""One thread that does the work of all pages, the newest request of each; a newer one ends what runs."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ..algorithms.loop import interruptible


class Superseded(Exception):  # noqa: N818 - nothing went wrong
    """A newer request makes this work useless."""


@dataclass(eq=False)
class Job:
    """Work for a page; `check` ends it where a newer request has come."""

    page: str
    work: Callable[["Job"], None]
    cancelled: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raises if the work has become useless."""
        if self.cancelled.is_set():
            raise Superseded

    def pause(self, seconds: float) -> None:
        """Waits before work that cannot be ended quickly, in case a newer request comes."""
        self.cancelled.wait(seconds)
        self.check()


class Worker:
    """Runs jobs one after the other, pages in turn.

    >>> done = []
    >>> worker = Worker("example")
    >>> worker.submit("page", lambda job: done.append("first"))
    >>> worker.stop()
    >>> done in (["first"], [])
    True
    """

    def __init__(self, name: str) -> None:
        self._waiting: dict[str, Job] = {}
        self._running: Job | None = None
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"kmle-{name}", daemon=True)
        self._thread.start()

    def submit(self, page: str, work: Callable[[Job], None]) -> None:
        """Work for a page, instead of all that it asked for before."""
        with self._changed:
            self._cancel(page)
            self._waiting[page] = Job(page, work)
            self._changed.notify()

    def cancel(self, page: str) -> None:
        """Ends the work for a page."""
        with self._changed:
            self._cancel(page)

    def stop(self) -> None:
        """Ends all work and the thread."""
        with self._changed:
            self._stopped = True
            self._waiting.clear()
            if self._running is not None:
                self._running.cancelled.set()
            self._changed.notify()
        self._thread.join(timeout=10)

    def _cancel(self, page: str) -> None:
        self._waiting.pop(page, None)
        if self._running is not None and self._running.page == page:
            self._running.cancelled.set()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._running = None
                self._changed.wait_for(lambda: self._stopped or self._waiting)
                if self._stopped:
                    return
                job = self._running = self._waiting.pop(next(iter(self._waiting)))
            try:
                with interruptible(job.check):
                    job.work(job)
            except Superseded:
                pass
