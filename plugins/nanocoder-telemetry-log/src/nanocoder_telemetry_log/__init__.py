"""Log of sessions' events in a file: a JSON object a line, without secrets."""

from collections.abc import Callable
from typing import Any

from attrs import field, frozen, validators
from nanocoder import Event, PluginError, Resource, SessionInfo, hookimpl

from nanocoder_telemetry_log.log_file import LogFile
from nanocoder_telemetry_log.records import record_of

LEVELS = ("debug", "info", "warning", "error")
UNUSED = frozenset({"text", "thinking", "call.progress", "message"})
"""Kinds of events that come often and have nothing to log but text."""


def _validate_file(_: object, __: object, value: str) -> None:
    if value and not value.startswith(("/", "~")):
        raise ValueError(f"{value!r} must begin with / or ~; sessions run in many directories")


def _private(description: str) -> dict[str, Any]:
    return {"user_only": True, "description": description}


@frozen
class Settings:
    """The table [plugins.telemetry-log]."""

    level: str = field(
        default="info",
        validator=validators.in_(LEVELS),
        metadata=_private(f"Which events are written, from this level up: {', '.join(LEVELS)}."),
    )
    file: str = field(
        default="",
        validator=_validate_file,
        metadata=_private("The file; log/nanocoder.jsonl in the state directory if empty."),
    )
    max_bytes: int = field(
        default=5_000_000,
        validator=validators.ge(10_000),
        metadata=_private("How long the file gets before a new one is begun."),
    )
    keep: int = field(
        default=5,
        validator=validators.and_(validators.ge(0), validators.le(99)),
        metadata=_private("How many earlier files are kept, as FILE.1 and so on."),
    )
    texts: bool = field(
        default=False,
        metadata=_private("Whether reasons and messages are written, with secrets removed."),
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.telemetry-log]."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the log file."""
    return [Resource("log", _open)]


@hookimpl
def nanocoder_event(
    event: Event, session: SessionInfo, settings: Settings, resource: Callable[[str], Any]
) -> None:
    """Write the event as a line, if it is important enough; raises PluginError."""
    if event.kind in UNUSED:
        return

    log = resource("log")
    record = record_of(event, session, log.tools, has_texts=settings.texts)
    if LEVELS.index(record["level"]) >= LEVELS.index(settings.level):
        try:
            log.append(record)
        except OSError as error:
            problem = f"{log.path} cannot be written: {error.strerror or error}"
            raise PluginError("telemetry-log", problem) from error


def _open(_session: SessionInfo, settings: Settings) -> Any:
    return LogFile(settings.file, settings.max_bytes, settings.keep)


__all__ = ["Settings"]
