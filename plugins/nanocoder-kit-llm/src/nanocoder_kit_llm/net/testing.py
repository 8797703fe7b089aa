"""A web server on 127.0.0.1 for the tests of tools that fetch pages."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Respond = Callable[[BaseHTTPRequestHandler], None]


class PageServer:
    """A server that runs inside a `with`, and after `close` no more.

    `pages` maps paths to functions that answer, "/" is the one for all others; `hits` has the
    method, the path and the headers of each request, `url` is where it listens.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Respond] = {}
        self.hits: list[tuple[str, str, dict[str, str]]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.hits.append((self.command, self.path, headers))
                server.pages.get(self.path.partition("?")[0], server.pages["/"])(self)

            do_HEAD = do_GET  # noqa: N815 - the library's names
            do_POST = do_GET  # noqa: N815 - as above

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        self.pages["/"] = self.text("CANARY-ssrf")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @staticmethod
    def text(body: str | bytes, status: int = 200, **headers: str) -> Respond:
        """Answer *body*; header names are written with _ for -."""
        data = body.encode() if isinstance(body, str) else body

        def respond(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.send_header("content-length", str(len(data)))
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(data)

        return respond

    @classmethod
    def redirect(cls, location: str, status: int = 302) -> Respond:
        """Answer with another address."""
        return cls.text("", status, location=location)
