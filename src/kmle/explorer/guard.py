"""Who may speak to the server: this machine's browser, with the token of the address, from the page itself."""

import secrets
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost")
REFUSED = "This address needs the token that kmle explore printed."


class Guard:
    """Refuses requests without the token, for another host (DNS rebinding), or from another origin.

    The token is the first part of every path, so that no cookie is needed. A page of another site cannot know it. The
    header Host must name this machine, and the header Origin, where there is one, must be the page's own.
    """

    def __init__(self, app: ASGIApp, token: str, framed: bool) -> None:
        self._app = app
        self._token = token
        self._framed = framed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if not self._is_allowed(HTTPConnection(scope)):
            await self._refuse(scope, receive, send)
            return
        policy = self._headers(HTTPConnection(scope).headers["host"])

        async def with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *policy]
            await send(message)

        await self._app(scope, receive, with_policy)

    def _is_allowed(self, request: HTTPConnection) -> bool:
        host = request.headers.get("host", "")
        if urlsplit(f"//{host}").hostname not in LOOPBACK:
            return False
        sender = request.headers.get("origin")
        if request.scope["type"] == "websocket" and sender is None:
            return False
        if sender is not None and sender != f"http://{host}":
            return False
        token = request.scope["path"].split("/")[1]
        return secrets.compare_digest(token.encode(), self._token.encode())

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        await PlainTextResponse(REFUSED, 403)(scope, receive, send)

    def _headers(self, host: str) -> list[tuple[bytes, bytes]]:
        """Nothing may be fetched from elsewhere, and the page may be framed by a notebook of this machine only."""
        ancestors = " ".join(f"http://{name}:*" for name in LOOPBACK) if self._framed else "'none'"
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
            f"connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
        )
        found: dict[str, Any] = {
            "content-security-policy": policy,
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-store",
        }
        return [(name.encode(), value.encode()) for name, value in found.items()]
