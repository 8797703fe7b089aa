"""Access control: only a browser that was opened with the terminal's link may use the server.

A link works once. Its token follows the #, which a browser never sends to any server; the page
exchanges it for a key, which it stores for its own tab. A browser does not send the key by itself,
unlike a cookie, so neither another page nor another server on the same machine can use it.
"""

import asyncio
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost"})
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
BEARER: Final = "Bearer "
BROWSER: Final = "nanocoder.browser"
"""Key of the browser's number in the scope of a request."""
MAX_BODY_BYTES: Final = 4_194_304
ANSWER_S: Final = 10.0
"""Timeout of a request without a key, in seconds."""
LINK_S: Final = 600.0
"""Lifetime of an unused link, in seconds."""


class Access:
    """The links that were not used yet, and the keys of the browsers that used one.

    Its methods may be called from any thread.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._tokens: dict[str, float] = {}
        self._keys: dict[str, int] = {}

    def invite(self) -> str:
        """Return a new token for one browser."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[token] = self._now() + LINK_S
        return token

    def exchange(self, token: str) -> str | None:
        """Return the key for a token that was not used before, and is not too old."""
        key = secrets.token_urlsafe(32)
        with self._lock:
            unused = _among(token, self._tokens)
            if unused is None or self._tokens.pop(unused) < self._now():
                return None
            self._keys[key] = len(self._keys) + 1
        return key

    def browser(self, key: str) -> int:
        """Return the number of the browser that has *key*; 0 if none has."""
        with self._lock:
            return self._keys.get(_among(key, self._keys) or "", 0)


def _among(text: str, secret_texts: Iterable[str]) -> str | None:
    # The time of a comparison must not tell how much of it fits.
    data = text.encode("utf-8", "replace")
    return next((each for each in secret_texts if hmac.compare_digest(each.encode(), data)), None)


class Guard:
    """Admits only requests of our own page, and adds the headers that restrict it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        problem, status = self._problem(scope)
        app = JSONResponse({"error": problem}, status) if problem else self._app
        # A browser without a key cannot occupy a connection by not reading the answer.
        with suppress(TimeoutError, ClientDisconnect):
            async with asyncio.timeout(None if scope.get(BROWSER) else ANSWER_S):
                await app(scope, receive, send_guarded)

    def _problem(self, scope: Scope) -> tuple[str, int]:
        """Return the reason to refuse a request, "" for none, and the status of the refusal."""
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        # DNS rebinding: a foreign page whose host resolves to this machine sends its own name.
        if host.rpartition(":")[0] not in LOOPBACK_NAMES:
            return "this server is reached as 127.0.0.1 or localhost only", 421
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return "this request comes from another page", 403
        if scope["method"] == "POST" and "origin" not in headers:
            return "this request does not say which page it comes from", 403
        if not _is_small(headers.get("content-length", "0")) or "transfer-encoding" in headers:
            return f"a request has at most {MAX_BODY_BYTES:,} bytes, and says how many", 413
        if path.startswith("/api/") and path != "/api/login":
            scheme, key = headers.get("authorization", "")[: len(BEARER)], ""
            if scheme == BEARER:
                key = headers["authorization"].removeprefix(BEARER)
            scope[BROWSER] = self._access.browser(key)
            if not scope[BROWSER]:
                return "open this page with a new link: the terminal shows how", 401
        return "", 0


def _is_small(length: str) -> bool:
    return length.isascii() and length.isdigit() and int(length) <= MAX_BODY_BYTES
