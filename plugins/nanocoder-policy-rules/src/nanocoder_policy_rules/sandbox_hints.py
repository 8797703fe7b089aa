"""The line that tells the model why its command failed in the sandbox, and what it may ask for."""

import re
from typing import Final

from attrs import evolve
from nanocoder import Mode, SessionInfo, ToolCall, ToolResult

_NO_NETWORK: Final = re.compile(
    r"Could not resolve host|[Nn]ame resolution|Name or service not known|getaddrinfo|EAI_AGAIN"
    r"|Network is unreachable|ENETUNREACH|No address associated|failed to lookup address"
    r"|dns error|lookup .* on .*: (?:dial|read) udp|is not among the hosts that the settings allow"
    # pip and uv, whose settings here say that there is no network
    r"|No matching distribution found|network was disabled"
)
_THIS_MACHINE: Final = re.compile(
    r"(?:127\.0\.0\.1|localhost|::1)\b.*(?:[Cc]onnection refused|[Cc]ouldn't connect|ECONNREFUSED)"
    r"|(?:[Cc]onnection refused|ECONNREFUSED).*(?:127\.0\.0\.1|localhost|::1)\b"
)
_READ_ONLY: Final = re.compile(r"Read-only file system|EROFS|Device or resource busy")
_REFUSED: Final = re.compile(r"Permission denied|EACCES|Operation not permitted|EPERM")
_HOST: Final = re.compile(
    r"(?:host: |host='|host=\"|https?://(?:[^/@\s]*@)?|getaddrinfo \w+ |lookup |')"
    r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)",
    re.IGNORECASE,
)
_SAID_BY_PROGRAM: Final = re.compile(
    r"^(?:curl: \(\d+\)|npm (?:error|ERR!)|fatal: |wget: |ERROR: |error: )", re.MULTILINE
)
"""Words of programs whose exit code a pipe has lost; others may be those of a file."""
_ELSEWHERE: Final = re.compile(
    r"(?:^|[\s'\"\u2018:])((?:/|~/|\.\./)[^'\"\u2019:\n]*)"
    r".*?(?:Read-only|EROFS|Permission denied|EACCES)",
    re.MULTILINE,
)
"""A path that is not relative to the working directory, in a line about a refusal."""
_OUTSIDE: Final = 'call again with access="outside" and a reason'
_KNOWS_HOSTS: Final = "bwrap"
_NETWORK: Final = "network = true"
_WRITE: Final = 'call again with access="write"'
_ONLY_A_RULE: Final = "; nobody is there to agree to that, only a rule can]"


def with_hint(result: ToolResult, call: ToolCall, session: SessionInfo) -> ToolResult | None:
    """Return the result of a command with what the sandbox refused; None where it refused nothing.

    It names the one next step that a person, or a rule, can agree to.
    """
    access, is_asking = call.arguments.get("access"), session.mode is Mode.ASK
    if access == "outside":
        return None
    hint, output = "", result.output
    is_elsewhere = _is_elsewhere(output, session)
    if _NO_NETWORK.search(output) and (result.is_error or _SAID_BY_PROGRAM.search(output)):
        hint = _network_hint(output, session)
    elif "undone" in result.metadata and access != "write" and is_asking and not is_elsewhere:
        hint = f"[nothing of it was kept: to change files, {_WRITE}]"
    elif result.is_error and _READ_ONLY.search(output):
        hint = _write_hint(session, may_write=not is_asking or access == "write" or is_elsewhere)
    elif result.is_error and _REFUSED.search(output):
        limit = "only the workspace can be written, but for protected names, and no secret be read"
        step = "" if session.mode is Mode.PLAN else f"; for anything else {_OUTSIDE}"
        hint = f"[this ran in a sandbox ({session.sandbox}): {limit}{step}]"
    elif result.is_error and _THIS_MACHINE.search(output):
        limit = "which reaches servers of this session alone, no others of this machine"
        hint = f"[this ran in a sandbox ({session.sandbox}), {limit}: {_OUTSIDE}]"
    if not hint:
        return None
    if "access=" in hint and not session.answered:
        hint = f"{hint.removesuffix(']')}{_ONLY_A_RULE}"
    output = f"{output.rstrip()}\n{hint}"
    data = dict(result.data) if isinstance(result.data, dict) else result.data
    return evolve(result, output=output, data=data)  # a new text drops the old data


def _write_hint(session: SessionInfo, *, may_write: bool) -> str:
    limit, step = "the workspace alone can be written, but for protected names", _OUTSIDE
    if session.mode is Mode.PLAN:
        limit, step = "the workspace is read-only", "plan mode changes nothing"
    elif not may_write:
        limit, step = "the workspace is read-only", _WRITE
    return f"[this ran in a sandbox ({session.sandbox}), {limit}: {step}]"


def _network_hint(output: str, session: SessionInfo) -> str:
    host, name = _HOST.search(output), session.sandbox.split()[0]
    setting = f'the host: `hosts = ["{host[1] if host else "HOST"}"]`'
    if name != _KNOWS_HOSTS:
        setting = f"it: `{_NETWORK}`"
    change = f"{setting} in [plugins.sandbox-{name}] of the configuration"
    step = "plan mode reaches none" if session.mode is Mode.PLAN else _OUTSIDE
    return (
        f"[this ran in a sandbox ({session.sandbox}), which has no network: {step},"
        f" or the user allows {change}]"
    )


def _is_elsewhere(output: str, session: SessionInfo) -> bool:
    """Tell whether all that a command was refused lies outside of the workspace."""
    paths = [match[1] for match in _ELSEWHERE.finditer(output)]
    return bool(paths) and not any(f"{path}/".startswith(f"{session.cwd}/") for path in paths)
