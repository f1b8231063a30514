"""`explore` and `serve`: a page for an array, a data frame or a file."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from .source import Source, from_array

# Seconds without an open page after which the server stops, and those before the first one is opened.
IDLE, FIRST = 60.0, 300.0
HEIGHT = 900


class Running:
    """A server that runs in a thread of this process; `stop` ends it."""

    def __init__(
        self, source: Source, *, framed: bool = False, idle: float = IDLE, port: int = 0, alone: bool = False
    ) -> None:
        try:
            import uvicorn

            from .server import Server
        except ModuleNotFoundError as error:
            needed = "kmle explore needs starlette, uvicorn and websockets: pip install 'kmle[explore]'"
            raise ModuleNotFoundError(needed, name=error.name) from None
        token = secrets.token_urlsafe(16)
        self._server = Server(source, token, framed, alone)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self._socket.listen()  # a browser that is faster than the server waits
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/{token}/"
        settings = uvicorn.Config(
            self._server.app, log_level="critical", access_log=False, lifespan="off", ws_max_size=1 << 20,
            timeout_graceful_shutdown=1, ws="websockets-sansio",
        )  # fmt: skip
        self._uvicorn = uvicorn.Server(settings)
        self._idle = idle
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kmle-explore", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._uvicorn.run(sockets=[self._socket])
        self._server.stop()
        self._ended.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the server has been idle, at most so long; whether it has stopped."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self._ended.is_set() and (end is None or time.monotonic() < end):
            if self._is_idle():
                self.stop()
            self._ended.wait(0.2)
        return self._ended.is_set()

    def _is_idle(self) -> bool:
        opened = self._server.was_open
        return self._server.idle_seconds > (self._idle if opened else max(self._idle, FIRST))

    def stop(self) -> None:
        """Ends the server."""
        self._uvicorn.should_exit = True
        self._thread.join(timeout=15)
        self._socket.close()

    def _repr_html_(self) -> str:
        """The page inside a notebook."""
        return f'<iframe src="{self.address}" width="100%" height="{HEIGHT}" style="border:0"></iframe>'


def serve(source: Source, *, browser: bool = True, say: Callable[[str], None] = print, idle: float = IDLE) -> None:
    """Shows a page until Ctrl-C, or until it has been closed for a while."""
    running = Running(source, idle=idle, alone=True)
    say(f"exploring {source.name} at {running.address}")
    say("stop with Ctrl-C; it stops by itself a minute after the last page is closed")
    try:
        if browser:
            webbrowser.open(running.address)
        running.wait()
    except KeyboardInterrupt:
        say("stopped")
    finally:
        running.stop()


def explore(X: ArrayLike, columns: Sequence[str] | None = None, *, browser: bool | None = None) -> Any:
    """Opens a live page on which columns, family and the number of components are chosen.

    The page listens on this machine only and is closed to others by a random token in its address. It needs the extra
    `explore`.

    Parameters
    ----------
    X : array (n, d) or data frame
        The rows. Missing values may be NaN.
    columns : sequence of str, default=None
        The names of the columns of an array, or the columns of a data frame to offer.
    browser : bool, default=None
        Whether to open the browser. By default the page is shown inside a notebook, and in the browser elsewhere.

    Returns
    -------
    Running
        The server, which runs until the process ends or `stop` is called; `address` is that of the page. A notebook
        shows it as the page.

    Examples
    --------
    >>> page = explore([[1.0], [2.0], [30.0], [28.0]], columns=["calls"], browser=False)
    >>> page.address.startswith("http://127.0.0.1:")
    True
    >>> page.stop()
    """
    notebook = _in_notebook()
    running = Running(from_array(X, columns), framed=notebook, idle=float("inf"))
    if browser if browser is not None else not notebook:
        webbrowser.open(running.address)
    return running


def _in_notebook() -> bool:
    """Whether IPython runs with a kernel, as in notebooks."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
