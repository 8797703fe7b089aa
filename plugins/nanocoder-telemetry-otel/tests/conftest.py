"""A collector: it speaks OTLP/HTTP, and reads what arrives with the protocol's own classes."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

MESSAGES = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}


class Collector:
    """Listens at `url`; `spans`, `points` and `records` came to it, in the requests `bodies`."""

    def __init__(self):
        self.requests, self.bodies = [], []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                message = MESSAGES[self.path]()
                message.ParseFromString(body)
                collector.bodies.append(body)
                collector.requests.append(message)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @staticmethod
    def attributes(record):
        """Return the attributes of a span, a data point or a log record."""
        values = {pair.key: pair.value for pair in record.attributes}
        return {key: getattr(value, value.WhichOneof("value")) for key, value in values.items()}

    def _scopes(self, kind, scopes):
        for request in self.requests:
            for resource in getattr(request, kind, ()):
                yield from getattr(resource, scopes)

    @property
    def spans(self):
        scopes = self._scopes("resource_spans", "scope_spans")
        return [span for scope in scopes for span in scope.spans]

    @property
    def points(self):
        """The data points by the name of their metric."""
        metrics = {}
        for scope in self._scopes("resource_metrics", "scope_metrics"):
            for metric in scope.metrics:
                data = getattr(metric, metric.WhichOneof("data"))
                metrics.setdefault(metric.name, []).extend(data.data_points)
        return metrics

    @property
    def records(self):
        scopes = self._scopes("resource_logs", "scope_logs")
        return [record for scope in scopes for record in scope.log_records]

    def tree(self):
        """Return the names of all spans, nested as their parents say, in order of their starts."""
        children = {}
        for span in sorted(self.spans, key=lambda span: span.start_time_unix_nano):
            children.setdefault(span.parent_span_id, []).append(span)

        def below(parent):
            return [(span.name, below(span.span_id)) for span in children.get(parent, [])]

        return below(b"")


@pytest.fixture
def collector():
    server = Collector()
    yield server
    server.close()
