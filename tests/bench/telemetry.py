"""Measure what telemetry costs a run: time, CPU time, and what the collector receives.

    python tests/bench/telemetry.py [--runs N] [--bin DIR] [--write]

A run of 200 calls is played without telemetry, with `telemetry-log`, and with `telemetry-otel` to a
collector in a process of its own, in turn. The scripted model of `measure.py` answers at once, or
as late as a fast hosted model does; a run without waiting shows the most that telemetry can cost.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from measure import Bench, make_repository, script, serving, write

CALLS: Final = 200
DELAYS_S: Final = (0.0, 0.2)
NOTHING: Final = '[plugins]\ndisable = ["telemetry-log", "telemetry-otel"]\n'
LOG: Final = '[plugins]\ndisable = ["telemetry-otel"]\n'
OTEL: Final = """[plugins]
disable = ["telemetry-log"]
[plugins.telemetry-otel]
endpoint = "http://127.0.0.1:{port}"
"""


class Collector:
    """An OTLP/HTTP receiver in a process of its own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--collect"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self._ask(""))

    def spans(self) -> Mapping[str, int]:
        """Return how many spans of each operation came since the last time."""
        return dict(json.loads(self._ask("?\n")))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return self._process.stdout.readline()


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector for the length of a block."""
    collector = Collector()
    try:
        yield collector
    finally:
        collector.close()


def collect() -> None:
    """Receive spans until standard input ends; a line there asks for their numbers."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
    )

    names: Counter[str] = Counter()

    class Receiver(BaseHTTPRequestHandler):
        """Answers every export with 200."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Count the spans of a request."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        names.update(span.name.split()[0] for span in scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    for _ in sys.stdin:
        print(json.dumps(names), flush=True)
        names.clear()


def overhead(bench: Bench, calls: int, delay_s: float, collector: Collector) -> None:
    """Note what each kind of telemetry adds to a run of *calls* calls, in parts of the run.

    Raises SystemExit when the collector did not receive a span for each call.
    """
    folder = Path(bench.environment["HOME"]) / ".config" / "nanocoder"
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {"telemetry-log": LOG, "telemetry-otel": OTEL.format(port=collector.port)}
    turns: list[dict[str, Any]] = [{**turn, "delay_s": delay_s} for turn in script(calls)]
    with serving([*turns, {"text": "done"}]) as server:
        command = bench.ask(server.port)

        def once(configuration: str) -> tuple[float, float]:
            (folder / "config.toml").write_text(configuration)
            make_repository(bench.work)
            wall, cpu, _ = bench.once(*command)
            return wall, cpu

        once(NOTHING)
        rounds = []
        for _ in range(bench.runs):
            plain = once(NOTHING)
            rounds.append((plain, {kind: once(text) for kind, text in kinds.items()}))
            spans = collector.spans()
            if spans.get("execute_tool") != calls:
                raise SystemExit(f"the collector received {spans}, not {calls} calls")
    what = f"{calls} calls, replies after {delay_s:g} s"
    wall = statistics.median(plain[0] for plain, _ in rounds)
    bench.note(f"{what}: no telemetry", f"{wall:.2f} s")
    for kind in kinds:
        bench.note(f"{what}: {kind}", *_beside([(plain, by[kind]) for plain, by in rounds]))


def _beside(pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> tuple[str, str]:
    wall = statistics.median(with_it[0] / plain[0] - 1 for plain, with_it in pairs)
    cpu = statistics.median(with_it[1] - plain[1] for plain, with_it in pairs)
    return f"{wall:+.1%}", f"CPU time {cpu * 1000:+.0f} ms"


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--collect", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.collect:
        collect()
        return
    with tempfile.TemporaryDirectory() as scratch, collecting() as collector:
        bench = Bench(options.bin.absolute(), options.runs, Path(scratch))
        make_repository(bench.work)
        for delay_s in DELAYS_S:
            overhead(bench, CALLS, delay_s, collector)
    if options.write:
        write(bench.rows, "telemetry")


if __name__ == "__main__":
    main()
