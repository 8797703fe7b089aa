"""The line that tells the model why its command failed in the sandbox, and what it may ask for."""

import re
from typing import Final

from attrs import evolve
from nanocoder import Mode, SessionInfo, ToolCall, ToolResult

_NO_NETWORK: Final = re.compile(
    r"Could not resolve host|[Nn]ame resolution|Name or service not known|getaddrinfo|EAI_AGAIN"
    r"|Network is unreachable|ENETUNREACH|No address associated|failed to lookup address"
    r"|dns error|lookup .* on .*: (?:dial|read) udp|is not among the hosts that the settings allow"
)
_READ_ONLY: Final = re.compile(r"Read-only file system|EROFS|Device or resource busy")
_REFUSED: Final = re.compile(r"Permission denied|EACCES|Operation not permitted|EPERM")
_HOST: Final = re.compile(
    r"(?:host: |host='|host=\"|https?://(?:[^/@\s]*@)?|getaddrinfo \w+ |lookup |')"
    r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)",
    re.IGNORECASE,
)
_OUTSIDE: Final = 'call again with access="outside" and a reason'
_WRITE: Final = 'call again with access="write"'


def with_hint(result: ToolResult, call: ToolCall, session: SessionInfo) -> ToolResult | None:
    """Return the result of a command with what the sandbox refused; None where it refused nothing.

    It names the one next step that a person, or a rule, can agree to.
    """
    access, is_asking = call.arguments.get("access"), session.mode is Mode.ASK
    if access == "outside":
        return None
    hint = ""
    if result.is_error and _NO_NETWORK.search(result.output):
        hint = _network_hint(result.output, session)
    elif "undone" in result.metadata and access != "write" and is_asking:
        hint = f"[nothing of it was kept: to change files, {_WRITE}]"
    elif result.is_error and _READ_ONLY.search(result.output):
        hint = _write_hint(session, may_write=not is_asking or access == "write")
    elif result.is_error and _REFUSED.search(result.output):
        limit = "secrets and files that rules keep back cannot be read there"
        step = "" if session.mode is Mode.PLAN else f", or {_OUTSIDE}"
        hint = f"[this ran in a sandbox ({session.sandbox}): {limit}{step}]"
    if not hint:
        return None
    output = f"{result.output.rstrip()}\n{hint}"
    data = dict(result.data) if isinstance(result.data, dict) else result.data
    return evolve(result, output=output, data=data)  # a new text drops the old data


def _write_hint(session: SessionInfo, *, may_write: bool) -> str:
    limit, step = "the workspace alone can be written", _OUTSIDE
    if session.mode is Mode.PLAN:
        limit, step = "the workspace is read-only", "plan mode changes nothing"
    elif not may_write:
        limit, step = "the workspace is read-only", _WRITE
    return f"[this ran in a sandbox ({session.sandbox}), {limit}: {step}]"


def _network_hint(output: str, session: SessionInfo) -> str:
    host = _HOST.search(output)
    table = f"[plugins.sandbox-{session.sandbox.split()[0]}]"
    change = f'`hosts = ["{host[1] if host else "HOST"}"]` in {table} of the configuration'
    return (
        f"[this ran in a sandbox ({session.sandbox}), which has no network: {_OUTSIDE},"
        f" or the user allows the host: {change}]"
    )
