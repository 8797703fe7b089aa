"""Export of sessions' events to an OpenTelemetry collector: traces, metrics and logs.

The hook only puts an event in a queue. A thread of the process, which also imports the SDK, turns
events into spans and measurements and sends them, so a slow or missing collector costs no time.
"""

from collections.abc import Callable
from typing import Any

from nanocoder import Event, Resource, SessionInfo, hookimpl

from nanocoder_telemetry_otel.settings import Settings

UNUSED = frozenset({"text", "thinking", "call.progress", "message"})
"""Kinds of events that no span or measurement needs; most events are of these."""


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.telemetry-otel]."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the way to the collector, which all sessions of the process share."""
    return [Resource("pipeline", _open)]


@hookimpl
def nanocoder_event(
    event: Event, session: SessionInfo, settings: Settings, resource: Callable[[str], Any]
) -> None:
    """Queue the event; raises ConnectionError once where the collector cannot be reached."""
    if event.kind not in UNUSED and settings.is_on:
        resource("pipeline").put(event, session)


def _open(_session: SessionInfo, settings: Settings) -> Any:
    from nanocoder_telemetry_otel.pipeline import lease  # the SDK is needed by none that is off

    return lease(settings)


__all__ = ["Settings"]
