"""Measure what telemetry adds to a session of 200 calls.

    python tests/bench/telemetry.py [--calls N] [--runs N] [--answer-ms N] [--json FILE]

The same scripted session runs with and without an address to send traces, metrics and logs to, in
turn. The collector is a process of its own that takes and drops everything. The model answers
after *answer-ms*; real ones take longer, so the share of telemetry is smaller there. Times are the
medians of whole processes, their start and the last request to the collector counted. Nothing here
asserts a figure.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NANOCODER = str(Path(sys.executable).with_name("nanocoder"))
VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
COLLECTOR = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def main() -> None:
    """Run both ways in turn and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--answer-ms", type=float, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with subprocess.Popen(
        [sys.executable, "-I", "-c", COLLECTOR], stdout=subprocess.PIPE, text=True
    ) as collector:
        try:
            assert collector.stdout is not None
            address = f"http://127.0.0.1:{int(collector.stdout.readline())}"
            figures = measure(address, options.calls, options.runs, options.answer_ms / 1_000)
        finally:
            collector.terminate()
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def measure(address: str, calls: int, runs: int, answer_s: float) -> dict[str, Any]:
    """Return the median times of both ways, and what telemetry adds."""
    rows: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_session(folder, calls, answer_s)
        for number in range(runs + 1):
            for way, variables in (("without", {}), ("with", {VARIABLE: address})):
                row = run(folder, variables)
                if number:  # the first ones fill caches
                    rows[way].append(row)
    wall, cpu = (
        {way: statistics.median(row[place] for row in rows[way]) for way in rows}
        for place in (0, 1)
    )
    return {
        "calls": calls,
        "answer_ms": answer_s * 1_000,
        "wall_s": {way: round(seconds, 3) for way, seconds in wall.items()},
        "cpu_s": {way: round(seconds, 3) for way, seconds in cpu.items()},
        "added_percent": round(100 * (wall["with"] / wall["without"] - 1), 2),
        "added_cpu_ms_a_call": round(1_000 * (cpu["with"] - cpu["without"]) / calls, 3),
    }


def write_session(folder: Path, calls: int, answer_s: float) -> None:
    """Write a script in which a model writes a file with each call."""
    for name in ("home", "work"):
        (folder / name).mkdir()
    # Calls that differ: the same one again and again would be refused as a repetition.
    turns: list[dict[str, Any]] = [
        {
            "calls": [{"name": "write_file", "arguments": {"path": f"{n}.txt", "content": f"{n}"}}],
            "delay_s": answer_s,
        }
        for n in range(calls)
    ]
    turns.append({"text": "done"})
    (folder / "script.json").write_text(json.dumps({"turns": turns}), encoding="utf-8")


def run(folder: Path, variables: dict[str, str]) -> tuple[float, float]:
    """Run the session and return its wall and CPU time in seconds."""
    words = ["run", "--model", f"scripted/{folder}/script.json", "--mode", "auto"]
    words += ["--max-turns", "1000", "--output", "json", "work"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [NANOCODER, *words],
        cwd=folder / "work",
        env={**os.environ, "HOME": str(folder / "home"), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    wall_s = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    for path in (folder / "work").iterdir():
        path.unlink()
    return wall_s, cpu_s


if __name__ == "__main__":
    main()
