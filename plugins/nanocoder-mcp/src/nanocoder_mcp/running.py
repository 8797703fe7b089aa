"""The servers that run for one session: each starts at its first call and ends with the session."""

import asyncio
import concurrent.futures
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve
from nanocoder import Cancel, Cancelled, SessionInfo, ToolContext, ToolError, ToolResult

from nanocoder_mcp import records
from nanocoder_mcp.definitions import digest_of
from nanocoder_mcp.results import prompt_result, resource_result, result_of
from nanocoder_mcp.server import Server
from nanocoder_mcp.settings import Settings

if TYPE_CHECKING:
    from nanocoder_mcp.connection import Connection

CLOSE_S: Final = 15.0
Wrap = Callable[[list[str]], list[str]]


class Servers:
    """The servers of one session; methods may be called from any thread."""

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._cwd: Path = session.cwd
        self._start_timeout_s = settings.start_timeout_s
        self._connections: dict[str, Connection] = {}
        self._withheld: dict[str, dict[str, str]] = {}
        self._starting: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def call(
        self, ctx: ToolContext, server: Server, tool: str, arguments: Mapping[str, Any]
    ) -> ToolResult:
        """Call a tool; raises ToolError, and Cancelled when a person interrupted it."""

        def ask(connection: "Connection") -> ToolResult:
            self._refuse_changed(connection, tool, ctx.cancelled)
            work = connection.call_tool(tool, arguments, ctx.progress)
            return result_of(server.name, tool, self._run(work, ctx.cancelled))

        return self._answered(ctx, server, ask)

    def connect(self, server: Server, wrap: Wrap, cancel: Cancel) -> "Connection":
        """Return the connection of *server*, started if it does not run; raises ToolError."""
        with self._lock:
            starting = self._starting[server.name]
        with starting:
            connection = self._connections.get(server.name)
            if connection is not None and connection.is_open:
                return connection
            if connection is not None:
                del self._connections[server.name]
                self._run(connection.close(), Cancel())
            opened: Connection = self._run(self._open(server, wrap), cancel)
            self._connections[server.name] = opened
            return opened

    def read(
        self, ctx: ToolContext, server: Server, prompt: str, uri: str, arguments: Mapping[str, str]
    ) -> ToolResult:
        """Read a prompt, or without one a resource; raises ToolError and Cancelled."""

        def ask(connection: "Connection") -> ToolResult:
            if prompt:
                answer = self._run(connection.prompt(prompt, arguments), ctx.cancelled)
                return prompt_result(server.name, prompt, answer)
            answer = self._run(connection.read_resource(uri), ctx.cancelled)
            return resource_result(server.name, uri, answer)

        return self._answered(ctx, server, ask)

    def _answered(
        self, ctx: ToolContext, server: Server, ask: "Callable[[Connection], ToolResult]"
    ) -> ToolResult:
        """Return the result of *ask* on a connection to *server*, and record its error."""
        try:
            wrap = ctx.wrap if server.sandbox else list
            connection = self.connect(server, wrap, ctx.cancelled)
            with connection.requests.during(ctx):
                result = ask(connection)
        except Cancelled:
            raise
        except ToolError as error:
            _record_problem(server, str(error))
            raise
        _record_problem(server, "")
        return result

    def lists(self, server: Server, cancel: Cancel) -> tuple[tuple[list[Any], ...], dict[str, Any]]:
        """Return a server's raw lists, and its identification; raises ToolError."""
        connection = self.connect(server, list, cancel)
        return self._run(connection.lists(), cancel), connection.info

    def close(self) -> None:
        """Close all connections, and end the loop's thread."""
        loop = self._loop
        if loop is None:
            return
        with suppress(ToolError):
            self._run(self._close_all(), Cancel(), CLOSE_S)
        loop.call_soon_threadsafe(loop.stop)
        if self._thread is not None:
            self._thread.join(CLOSE_S)
        if not loop.is_running():
            loop.close()

    async def _close_all(self) -> None:
        open_ones = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(each.close() for each in open_ones), return_exceptions=True)
        await asyncio.get_running_loop().shutdown_default_executor()

    async def _open(self, server: Server, wrap: Wrap) -> "Connection":
        # The SDK costs half a second and 64 MB: only pay that when a server is used.
        from nanocoder_mcp.transports import connection_to

        connection = connection_to(server, wrap, self._cwd)
        await connection.open(self._start_timeout_s)
        return connection

    def _refuse_changed(self, connection: "Connection", tool: str, cancel: Cancel) -> None:
        """Raise ToolError if the definition of *tool* differs from the accepted one."""
        server = connection.server
        if server.name not in self._withheld or connection.has_changed:
            connection.has_changed = False
            raw_tools = self._run(connection.tools(), cancel)
            self._withheld[server.name] = held_back(server, raw_tools)
        why = self._withheld[server.name].get(tool, "")
        if why:
            raise ToolError(
                f"the tool {tool!r} of the MCP server {server.name!r} {why} since it was reviewed,"
                f" and is held back until a person has run: nanocoder mcp review {server.name}",
                error_class="definition_changed",
            )

    def _run(
        self, work: Coroutine[Any, Any, Any], cancel: Cancel, timeout_s: float | None = None
    ) -> Any:
        """Run *work* on the loop's thread and return its result; *cancel* cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._started_loop())
        forget = cancel.on_set(future.cancel)
        try:
            return future.result(timeout_s)
        except concurrent.futures.CancelledError as error:
            raise Cancelled(cancel.reason or "interrupted") from error
        except TimeoutError as error:
            raise ToolError("the MCP servers do not end", error_class="timeout") from error
        finally:
            forget()

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="nanocoder-mcp", daemon=True
                )
                self._thread.start()
            return self._loop


def held_back(server: Server, raw_tools: list[dict[str, Any]]) -> dict[str, str]:
    """Return the reason each tool is withheld, by name, and record the offer for a review."""
    record = records.read(server)
    accepted = {tool["original"]: tool["digest"] for tool in record.tools}
    now = {str(raw.get("name", "")): digest_of(raw) for raw in raw_tools}
    reasons = {name: "has changed" for name in accepted if now.get(name, "") != accepted[name]}
    reasons |= dict.fromkeys(accepted.keys() - now.keys(), "is gone")
    is_known = now.keys() <= accepted.keys() | record.left_out.keys()
    pending = tuple(raw_tools) if reasons or not is_known else None
    if (pending is None) != (record.pending is None) or pending != record.pending:
        with suppress(ToolError):
            records.write(server, evolve(record, pending=pending))
    return reasons


def _record_problem(server: Server, problem: str) -> None:
    with suppress(ToolError):
        records.note(server, problem)
