"""The pages that are open: what each asked for last, what it is sent, and its latest fit."""

import asyncio
import json
import secrets
from functools import partial
from typing import Any

from .controls import controls
from .fitting import Fitted, fits
from .rows import listing
from .selecting import Question, compare
from .settings import Settings
from .source import Source
from .views import details, overview
from .worker import Job, Superseded, Worker

# Details wait so long, in seconds, for a newer request.
PATIENCE = 0.3


def sentence(wrong: Exception) -> str:
    """What went wrong, for the page; a newer request is nothing wrong, and goes on to the worker."""
    if isinstance(wrong, Superseded):
        raise wrong
    if not isinstance(wrong, ValueError):
        return f"internal error, {type(wrong).__name__}: {wrong}"
    return str(wrong).replace("n_components is", "k is").replace("n_samples = ", "")


class Workers:
    """The threads: fits, what follows from them, and comparisons of many fits."""

    def __init__(self) -> None:
        self.fits, self.details, self.comparisons = (Worker(name) for name in ("fits", "details", "comparisons"))

    def cancel(self, page: str) -> None:
        """Ends the work for a page."""
        for worker in (self.fits, self.details, self.comparisons):
            worker.cancel(page)

    def stop(self) -> None:
        """Ends all work."""
        for worker in (self.fits, self.details, self.comparisons):
            worker.stop()


class Page:
    """One open page. It is asked on the event loop; workers answer through `outbox`."""

    def __init__(self, source: Source, workers: Workers) -> None:
        self.key = secrets.token_urlsafe(8)
        self.outbox: asyncio.Queue[str] = asyncio.Queue()
        self.fitted: Fitted | None = None
        """The latest fit that is complete: the one that is exported."""
        self._shown: Fitted | None = None
        self._source = source
        self._workers = workers
        self._loop = asyncio.get_running_loop()
        self._newest: dict[str, int] = {}
        self._described: Any = None

    def ask(self, request: dict[str, Any]) -> None:
        """Answers a request of the page, later and perhaps in parts."""
        topic, number = request.get("topic"), request.get("number")
        if not isinstance(topic, str) or not isinstance(number, int):
            return
        self._newest[topic] = number
        if topic == "fit":
            self._workers.details.cancel(self.key)  # of a fit that is no longer shown
            self._workers.fits.submit(self.key, lambda job: self._fit(job, number, request))
        elif topic == "compare":
            self._workers.comparisons.submit(self.key, lambda job: self._compare(job, number, request))
        elif topic == "cancel":
            self._workers.comparisons.cancel(self.key)
        elif topic == "rows":
            self._workers.details.submit(f"{self.key} rows", lambda job: self._rows(number, request))

    def close(self) -> None:
        """Ends the work for this page."""
        self._workers.cancel(self.key)
        self._workers.details.cancel(f"{self.key} rows")

    def send(self, topic: str, number: int, content: dict[str, Any], request: str | None = None) -> None:
        """Sends an answer to a request, from whichever thread, unless a newer request has come."""
        if number != self._newest.get(request or topic):
            return
        written = json.dumps({"topic": topic, "number": number, **content}, allow_nan=False, separators=(",", ":"))
        self._loop.call_soon_threadsafe(self.outbox.put_nowait, written)

    def _fit(self, job: Job, number: int, request: dict[str, Any]) -> None:
        try:
            settings = Settings.read(request.get("settings"), self._source)
            described = (settings.columns, settings.drop_missing, settings.censoring)
            if request.get("describe") or described != self._described:
                self.send("controls", number, controls(self._source, settings), "fit")
                self._described = described
            fits(self._source, settings, job, lambda fitted: self._show(fitted, number, str(request.get("view", ""))))
        except Exception as wrong:
            self.send("fit", number, {"wrong": sentence(wrong)})

    def _show(self, fitted: Fitted, number: int, view: str) -> None:
        content = overview(fitted, view)
        self._shown = fitted
        self.fitted = fitted if fitted.is_complete else self.fitted
        self.send("fit", number, content)
        if fitted.is_complete:
            self._workers.details.submit(self.key, partial(self._details, number=number, fitted=fitted))

    def _details(self, job: Job, number: int, fitted: Fitted) -> None:
        job.pause(PATIENCE)
        try:
            for part in details(fitted, job.check):
                job.check()
                self.send("fit", number, {"stage": "details", **part})
        except Exception as wrong:
            self.send("fit", number, {"stage": "details", "failed": sentence(wrong)})

    def _compare(self, job: Job, number: int, request: dict[str, Any]) -> None:
        try:
            settings = Settings.read(request.get("settings"), self._source)
            question = Question.read(request.get("question"))
            compare(self._source, settings, question, job, lambda part: self.send("compare", number, part))
        except Exception as wrong:
            self.send("compare", number, {"wrong": sentence(wrong)})

    def _rows(self, number: int, request: dict[str, Any]) -> None:
        if self._shown is None:
            return
        try:
            self.send("rows", number, {"table": listing(self._shown, request.get("rows"))})
        except Exception as wrong:
            self.send("rows", number, {"wrong": sentence(wrong)})
