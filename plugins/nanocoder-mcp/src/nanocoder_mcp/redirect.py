"""The redirect target of a login: one page on the loopback interface."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import escape
from typing import Final
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult
from nanocoder import ToolError, one_line

HOST: Final = "127.0.0.1"
PATH: Final = "/callback"
MAX_REQUEST_BYTES: Final = 16_384
READ_S: Final = 10.0
REASON_CHARS: Final = 200
NOTHING: Final = "There is nothing here."
NOT_EXPECTED: Final = "This is not the address at which this login ends; paste the whole of it."
PAGE: Final = """<!doctype html><meta charset="utf-8"><title>nanocoder</title>
<p>{text}</p>"""


class Redirect:
    """Waits for the answer to one authorization request, and for no other."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[AuthorizationCodeResult] = (
            asyncio.get_running_loop().create_future()
        )
        self._state = ""
        self.address = ""

    @property
    def is_expected(self) -> bool:
        """Return True if a login has started."""
        return bool(self._state)

    def expect(self, authorization_url: str) -> None:
        """Accept the answer to *authorization_url* from now on."""
        self._state = _first(urlsplit(authorization_url).query, "state")

    async def code(self) -> AuthorizationCodeResult:
        """Return the authorization code from the browser; raises ToolError for a refusal."""
        return await self._answer

    def take(self, text: str) -> str:
        """Accept an address that the user pasted; return a message for the user."""
        url = urlsplit("".join(text.split()))
        _, message = self._judge(f"{url.path or PATH}?{url.query}")
        return NOT_EXPECTED if message == NOTHING else message

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser."""
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), READ_S)
            status, text = self._judge(head.split(b" ", 2)[1].decode("ascii"))
        except (OSError, ValueError, IndexError, TimeoutError):
            status, text = "400 Bad Request", "This is not an answer to a login."
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            status, text = "400 Bad Request", "This is not an answer to a login."
        body = PAGE.format(text=escape(text)).encode()
        head_lines = (
            f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head_lines.encode() + body)
        try:
            await writer.drain()
        except OSError:
            pass  # it was only to tell the person
        finally:
            writer.close()

    def _judge(self, target: str) -> tuple[str, str]:
        """Accept the answer in *target*; return the HTTP status and the text for the user."""
        url = urlsplit(target)
        # Any page can open this address, so only a request with the state is accepted.
        if url.path != PATH or not self._state or _first(url.query, "state") != self._state:
            return "404 Not Found", NOTHING
        if self._answer.done():
            return "200 OK", "This login has ended already. You can close this page."
        code = _first(url.query, "code")
        if not code:
            reason = _first(url.query, "error_description") or _first(url.query, "error")
            why = one_line(reason or "it gave no reason", REASON_CHARS)
            problem = f"refused the login: {why}"
            self._answer.set_exception(ToolError(problem, error_class="login_needed"))
            return "200 OK", "The login was refused. You can close this page."
        issuer = _first(url.query, "iss") or None
        result = AuthorizationCodeResult(code=code, state=self._state, iss=issuer)
        self._answer.set_result(result)
        return "200 OK", "You are logged in. You can close this page and go back to nanocoder."


@asynccontextmanager
async def waiting(port: int = 0) -> AsyncIterator[Redirect]:
    """Serve the page on *port*, 0 for a free one; raises ToolError if the port is in use."""
    redirect = Redirect()
    try:
        server = await asyncio.start_server(redirect.serve, HOST, port, limit=MAX_REQUEST_BYTES)
    except OSError as error:
        problem = f"the port {port} for the answer of the browser is taken: {error.strerror}"
        raise ToolError(problem) from error
    own_port = server.sockets[0].getsockname()[1]
    redirect.address = f"http://{HOST}:{own_port}{PATH}"
    try:
        yield redirect
    finally:
        server.close()


def _first(query: str, name: str) -> str:
    return next(iter(parse_qs(query).get(name, ())), "")
