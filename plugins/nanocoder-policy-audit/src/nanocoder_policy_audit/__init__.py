"""Writes down every call: who asked for it, which rule decided, who agreed, how it ended."""

import getpass
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nanocoder import (
    Argument,
    Command,
    Decision,
    Event,
    Host,
    PluginError,
    Resource,
    SessionInfo,
    Tool,
    ToolCall,
    Verdict,
    digest_of,
    hookimpl,
)

from nanocoder_policy_audit.log import LogError
from nanocoder_policy_audit.records import RECORDS
from nanocoder_policy_audit.settings import Settings

if TYPE_CHECKING:
    from argparse import Namespace


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-audit]."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the log, open for one session."""
    return [Resource("log", lambda _session, settings: settings.open_log())]


@hookimpl
def nanocoder_before_execute(
    call: ToolCall,
    tool: Tool[..., Any],
    session: SessionInfo,
    settings: Settings,
    resource: Callable[[str], Any],
) -> Verdict | None:
    """Write the call down before it can run; deny it where that fails and the log is required."""
    if session.is_trial:  # as for `policy explain`: the tool was not called
        return None
    is_model = session.model and not (call.typed or call.edited)
    record = {
        "event": "called",
        **_session_ids(session, call.id),
        "actor": f"model {session.model}" if is_model else f"person {_user()}",
        "tool": call.name,
        "plugin": f"{tool.plugin} {tool.version}".strip(),
        "parent": call.parent_id,
        "arguments": digest_of(call.arguments),
    }
    try:
        resource("log").append(record, sync=True)
    except LogError as error:
        if not settings.required:
            return None  # nanocoder_event reports it
        return Verdict(
            Decision.DENY,
            f"the audit log cannot be written, and plugins.policy-audit.required is set: {error}",
            rule="required",
            source="plugins.policy-audit.required",
        )
    return None


@hookimpl(
    events=[
        *("session.started", "session.changed", "session.finished"),
        *("call.decided", "call.approval_requested", "call.approved", "call.edited"),
        *("call.denied", "call.returned"),
    ]
)
def nanocoder_event(event: Event, session: SessionInfo, resource: Callable[[str], Any]) -> None:
    """Log the outcome of a call, and the begin and end of a session; raises PluginError."""
    record = RECORDS[event.kind](event.data)
    record = {"event": record.pop("event"), **_session_ids(session, event.call_id), **record}
    if record["event"] == "answered":
        record["actor"] = f"person {_user()}" if session.interactive else "no person"
    try:
        resource("log").append(record, sync=record["event"] in {"answered", "ran"})
    except LogError as error:
        raise PluginError("policy-audit", f"the log cannot be written: {error}") from error


def _session_ids(session: SessionInfo, call_id: str) -> dict[str, str]:
    sessions = {"session": session.id, "parent_session": session.parent, "agent": session.agent}
    return {name: value for name, value in {**sessions, "call": call_id}.items() if value}


@cache
def _user() -> str:
    try:
        return f"{getpass.getuser()} ({os.getuid()})"
    except (KeyError, OSError):  # a container's user without an entry
        return f"({os.getuid()})"


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the group `audit`."""
    file = Argument("file", "a log; by default your own", count="?", metavar="FILE")
    output = Argument("--output", "text or json", default="text", choices=("text", "json"))
    return [
        Command("audit", "show, verify and export the log of calls, and list what was loaded"),
        Command(
            "audit show",
            "print the log, a line for each record",
            _lazy("show"),
            (
                file,
                Argument("--session", "only records of this session", metavar="ID"),
                output,
            ),
        ),
        Command(
            "audit verify",
            "find a byte that was changed, and records that are missing",
            _lazy("verify"),
            (file, Argument("--head", "a hash that the log must contain", metavar="HASH"), output),
        ),
        Command(
            "audit head", "print the hash of the last record, to keep elsewhere", _lazy("head")
        ),
        Command(
            "audit export",
            "copy the verified log to a file, signed with a key of yours",
            _lazy("export"),
            (
                Argument("file", "the new file", metavar="FILE"),
                Argument("--sign", "a private key of ssh-keygen", metavar="KEY"),
            ),
        ),
        Command(
            "audit sbom",
            "print what is loaded as a bill of materials (CycloneDX, JSON)",
            lambda arguments, host: _run("commands.sbom", "print_sbom", arguments, host),
        ),
    ]


def _lazy(action: str) -> Callable[["Namespace", Host], int]:
    return lambda arguments, host: _run("commands", action, arguments, host)


def _run(module: str, function: str, arguments: "Namespace", host: Host) -> int:
    """Run a command; its module is imported when it runs."""
    code: int = getattr(import_module(f"{__name__}.{module}"), function)(arguments, host)
    return code


__all__ = ["Settings"]
