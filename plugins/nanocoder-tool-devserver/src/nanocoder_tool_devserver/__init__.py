"""The tool dev_server: servers in the background, ended with the session or with nanocoder."""

import os
import time
from pathlib import Path
from typing import Annotated, Any, Literal

from attrs import field, frozen
from nanocoder import (
    Effect,
    Param,
    Resource,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)
from nanocoder_kit_process import environment

from nanocoder_tool_devserver.servers import Server, Servers, is_listening

MAX_PORT = 65_535
POLL_S = 0.1
STATUS_LINES = 5
LOG_LINES = 40
BASH = "/bin/bash"
SH = "/bin/sh"

NEEDED = {"start": "command", "stop": "id", "check_port": "port"}

Action = Literal["start", "stop", "status", "check_port"]


@frozen
class Settings:
    """The settings of `[plugins.tool-devserver]`.

    *environment*: names of variables that servers get besides the usual ones, secrets included.
    *ready_s*: seconds to wait until a server listens on its port; *quiet_s*: seconds to wait for an
    early exit of a server without a port.
    """

    environment: tuple[str, ...] = field(default=(), metadata={"user_only": True})
    ready_s: float = 15.0
    quiet_s: float = 1.0


@tool(
    risk="medium",
    effects={Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK},
    timeout_s=0,
    repeatable=True,
    commands=("command",),
    examples=[
        {"action": "status"},
        {"action": "check_port", "port": 3000},
    ],
)
def dev_server(
    ctx: ToolContext,
    action: Annotated[Action, "What to do."],
    command: Annotated[str, "To start."] = "",
    port: Annotated[int, Param("To listen on.", ge=0, le=MAX_PORT)] = 0,
    id: Annotated[str, "Server."] = "",  # noqa: A002 - the name in the tool's schema
) -> ToolResult:
    """Run background servers."""
    if action == "start":
        return _start(ctx, command, port)
    servers: Servers = ctx.resource("servers")
    if action == "stop":
        return _stop(servers, id)
    if action == "check_port":
        return _check_port(servers, port)
    return _status(servers, id)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer dev_server."""
    return [dev_server]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-devserver]`."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide a session's servers, which stop with the session."""
    return [Resource("servers", _open_servers)]


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, session: SessionInfo) -> str | None:
    """Show the command as it would be run, and where.

    Raises: ToolError when something is missing.
    """
    if call.name != dev_server.name or result is not None:
        return None
    arguments = dev_server.signature.check(call.arguments)
    action = arguments["action"]
    needed = NEEDED.get(action, "")
    if needed and not str(arguments[needed] or "").strip():
        raise _missing_error(needed, action)
    if action != "start":
        return None
    return f"{arguments['command']}\n(in the background, in {session.cwd})"


def _open_servers(_session: SessionInfo, _settings: Any) -> Servers:
    return Servers()


def _start(ctx: ToolContext, command: str, port: int) -> ToolResult:
    if not command.strip():
        raise _missing_error("command", "start")
    if port and is_listening(port):
        raise ToolError(
            f"port {port} is taken: something listens there already; stop it or use another",
            error_class="port_in_use",
        )
    settings: Settings = ctx.settings or Settings()
    root = ctx.workspace.root
    # BROWSER=none prevents development servers from opening a browser.
    env = environment(os.environ, settings.environment, workspace=root) | {"BROWSER": "none"}
    env |= {"PORT": str(port)} if port else {}
    shell = [BASH, "--norc", "--noprofile", "-c"] if Path(BASH).exists() else [SH, "-c"]
    ctx.cancelled.check()
    argv = ctx.wrap([*shell, command], [port] if port else [])
    # Opened after the sandbox, the servers are stopped before it is closed.
    servers: Servers = ctx.resource("servers")
    server = servers.run(command, argv, ctx.working_directory, env, port)
    try:
        ready = _wait(ctx, server, settings)
    except BaseException:
        servers.forget(server)
        server.stop()
        raise
    return _start_result(servers, server, ready=ready)


def _wait(ctx: ToolContext, server: Server, settings: Settings) -> bool:
    """Wait until *server* listens, has ended, or time is up; tell whether it listens."""
    deadline = time.monotonic() + (settings.ready_s if server.port else settings.quiet_s)
    while time.monotonic() < deadline and server.exit_code is None:
        if server.port and server.listens_on(server.port):
            return True
        ctx.cancelled.wait(POLL_S)
        ctx.cancelled.check()
    return False


def _start_result(servers: Servers, server: Server, *, ready: bool) -> ToolResult:
    code = server.exit_code
    if code is not None:
        server.stop()
        servers.forget(server)
        return _result(
            f"The server ended at once with exit code {code}.\n{server.log(LOG_LINES)}".rstrip(),
            server,
            error_class="server_ended",
        )
    state = f"runs as {server.id}"
    if ready:
        state += f" and listens on port {server.port}"
        if not is_listening(server.port):
            state += (
                " inside the sandbox: check it with bash, as in"
                f" `curl http://127.0.0.1:{server.port}`; http_check and browsers do not reach it"
            )
    elif server.port:
        state += f", but nothing listens on port {server.port} yet; look again with status"
    log = server.log(STATUS_LINES)
    return _result(f"The server {state}." + (f"\n{log}" if log else ""), server, is_ready=ready)


def _stop(servers: Servers, identity: str) -> ToolResult:
    if not identity:
        raise _missing_error("id", "stop")
    server = servers.get(identity)
    was_running = server.stop()
    servers.forget(server)
    how = "and all of its processes were stopped" if was_running else "had ended already"
    return _result(f"{server.id} {how}.", server)


def _status(servers: Servers, identity: str) -> ToolResult:
    servers_shown = [servers.get(identity)] if identity else servers.all()
    lines = LOG_LINES if identity else STATUS_LINES
    parts = [
        "\n".join(filter(None, [_headline(server), *_indent(server.log(lines))]))
        for server in servers_shown
    ]
    return ToolResult(
        "\n".join(parts) or "No server was started.",
        title="Servers",
        data={"servers": [_data(server) for server in servers_shown]},
    )


def _check_port(servers: Servers, port: int) -> ToolResult:
    if not port:
        raise _missing_error("port", "check_port")
    in_use = is_listening(port) or any(each.listens_on(port) for each in servers.all())
    return ToolResult(
        f"Something listens on port {port}." if in_use else f"Port {port} is free.",
        title=f"Port {port}",
        data={"port": port, "in_use": in_use},
    )


def _headline(server: Server) -> str:
    code = server.exit_code
    state = "running" if code is None else f"ended with exit code {code}"
    port = ""
    if server.port:
        listens = code is None and server.listens_on(server.port)
        port = f", port {server.port} ({'listening' if listens else 'nothing listens'})"
    return f"{server.id}: {state}, {server.uptime_s:.0f} s{port}: {server.command}"


def _indent(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def _data(server: Server) -> dict[str, Any]:
    return {
        "id": server.id,
        "command": server.command,
        "port": server.port,
        "uptime_s": round(server.uptime_s, 1),
        "exit_code": server.exit_code,
    }


def _result(
    output: str, server: Server, *, is_ready: bool = False, error_class: str = ""
) -> ToolResult:
    return ToolResult(
        output,
        title=server.id,
        data={**_data(server), "is_ready": is_ready},
        is_error=bool(error_class),
        error_class=error_class,
    )


def _missing_error(name: str, action: str) -> ToolError:
    return ToolError(f"{action} needs {name!r}", error_class="invalid_arguments")
