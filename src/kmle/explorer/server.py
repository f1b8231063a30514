"""The server: the page and its scripts, one web socket per open page, downloads.

What fits and draws takes a second to load. It is loaded in a thread while the browser fetches the page.
"""

import asyncio
import contextlib
import gc
import threading
import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..report.library import own_text, plotly
from ..report.markup import text
from .guard import Guard

if TYPE_CHECKING:
    from .pages import Page, Workers
    from .source import Source

# Components at first.
FIRST_K = 3
SCRIPT, STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"


class Server:
    """The application for one table; `alone` where the process does nothing else."""

    def __init__(self, source: "Source", token: str, framed: bool = False, alone: bool = False) -> None:
        self._source = source
        self._alone = alone
        self._workers: Workers | None = None
        self._loading = threading.Lock()
        threading.Thread(target=self._load, name="kmle-loading", daemon=True).start()
        self._pages: dict[str, Page] = {}
        self._closed = time.monotonic()
        """When the last page was closed."""
        self.was_open = False
        """Whether a page was ever open."""
        routes = [
            Route("/{token}/", self._index),
            Route("/{token}/plotly.js", lambda request: Response(plotly(), media_type=SCRIPT)),
            Route("/{token}/drawing.js", lambda request: Response(own_text("drawing.js"), media_type=SCRIPT)),
            Route("/{token}/report.css", lambda request: Response(own_text("page.css"), media_type=STYLE)),
            Route("/{token}/explorer.js", lambda request: Response(_own("explorer.js"), media_type=SCRIPT)),
            Route("/{token}/explorer.css", lambda request: Response(_own("explorer.css"), media_type=STYLE)),
            Route("/{token}/export/{page}/{kind}", self._export),
            WebSocketRoute("/{token}/socket", self._socket),
        ]
        self.app = Guard(Starlette(routes=routes), token, framed)

    @property
    def idle_seconds(self) -> float:
        """How long no page has been open."""
        return 0.0 if self._pages else time.monotonic() - self._closed

    def stop(self) -> None:
        """Ends all work."""
        self._load().stop()

    def _load(self) -> "Workers":
        """The workers; what they need is loaded first."""
        with self._loading:
            if self._workers is None:
                from .pages import Workers

                self._workers = Workers()
                if self._alone:
                    # Modules stay as long as the process: a search for garbage among them delays a fit by 0.1 s.
                    gc.freeze()
            return self._workers

    async def _index(self, request: Request) -> Response:
        page = _own("explorer.html").replace("{title}", text(self._source.name))
        return Response(page, media_type="text/html; charset=utf-8")

    async def _export(self, request: Request) -> Response:
        page = self._pages.get(request.path_params["page"])
        kind = request.path_params["kind"]
        from .exports import KINDS, exported

        if page is None or page.fitted is None or kind not in KINDS:
            return PlainTextResponse("There is no such file.", 404)
        name, media_type = KINDS[kind]
        try:
            content = await asyncio.to_thread(exported, page.fitted, kind)
        except ValueError as error:
            return PlainTextResponse(str(error), 409)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=media_type, headers=headers)

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept()
        workers = await asyncio.to_thread(self._load)
        from .pages import Page

        page = Page(self._source, workers)
        self._pages[page.key] = page
        self.was_open = True
        sending = asyncio.create_task(self._deliver(page, socket))
        try:
            await socket.send_json({"topic": "welcome", **self._welcome(page)})
            while True:
                request = await socket.receive_json()
                if isinstance(request, dict):
                    page.ask(request)
        except (WebSocketDisconnect, ValueError):
            pass
        finally:
            sending.cancel()
            page.close()
            del self._pages[page.key]
            self._closed = time.monotonic()

    def _welcome(self, page: "Page") -> dict[str, Any]:
        source = self._source
        return {
            "page": page.key,
            "name": source.name,
            "rows": len(source.rows),
            "columns": list(source.columns),
            "chosen": source.first_columns,
            "k": min(FIRST_K, len(source.rows)),
            "notes": list(source.notes),
        }

    async def _deliver(self, page: "Page", socket: WebSocket) -> None:
        """Sends what workers answered."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await socket.send_text(await page.outbox.get())


def _own(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")
