"""The command `web`: serve one conversation to browsers on this machine until the person leaves."""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from argparse import Namespace
from functools import partial
from typing import Any, Final

import uvicorn
from nanocoder import Host, UsageError
from uvicorn.protocols.http.h11_impl import H11Protocol

from nanocoder_ui_web.access import Access
from nanocoder_ui_web.app import make_app
from nanocoder_ui_web.conversation import Talk
from nanocoder_ui_web.feed import Feed
from nanocoder_ui_web.questions import Answers, Questions

ADDRESS: Final = "127.0.0.1"
ANSWERS: Final = "ui-web-answers"
LAST_PORT: Final = 65_535
MAX_CONNECTIONS: Final = 64
BACKLOG: Final = 32
"""Length of the accept queue: the loop does not recover from exhausted file descriptors.
"""
REQUEST_S: Final = 10
"""Timeout for a request to arrive, so that idle programs hold no connection, in seconds."""
LEAVE_S: Final = 5
READ_BYTES: Final = 4_096
SHOWN: Final = """{link}
Open this link in a browser of this machine within ten minutes. It works once.
Enter makes another one here, and "Second browser" one in the page.
Ctrl-C stops what runs, and leaves when nothing does."""
WAY_BACK: Final = "To continue: nanocoder web --resume {}"


def run(arguments: Namespace, host: Host, port: int, output: str) -> int:
    """Serve a conversation with the output format *output*; return the exit code.

    *port* is the port to listen on unless *arguments* set one.
    """
    listener = listen(port if arguments.port is None else arguments.port)
    with listener, host.signals:
        resume = arguments.resume or ""
        feed, access = Feed(), Access()
        questions = Questions(feed)
        host.plugins.add(Answers(questions), ANSWERS)
        talk = Talk(host, feed, questions, output, _tell)
        with Served(make_app(talk, questions, feed, access), listener, feed):
            page = f"http://{ADDRESS}:{listener.getsockname()[1]}/"
            talk.work(resume, lambda: _show_link(host, page, access))
        if talk.kept:
            _tell(WAY_BACK.format(talk.kept))
    number = host.signals.number
    return host.signals.exit_code if number not in {0, signal.SIGINT} else 0


def _show_link(host: Host, page: str, access: Access) -> None:
    host.print_line(SHOWN.format(link=f"{page}#{access.invite()}"))
    sys.stdout.flush()  # a program may wait for the link at the other end of a pipe
    if sys.stdin.isatty():
        # A daemon: nothing ends a read of the terminal.
        threading.Thread(target=_offer_links, args=(page, access), daemon=True).start()


def _tell(text: str) -> None:
    """Print a line on the terminal below a `^C` that a Ctrl-C has echoed."""
    sys.stdout.write(f"\n{text}\n" if sys.stdin.isatty() else f"{text}\n")
    sys.stdout.flush()


def _offer_links(page: str, access: Access) -> None:
    """Print a new link for each line that is entered: a tab that was closed has lost its key."""
    while os.read(sys.stdin.fileno(), READ_BYTES):
        sys.stdout.write(f"{page}#{access.invite()}\n")
        sys.stdout.flush()


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback; raises UsageError."""
    if not 0 <= port <= LAST_PORT:
        raise UsageError(f"--port takes 0 to {LAST_PORT}, not {port}")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, port))
        listener.listen(BACKLOG)  # a browser may come before the server has started
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise UsageError(
            f"cannot listen on port {port}: {why}; --port 0 selects a free one"
        ) from error
    return listener


class Requests(H11Protocol):
    """A connection that is closed if its request does not arrive in time.

    *waiting* are all connections without a request, oldest first: beyond the limit the oldest is
    closed, so that a program that only connects cannot block others.
    """

    _late: asyncio.TimerHandle | None = None

    def __init__(self, waiting: "dict[Requests, None]", **arguments: Any) -> None:
        super().__init__(**arguments)
        self._waiting = waiting

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request."""
        super().connection_made(transport)
        self._waiting[self] = None
        if len(self.connections) > MAX_CONNECTIONS:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.transport.abort()
        self._late = self.loop.call_later(REQUEST_S, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; the first one of the next request starts the time again."""
        super().data_received(data)
        cycle = self.cycle
        is_coming = cycle is None or cycle.more_body or cycle.response_complete
        if self._late is not None and not is_coming:
            self._late.cancel()
            self._late = None
            self._waiting.pop(self, None)
        elif self._late is None and is_coming:
            self._late = self.loop.call_later(REQUEST_S, self.transport.abort)
            self._waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait."""
        super().connection_lost(exc)
        self._waiting.pop(self, None)
        if self._late is not None:
            self._late.cancel()


class Served:
    """Serves an application on a thread of its own while it is entered."""

    def __init__(self, app: Any, listener: socket.socket, feed: Feed) -> None:
        config = uvicorn.Config(
            app,
            http=partial(Requests, {}),  # type: ignore[arg-type]  # called as the class would be
            backlog=BACKLOG,
            log_config=None,
            log_level=logging.CRITICAL,  # an untrusted request must not write to the terminal
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            limit_concurrency=2 * MAX_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._feed = feed
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="nanocoder-web", daemon=True
        )

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_error: object) -> None:
        self._feed.close()
        self._server.should_exit = True
        self._thread.join(LEAVE_S)
