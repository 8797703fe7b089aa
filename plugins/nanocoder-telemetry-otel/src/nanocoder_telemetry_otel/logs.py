"""Log records of the events that a person on duty needs."""

from collections.abc import Mapping
from typing import Any, Final

from nanocoder import Event, SessionInfo
from opentelemetry._logs import Logger, SeverityNumber

from nanocoder_telemetry_otel import conventions as names

SEVERITIES: Final[Mapping[str, SeverityNumber]] = {
    "session.started": SeverityNumber.INFO,
    "run.finished": SeverityNumber.INFO,
    "session.finished": SeverityNumber.INFO,
    "request.retrying": SeverityNumber.WARN,
    "call.denied": SeverityNumber.WARN,
    "call.failed": SeverityNumber.WARN,
    "transcript.compacted": SeverityNumber.INFO,
    "plugin.failed": SeverityNumber.ERROR,
    "telemetry.failed": SeverityNumber.ERROR,
}
KEYS: Final = {
    "error_class": names.ERROR_TYPE,
    "model": names.REQUEST_MODEL,
    "plugin": names.PLUGIN,
    "stage": names.STAGE,
    "stop_reason": names.STOP_REASON,
    "turns": names.TURN,
}
"""The keys of an event's data that are logged, without texts of a user or a model."""


class Logs:
    """Emits a record for each event that is worth one."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def handle(self, event: Event, session: SessionInfo) -> None:
        """Emit the record of *event*, if it has one."""
        severity = SEVERITIES.get(event.kind)
        if severity is None:
            return
        error = event.data.get("error")
        if error:
            severity = SeverityNumber.ERROR
        attributes: dict[str, Any] = {names.CONVERSATION_ID: session.id}
        attributes |= {
            name: str(event.data[key]) for key, name in KEYS.items() if event.data.get(key)
        }
        if error:
            attributes[names.ERROR_TYPE] = str(error["class"])
        if event.call_id:
            attributes[names.TOOL_CALL_ID] = event.call_id
        self._logger.emit(
            timestamp=int(event.at * 1_000_000_000),
            severity_number=severity,
            severity_text=severity.name,
            body=event.kind,
            event_name=f"nanocoder.{event.kind}",
            attributes=attributes,
        )
