"""A session with one server, on an event loop of its own thread.

The official SDK speaks the protocol. It takes half a second to import, which the first call pays.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import mcp_types
from anyio import BrokenResourceError, ClosedResourceError
from mcp import Client, MCPError
from nanocoder import ToolError, __version__, one_line

from nanocoder_mcp.http import Endpoint, why_unreachable
from nanocoder_mcp.process import UNREADABLE, ServerProcess
from nanocoder_mcp.requests import ServerRequests
from nanocoder_mcp.server import Server

MAX_PAGES: Final = 50
MAX_ITEMS: Final = 5_000
PROGRESS_CHARS: Final = 300
CLOSE_S: Final = 8.0
UNREADABLE_TEXTS: Final = (UNREADABLE, "Failed to parse JSON", "Failed to parse SSE")
"""Prefixes of the errors for an answer that cannot be parsed: ours, and the SDK's over HTTP."""

Progress = Callable[[str], None]


class Connection:
    """One server that runs, or that answers at an address; its coroutines run on one loop."""

    def __init__(
        self,
        server: Server,
        peer: ServerProcess | Endpoint,
        requests: ServerRequests,
    ) -> None:
        self.server = server
        self.requests = requests
        self._process = peer if isinstance(peer, ServerProcess) else None
        self._endpoint = peer if isinstance(peer, Endpoint) else None
        self._broken = ""
        self._list_timeout_s = 0.0
        self._client = Client(
            peer.streams(),
            client_info=mcp_types.Implementation(name="nanocoder", version=__version__),
            message_handler=self._heard,
            list_roots_callback=requests.list_roots,
            elicitation_callback=requests.elicit,
            sampling_callback=requests.sample if server.sampling else None,
            cache=None,
        )
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.has_changed = False
        # The SDK logs to standard error, which belongs to the session's interface.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        logging.getLogger("mcp").propagate = False

    @property
    def is_open(self) -> bool:
        """Return True if the server runs and takes calls."""
        ended = self._process is not None and bool(self._process.problem)
        return self._task is not None and not self._task.done() and not ended

    @property
    def info(self) -> dict[str, Any]:
        """The name and version that the server gives, and the revision of the protocol."""
        server = self._client.server_info
        return {
            "name": server.name if server else "",
            "version": server.version if server else "",
            "protocol": self._client.protocol_version,
        }

    async def open(self, timeout_s: float) -> None:
        """Start the server and shake hands; raises ToolError."""
        ready = asyncio.get_running_loop().create_future()
        self._list_timeout_s = timeout_s
        self._task = asyncio.create_task(self._serve(ready))
        try:
            await asyncio.wait_for(asyncio.shield(ready), timeout_s)
        except TimeoutError:
            await self.close()
            problem = f"did not answer within {timeout_s:g} s after its start (start_timeout_s)"
            raise self.failure(problem, "server_not_started") from None
        except asyncio.CancelledError:
            await self.close()
            raise

    async def _serve(self, ready: "asyncio.Future[None]") -> None:
        try:
            async with self._client:
                # Its own check would use expressions that can take for ever, on this thread.
                vars(self._client.session)["validate_tool_result"] = _unchecked
                ready.set_result(None)
                await self._closing.wait()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - task groups wrap whatever went wrong
            if ready.done():
                self._broken = why_unreachable(innermost(error))
            else:
                ready.set_exception(self._as_tool_error(error, "server_not_started"))

    async def close(self) -> None:
        """End the session and the process."""
        self._closing.set()
        if self._task is not None:
            _, late = await asyncio.wait([self._task], timeout=CLOSE_S / 4)
            for task in late:
                task.cancel()
            await asyncio.wait([self._task], timeout=CLOSE_S)

    async def call_tool(
        self, tool: str, arguments: Mapping[str, Any], show: Progress
    ) -> dict[str, Any]:
        """Call *tool* and return its answer as JSON; raises ToolError."""

        async def report(
            progress: float, total: float | None = None, message: str | None = None
        ) -> None:
            share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
            show(f"{share} {one_line(message or '', PROGRESS_CHARS)}".strip())

        if self._process is not None:
            self._process.messages = 0
        answer = await self._asked(
            self._client.call_tool(tool, dict(arguments), progress_callback=report)
        )
        return as_json(answer)

    async def tools(self) -> list[dict[str, Any]]:
        """Return the definitions of all its tools as they came; raises ToolError."""
        return await self._listed("tools", self._client.list_tools)

    async def lists(self) -> tuple[list[dict[str, Any]], ...]:
        """Return the definitions of its tools, prompts and resources; raises ToolError."""
        prompts = await self._listed("prompts", self._client.list_prompts)
        resources = await self._listed("resources", self._client.list_resources)
        return await self.tools(), prompts, resources

    async def read_resource(self, uri: str) -> dict[str, Any]:
        """Return the contents of a resource as JSON; raises ToolError."""
        return as_json(await self._asked(self._client.read_resource(uri)))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the messages of a prompt as JSON; raises ToolError."""
        return as_json(await self._asked(self._client.get_prompt(name, dict(arguments))))

    async def _listed(self, what: str, ask: Callable[..., Awaitable[Any]]) -> list[dict[str, Any]]:
        if getattr(self._client.server_capabilities, what, None) is None:
            return []
        items: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            try:
                answer = self._asked(ask(cursor=cursor))
                page = await asyncio.wait_for(answer, self._list_timeout_s)
            except TimeoutError:
                problem = f"did not list its {what} within {self._list_timeout_s:g} s"
                raise self.failure(problem, "server_failed") from None
            items += [as_json(item) for item in getattr(page, what)]
            cursor = page.next_cursor
            if len(items) > MAX_ITEMS:
                raise self.failure(f"lists more than {MAX_ITEMS:,} {what}", "protocol")
            if not cursor:
                return items
        raise self.failure(f"lists its {what} on more than {MAX_PAGES} pages", "protocol")

    async def _asked(self, answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise self._as_tool_error(error, "server_failed") from error

    def _as_tool_error(self, error: BaseException, error_class: str) -> ToolError:
        """Return *error* as a ToolError with one line of text."""
        error = innermost(error)
        if isinstance(error, ToolError):
            return self.failure(str(error), error.error_class)
        if self._endpoint is not None and self._endpoint.wants_login:
            return self.failure(self._endpoint.wants_login, "login_needed")
        if problem := why_unreachable(error):
            return self.failure(f"{problem} ({self.server.url})", error_class)
        has_ended = isinstance(error, BrokenResourceError | ClosedResourceError)
        if isinstance(error, MCPError):
            has_ended = has_ended or error.error.code == mcp_types.CONNECTION_CLOSED
        if has_ended or (self._process is not None and self._process.problem):
            ended = self._process.problem if self._process is not None else self._broken
            problem = ended or "closed the connection"
            return self.failure(problem, "server_ended")
        if self._endpoint is not None and self._endpoint.refusal:
            return self.failure(self._endpoint.refusal, error_class)
        text = " ".join(str(error).split())[:500] or type(error).__name__
        problem = f"answered with an error: {text}"
        if isinstance(error, MCPError) and text.startswith(UNREADABLE_TEXTS):
            problem = UNREADABLE
        if callable(getattr(error, "error_count", None)):  # of the library that reads answers
            problem = "sent an answer that is none of the protocol"
        return self.failure(problem, error_class)

    def failure(self, problem: str, error_class: str) -> ToolError:
        """Return an error that names the server, with the last lines of its log."""
        log = self._process.log if self._process is not None else ""
        tail = f"; its log ends: {log}" if log and error_class.startswith("server_") else ""
        return ToolError(
            f"the MCP server {self.server.name!r} {problem}{tail}", error_class=error_class
        )

    async def _heard(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.has_changed = True


async def _unchecked(_name: str, _result: Any) -> None:
    """Accept a result as it is: it is data, and is cleaned before a model reads it."""


def innermost(error: BaseException) -> BaseException:
    """Return the first error that task groups have wrapped."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def as_json(value: Any) -> dict[str, Any]:
    """Return a value of the SDK as the JSON that came."""
    data: dict[str, Any] = value.model_dump(by_alias=True, exclude_none=True, mode="json")
    return data
