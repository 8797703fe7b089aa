"""Metrics as text for Prometheus, at a port of this machine; needs the extra `prometheus`."""

from collections.abc import Callable

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from prometheus_client import start_http_server
from prometheus_client.registry import REGISTRY

HOST = "127.0.0.1"


def serve(port: int) -> tuple[PrometheusMetricReader, Callable[[], None]]:
    """Answer at *port* of 127.0.0.1; return the reader, and a function that stops it.

    Raises: OSError for a port that is taken.
    """
    server, thread = start_http_server(port, HOST)
    reader = PrometheusMetricReader()

    def stop() -> None:
        REGISTRY.unregister(reader._collector)  # noqa: SLF001 - it has no way of its own
        server.shutdown()
        server.server_close()
        thread.join()

    return reader, stop
