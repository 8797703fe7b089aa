"""A server as a process: lines of JSON on its standard streams, each of them with a limit."""

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
from mcp.shared.message import SessionMessage
from nanocoder import ToolError, for_terminal, one_line
from nanocoder_kit_process import environment
from nanocoder_kit_process.process_tag import VARIABLE, new_tag
from nanocoder_kit_process.process_tree import ProcessTree, guard
from nanocoder_kit_process.programs import find_program

from nanocoder_mcp.repairs import with_sound_lists
from nanocoder_mcp.server import Server

Process = subprocess.Popen[bytes]

MAX_MESSAGE_BYTES: Final = 8_000_000
"""Size limit of one message; a server that exceeds it is terminated."""
MAX_IDLE_MESSAGES: Final = 20_000
"""Limit of the messages between two calls."""
MAX_ODD_LINES: Final = 1_000
LOG_BYTES: Final = 4_000
LOG_LINES: Final = 5
PIECE_BYTES: Final = 65_536
LEAVE_S: Final = 1.0
WORDS_CHARS: Final = 80
UNREADABLE: Final = "sent an answer that cannot be read"
REQUEST_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,18})\b')


class ServerProcess:
    """The process of one server; *problem* is the reason that it ended by itself, or ""."""

    def __init__(self, server: Server, wrap: Callable[[list[str]], list[str]], cwd: Path) -> None:
        self._server = server
        self._wrap = wrap
        self._cwd = cwd
        self._log = bytearray()
        self._pipes: list[asyncio.BaseTransport] = []
        self._has_spoken = False
        self._odd_line = b""
        self._unanswered: set[int | str] = set()
        self.messages = 0
        self.problem = ""

    @property
    def log(self) -> str:
        """The last lines that it wrote to its standard error, for a person."""
        lines = bytes(self._log).decode("utf-8", "replace").splitlines()[-LOG_LINES:]
        return for_terminal(" | ".join(line.strip() for line in lines if line.strip()))

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Start it and provide the streams of its messages; ends it and all that it started."""
        process, tree = self._start()
        to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](64)
        outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](64)
        tasks = [
            asyncio.create_task(self._read(process, to_us)),
            asyncio.create_task(self._write(process, from_us, to_us)),
            asyncio.create_task(self._keep_log(process)),
        ]
        try:
            yield incoming, outgoing
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.shield(asyncio.to_thread(_end, process, tree))
            for pipe in self._pipes:
                pipe.close()
            for stream in (incoming, outgoing, to_us, from_us):
                stream.close()

    def _start(self) -> tuple[Process, ProcessTree]:
        guard()
        tag = new_tag()
        variables = environment(os.environ, self._server.environment, workspace=self._cwd)
        variables |= {**self._server.env, VARIABLE: tag.text}
        name, *rest = self._server.command
        # A repository must not choose which program a name means.
        paths = variables.get("PATH", ""), os.environ.get("PATH", "")  # nanocoder's own comes last
        program = next(filter(None, (find_program(name, path, self._cwd) for path in paths)), "")
        if not program:
            problem = f"cannot be started: there is no program {name!r} on PATH"
            raise ToolError(problem, error_class="spawn_failed")
        folder = self._server.start_folder(self._cwd)
        try:
            process = subprocess.Popen(
                self._wrap([program, *rest]),
                cwd=folder,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            what = "folder" if error.filename == str(folder) else "program"
            problem = f"cannot be started: there is no {what} {error.filename!r}"
            raise ToolError(problem, error_class="spawn_failed") from error
        except (OSError, ValueError) as error:
            raise ToolError(f"cannot be started: {error}", error_class="spawn_failed") from error
        return process, ProcessTree(tag, process.pid)

    async def _read(self, process: Process, to_us: Any) -> None:
        """Pass on each line; the end of the stream means that the server has ended."""
        odd = 0
        reader = await self._reader_of(process.stdout)
        async with to_us:
            while not self.problem:
                line = await self._line(process, reader)
                if not line:
                    break
                self.messages += 1
                if self.messages > MAX_IDLE_MESSAGES:
                    self.problem = f"sent more than {MAX_IDLE_MESSAGES:,} messages without a call"
                    break
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    odd += 1
                    self._odd_line = self._odd_line or line
                    if odd > MAX_ODD_LINES:
                        self.problem = f"wrote more than {MAX_ODD_LINES:,} lines that are not JSON"
                    if (broken := self._broken_answer(line)) is None:
                        continue
                    message = broken
                self._has_spoken = True
                self._unanswered.discard(getattr(message, "id", None))
                await to_us.send(with_sound_lists(SessionMessage(message)))
        with suppress(ProcessLookupError):
            process.kill()

    def _broken_answer(self, line: bytes) -> mcp_types.JSONRPCError | None:
        """Return an error for a malformed *line* that names a pending request, or None."""
        named = map(int, REQUEST_ID.findall(line)) if line.lstrip().startswith(b"{") else ()
        request_id = next((each for each in named if each in self._unanswered), None)
        if request_id is None:
            return None
        error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=UNREADABLE)
        return mcp_types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)

    async def _reader_of(self, pipe: Any) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        self._pipes.append((await loop.connect_read_pipe(lambda: protocol, pipe))[0])
        return reader

    async def _line(self, process: Process, reader: asyncio.StreamReader) -> bytes:
        """Return the next line, or b"" at the end, and set the problem."""
        try:
            return await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            self.problem = f"sent a message of more than {MAX_MESSAGE_BYTES:,} bytes"
        except asyncio.IncompleteReadError:
            code = await asyncio.to_thread(_exit_code, process)
            self.problem = "closed its output" if code is None else f"ended with exit code {code}"
            self.problem += self._non_message_clause()
        except OSError as error:
            self.problem = f"broke off: {error}"
        return b""

    def _non_message_clause(self) -> str:
        """Return a clause for a program that never sent a message, quoting its output."""
        if self._has_spoken:
            return ""
        words = one_line(self._odd_line.decode("utf-8", "replace"), WORDS_CHARS)
        wrote = f"wrote {words!r}" if words else "wrote nothing"
        return f" and {wrote}, so it is no MCP server"

    async def _write(self, process: Process, from_us: Any, to_us: Any) -> None:
        if process.stdin is None:
            return
        try:
            async with from_us:
                async for message in from_us:
                    if isinstance(message.message, mcp_types.JSONRPCRequest):
                        self._unanswered.add(message.message.id)
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await asyncio.to_thread(_write_all, process.stdin, text.encode() + b"\n")
        except (OSError, ValueError, anyio.ClosedResourceError):
            await asyncio.sleep(2 * LEAVE_S)  # its output tells the reason
            to_us.close()

    async def _keep_log(self, process: Process) -> None:
        """Drain standard error, so that the server never blocks, and keep the tail."""
        reader = await self._reader_of(process.stderr)
        while piece := await reader.read(PIECE_BYTES):
            self._log += piece
            del self._log[:-LOG_BYTES]


def _write_all(pipe: Any, data: bytes) -> None:
    """Write all of *data*; waits while the server does not read, until it ends."""
    view = memoryview(data)
    while view:
        view = view[pipe.write(view) :]


def _exit_code(process: Process) -> int | None:
    """Return the exit code of a process that ends within LEAVE_S, or None."""
    with suppress(subprocess.TimeoutExpired):
        return process.wait(LEAVE_S)
    return None


def _end(process: Process, tree: ProcessTree) -> None:
    """Give a server LEAVE_S to exit by itself, then kill its process tree."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    _exit_code(process)
    tree.end()
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()
