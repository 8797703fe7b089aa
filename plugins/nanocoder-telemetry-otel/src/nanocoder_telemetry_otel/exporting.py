"""The SDK as this plugin uses it: finished spans and logs are collected, and sent in batches.

Imported only by the pipeline's thread; it costs about 0.1 s.
"""

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from nanocoder import Event, SessionInfo
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor, ReadWriteLogRecord
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

from nanocoder_telemetry_otel import conventions as names
from nanocoder_telemetry_otel.logs import Logs
from nanocoder_telemetry_otel.measurements import Measurements
from nanocoder_telemetry_otel.settings import Settings
from nanocoder_telemetry_otel.spans import Spans

BATCH: Final = 512
"""Number of finished spans or logs that are sent at once, without waiting for others."""
TIMEOUT_S: Final = 2.0
"""Timeout of one request to the collector with its retries, in seconds."""
SCOPE: Final = "nanocoder"


class Maker(Protocol):
    """Makes something of each event: spans, measurements or log records."""

    def handle(self, event: Event, session: SessionInfo) -> None:
        """Record *event*."""


class Exporting:
    """Turns each event into spans, measurements and logs, and sends them."""

    def __init__(self, settings: Settings) -> None:
        _silence_sdk()
        self._address = settings.address
        self._spans, self._logs = _Spans(), _Logs()
        resource = Resource.create({"service.name": settings.service_name})
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._tracers.add_span_processor(self._spans)
        self._loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
        self._loggers.add_log_record_processor(self._logs)
        self._readers, self._stop_server = _readers_of(settings)
        self._meters = MeterProvider(self._readers, resource=resource, shutdown_on_exit=False)
        self._measurements = Measurements(
            self._meters.get_meter(SCOPE, schema_url=names.SCHEMA_URL)
        )
        self._makers: list[Maker] = [
            Spans(self._tracers.get_tracer(SCOPE, schema_url=names.SCHEMA_URL), settings.content),
            self._measurements,
            Logs(self._loggers.get_logger(SCOPE, schema_url=names.SCHEMA_URL)),
        ]
        self._senders = _senders_of(settings)
        self._lost = 0

    @property
    def is_full(self) -> bool:
        """True if a batch is ready to be sent."""
        return max(len(self._spans.finished), len(self._logs.finished)) >= BATCH

    def handle(self, event: Event, session: SessionInfo) -> None:
        """Turn an event into spans, measurements and logs; ignore an invalid one."""
        for maker in self._makers:
            # An invalid event of a plugin must not end the thread.
            with suppress(KeyError, TypeError, ValueError, AttributeError):
                maker.handle(event, session)

    def count_dropped(self, events: int) -> None:
        """Measure how many events and records were lost so far."""
        self._measurements.set_dropped(events + self._lost)

    def send(self) -> str:
        """Send all that is finished; return why it could not be sent, or ""."""
        spans, self._spans.finished = self._spans.finished, []
        logs, self._logs.finished = self._logs.finished, []
        if not self._senders:
            return ""
        is_sent = self._send("traces", spans) and self._send("logs", logs)
        if is_sent and "metrics" in self._senders:
            is_sent = all(reader.force_flush(TIMEOUT_S * 1_000) for reader in self._readers)
        if is_sent:
            return ""
        return f"the collector at {self._address} takes no telemetry"

    def close(self) -> None:
        """Stop answering Prometheus."""
        self._stop_server()

    def _send(self, signal: str, records: Sequence[Any]) -> bool:
        sender = self._senders.get(signal)
        if not records or sender is None:
            return True
        result = sender.export(records)
        is_sent: bool = result.value == SpanExportResult.SUCCESS.value  # logs have an equal class
        self._lost += 0 if is_sent else len(records)
        return is_sent


class _Spans(SpanProcessor):
    """Buffers finished spans until they are sent."""

    def __init__(self) -> None:
        self.finished: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.finished.append(span)


class _Logs(LogRecordProcessor):
    """Buffers log records until they are sent."""

    def __init__(self) -> None:
        self.finished: list[ReadWriteLogRecord] = []

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        self.finished.append(log_record)

    def shutdown(self) -> None:
        """Do nothing: there is nothing to close."""

    def force_flush(self, timeout_millis: int = 0) -> bool:  # noqa: ARG002 - the SDK's signature
        return True


def _senders_of(settings: Settings) -> dict[str, Any]:
    if not settings.address:
        return {}
    makers: dict[str, Callable[..., Any]] = {"traces": OTLPSpanExporter, "logs": OTLPLogExporter}
    senders = {
        signal: make(endpoint=f"{settings.address}/v1/{signal}", timeout=TIMEOUT_S)
        for signal, make in makers.items()
        if signal in settings.signals
    }
    return {**senders, "metrics": None} if "metrics" in settings.signals else senders


def _readers_of(settings: Settings) -> tuple[list[MetricReader], Callable[[], None]]:
    """Return the readers of metrics, and a function that stops the server for Prometheus.

    Raises: OSError for a port in use, ImportError without the extra.
    """
    readers: list[MetricReader] = []
    if settings.address and "metrics" in settings.signals:
        exporter = OTLPMetricExporter(endpoint=f"{settings.address}/v1/metrics", timeout=TIMEOUT_S)
        # Without an interval the reader has no thread, and sends when it is flushed.
        readers.append(PeriodicExportingMetricReader(exporter, math.inf, TIMEOUT_S * 1_000))
    if not settings.prometheus_port:
        return readers, lambda: None
    from nanocoder_telemetry_otel.prometheus import serve

    reader, stop = serve(settings.prometheus_port)
    return [*readers, reader], stop


def _silence_sdk() -> None:
    """Silence the SDK's messages on the terminal about a collector that does not answer."""
    logger = logging.getLogger("opentelemetry")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
