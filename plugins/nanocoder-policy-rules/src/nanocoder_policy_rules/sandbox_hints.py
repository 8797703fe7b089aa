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
_REFUSED: Final = re.compile(
    r"Read-only file system|EROFS|Device or resource busy"
    r"|Permission denied|EACCES|Operation not permitted|EPERM"
)
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
_WRITE: Final = 'call again with access="write"'
_ONLY_A_RULE: Final = "; nobody is there to agree to that, only a rule can"


def with_hint(result: ToolResult, call: ToolCall, session: SessionInfo) -> ToolResult | None:
    """Return the result of a command with what the sandbox refused; None where it refused nothing.

    It names the one next step that a person, or a rule, can agree to.
    """
    access, output = call.arguments.get("access"), result.output
    if access == "outside":
        return None
    is_read_only = session.mode is Mode.ASK and access != "write"
    if _NO_NETWORK.search(output) and (result.is_error or _SAID_BY_PROGRAM.search(output)):
        limit, step = (
            "has no network",
            f"{_OUTSIDE}, or the user allows {_setting(output, session)}",
        )
    elif is_read_only and not _is_elsewhere(output, session) and "undone" in result.metadata:
        limit, step = "keeps nothing that this command changed", f"to change files, {_WRITE}"
    elif result.is_error and _REFUSED.search(output):
        limit = "lets only the workspace be written, but for protected names, and no secret be read"
        step = _OUTSIDE
        if is_read_only and not _is_elsewhere(output, session):
            limit, step = "keeps the workspace read-only", _WRITE
    elif result.is_error and _THIS_MACHINE.search(output):
        limit, step = "reaches servers of this session alone, no others of this machine", _OUTSIDE
    else:
        return None
    if session.mode is Mode.PLAN:
        step = "plan mode changes nothing and reaches no network"
    elif not session.answered:
        step = f"{step}{_ONLY_A_RULE}"
    output = (
        f"{output.rstrip()}\n[this ran in a sandbox ({session.sandbox}), which {limit}: {step}]"
    )
    data = dict(result.data) if isinstance(result.data, dict) else result.data
    return evolve(result, output=output, data=data)  # a new text drops the old data


def _setting(output: str, session: SessionInfo) -> str:
    """Return the setting by which a sandbox lets a command reach the host that it names."""
    name, host = session.sandbox.split()[0], _HOST.search(output)
    value = (
        f'`hosts = ["{host[1] if host else "HOST"}"]`' if name == "bwrap" else "`network = true`"
    )
    return f"it: {value} in [plugins.sandbox-{name}] of the configuration"


def _is_elsewhere(output: str, session: SessionInfo) -> bool:
    """Tell whether all that a command was refused lies outside of the workspace."""
    paths = [match[1] for match in _ELSEWHERE.finditer(output)]
    return bool(paths) and not any(f"{path}/".startswith(f"{session.cwd}/") for path in paths)
