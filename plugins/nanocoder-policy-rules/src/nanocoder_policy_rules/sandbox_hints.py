"""The line that tells the model why its command failed in the sandbox, and what it may ask for."""

import re
from itertools import islice
from typing import Final

from attrs import evolve
from nanocoder import Mode, SessionInfo, ToolCall, ToolResult

from nanocoder_policy_rules.redaction import with_own_data

_NO_NETWORK: Final = re.compile(
    r"Could not resolve host|[Nn]ame resolution|Name or service not known|getaddrinfo|EAI_AGAIN"
    r"|Network is unreachable|ENETUNREACH|No address associated|failed to lookup address"
    r"|dns error|lookup \S+ on \S+: (?:dial|read) udp"
    r"|is not among the hosts that the settings allow|[Cc]onnection refused|ECONNREFUSED"
    r"|[Cc]ouldn't connect"
    # pip and uv, whose settings here say that there is no network
    r"|No matching distribution found|network was disabled"
)
_REFUSED: Final = re.compile(
    r"Read-only file system|EROFS|Device or resource busy"
    r"|Permission denied|EACCES|Operation not permitted|EPERM"
)
_SAID_BY_PROGRAM: Final = re.compile(
    r"^(?:curl: \(\d+\)|npm (?:error|ERR!)|fatal: |wget: |ERROR: |error: )", re.MULTILINE
)
"""Words of programs whose exit code a pipe has lost; others may be those of a file."""
_OUTSIDE: Final = 'call again with access="outside" and a reason'
_WRITE: Final = 'call again with access="write"'
_KEPT: Final = "protected names and files that a rule keeps from being changed"
_HIDES: Final = "hides secrets and files that a rule denies"
_HIDDEN_OBJECT: Final = re.compile(r"^fatal: unable to read [0-9a-f]{40,}$", re.MULTILINE)
_BETWEEN_PATHS: Final = re.compile(r"[\s:;,'\"`]+")
_MAX_PATHS: Final = 100
_WITHOUT: Final = "leave these files out, as in `git diff --cached -- . ':!.env'`"


def with_hint(result: ToolResult, call: ToolCall, session: SessionInfo) -> ToolResult:
    """Return the result of a command with what the sandbox refused; itself if that is nothing.

    The line names the next step that a person, or a rule, can agree to.
    """
    limit, step = _limit(result, call, session)
    if not limit or call.arguments.get("access") == "outside":
        return result
    if _HIDDEN_OBJECT.search(result.output):
        limit, step = "hides what git has of secret files", _WITHOUT
    elif session.mode is Mode.PLAN:
        step = "plan mode changes nothing and reaches no network"
    elif not session.answered:
        step += "; no user is there to agree, so only a rule can allow that"
    hint = f"[this ran in a sandbox ({session.sandbox}), which {limit}: {step}]"
    return with_own_data(evolve(result, output=f"{result.output.rstrip()}\n{hint}"))


def _limit(result: ToolResult, call: ToolCall, session: SessionInfo) -> tuple[str, str]:
    """Return the limit of the sandbox that a command met and the next step, "" for none."""
    output = result.output
    is_read_only = session.mode is Mode.ASK and call.arguments.get("access") != "write"
    if _NO_NETWORK.search(output) and (result.is_error or _SAID_BY_PROGRAM.search(output)):
        settings = f"`hosts` or `network` in [plugins.sandbox-{session.sandbox.split()[0]}]"
        return (
            "has no network but to servers of this session",
            f"{_OUTSIDE}, or the user allows it by {settings}",
        )
    if is_read_only and "undone" in result.metadata:
        return "keeps nothing that this command changed", f"to change files, {_WRITE}"
    if result.is_error and (_REFUSED.search(output) or _HIDDEN_OBJECT.search(output)):
        if is_read_only:
            elsewhere = 'for paths elsewhere with access="outside" and a reason'
            limit = f"keeps the workspace read-only, and {_HIDES}"
            return limit, f"to change files, {_WRITE}, {elsewhere}"
        limit = f"lets only the workspace be written, but for {_KEPT}, and {_HIDES}"
        return _kept_path(output, call, session) or limit, _OUTSIDE
    return "", ""


def _kept_path(output: str, call: ToolCall, session: SessionInfo) -> str:
    """Return the first path in refusals that a rule keeps as it is, with the rule; "" for none."""
    refusals = filter(_REFUSED.search, output.splitlines())
    words = dict.fromkeys(word for line in refusals for word in _BETWEEN_PATHS.split(line))
    for word in islice(filter(None, words), _MAX_PATHS):
        path = session.resolve(word, call.arguments.get("workdir", "."), literal=True)
        if path.is_inside and (why := session.readable.why_read_only(path.path)):
            return f"keeps {path.path!r} from being changed ({why})"
    return ""
