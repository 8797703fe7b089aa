"""The logged events and their fields: digests of arguments and results, not their text."""

from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, Final

from nanocoder import __version__, digest_of
from nanocoder_kit_files.redact import Redactor

PREFIX: Final = "nanocoder-"
REASON_CHARS: Final = 300
REDACTOR: Final = Redactor()


def _started(data: Mapping[str, Any]) -> dict[str, Any]:
    names = ("model", "mode", "cwd", "resumed")
    facts = {name: data[name] for name in names}
    return {"event": "session started", "nanocoder": __version__, **facts}


def _judged(data: Mapping[str, Any]) -> dict[str, Any]:
    plugin = str(data["plugin"])
    return {
        "event": "judged",
        "decision": data["decision"],
        "rule": _text(data["rule"]),
        "source": _text(data["source"]),
        "reason": _text(data["reason"]),
        "plugin": f"{plugin} {_version_of(plugin)}".strip(),
    }


def _request(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"event": "asked", "request": data["id"], "arguments": data["digest"]}


def _approved(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"event": "answered", "answer": "approved", "always": bool(data["always"])}


def _edited(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"event": "answered", "answer": "edited", "arguments": digest_of(data["arguments"])}


def _denied(data: Mapping[str, Any]) -> dict[str, Any]:
    why = {"error_class": data["error_class"], "reason": _text(data["message"])}
    return {"event": "refused", **why}


def _ran(data: Mapping[str, Any]) -> dict[str, Any]:
    output = str(data["output"]).encode("utf-8", "replace")
    return {
        "event": "ran" if data["ran_ms"] else "not run",
        "status": data["status"],
        "error_class": data["error_class"],
        "ran_ms": round(data["ran_ms"], 1),
        "output": sha256(output).hexdigest(),
    }


RECORDS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "session.started": _started,
    "session.changed": lambda data: {"event": "session changed", **data},
    "session.finished": lambda _data: {"event": "session finished"},
    "call.decided": _judged,
    "call.approval_requested": _request,
    "call.approved": _approved,
    "call.edited": _edited,
    "call.denied": _denied,
    "call.returned": _ran,
}
"""The function that makes the record of each logged event."""


@cache
def _version_of(plugin: str) -> str:
    """Return the version of an installed plugin, or "" if its distribution has another name."""
    from importlib import metadata  # many runs make no call

    try:
        return metadata.version(PREFIX + plugin) if plugin else ""
    except metadata.PackageNotFoundError:
        return ""


def _text(value: object) -> str:
    text = REDACTOR.redact(str(value))
    return text if len(text) <= REASON_CHARS else text[:REASON_CHARS] + "…"
