"""Draw docs/explanation/trace.svg: a session with a sub-agent, as a collector gets it.

    python tests/bench/trace_picture.py [FILE]

nanocoder runs a scripted model as a process and sends its spans by OTLP/HTTP to a collector in
this one, which draws them: a row for each span, in the order of their starts, below its parent.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PICTURE = Path(__file__).parents[2] / "docs/explanation/trace.svg"
WIDTH, LABEL, ROW, TOP = 1_000, 330, 22, 40
INDENT: Final = 14
DELAY_S: Final = 0.4
"""How long the scripted model takes for each answer; a real one takes seconds."""
COLOURS: Final = {"chat": "#2f6f9f", "execute_tool": "#3d8a57", "session": "#8a6d3d"}
PLACE: Final = re.compile(r"/\S*/")
"""The folder of the scripts, which are the models here; it is another one each time."""
READ = {"name": "read_file", "arguments": {"path": "shop.py"}}
TASK = {
    "name": "task",
    "arguments": {"description": "find the callers", "prompt": "Which files use price()?"},
}
EDIT = {
    "name": "edit_file",
    "arguments": {"path": "shop.py", "old_string": "price", "new_string": "net_price"},
}
OUTER = [{"calls": [READ]}, {"calls": [TASK]}, {"calls": [EDIT]}, {"text": "Renamed."}]
GREP = {"name": "grep", "arguments": {"pattern": r"price\("}}
INNER = [{"calls": [GREP]}, {"text": "Only shop.py does."}]


def collected(folder: Path) -> list[Any]:
    """Run the session in *folder* and return its spans."""
    spans: list[Any] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    spans.extend(span for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run(folder, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    return spans


def run(folder: Path, endpoint: str) -> None:
    """Run nanocoder once; the sub-agent has a script of its own."""
    (folder / "shop.py").write_text("def price(item):\n    return item.net\n")
    for name, turns in (("outer", OUTER), ("inner", INNER)):
        slow = [{**turn, "delay_s": DELAY_S} for turn in turns]
        (folder / f"{name}.json").write_text(json.dumps({"turns": slow}))
    config = folder / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[plugins.tool-task]\nmodel = "scripted/{folder}/inner.json"\n')
    command = [str(Path(sys.executable).with_name("nanocoder")), "run", "--mode", "auto"]
    command += ["--model", f"scripted/{folder}/outer.json", "Rename price to net_price"]
    environment = {**os.environ, "HOME": str(folder), "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def in_order(spans: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each span with its depth, parents before what is below them."""
    below: dict[bytes, list[Any]] = {}
    for span in sorted(spans, key=lambda span: span.start_time_unix_nano):
        below.setdefault(span.parent_span_id, []).append(span)

    def walk(parent: bytes, depth: int) -> Iterator[tuple[int, Any]]:
        for span in below.get(parent, []):
            yield depth, span
            yield from walk(span.span_id, depth + 1)

    yield from walk(b"", 0)


def name_of(span: Any) -> str:
    """Return a span's name for the picture."""
    return escape(PLACE.sub("", span.name))


def drawn(spans: Sequence[Any]) -> str:
    """Return the picture."""
    rows = list(in_order(spans))
    start = min(span.start_time_unix_nano for _, span in rows)
    whole = max(span.end_time_unix_nano for _, span in rows) - start
    room = WIDTH - LABEL - 90
    lines = []
    for place, (depth, span) in enumerate(rows):
        y = TOP + place * ROW
        x = LABEL + room * (span.start_time_unix_nano - start) / whole
        ms = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
        width = max(2.0, room * ms * 1e6 / whole)
        colour = COLOURS.get(span.name.split()[0], "#8c96a0")
        lines += [
            f'<text x="{10 + INDENT * depth}" y="{y + 15}">{name_of(span)}</text>',
            f'<rect x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="14" fill="{colour}"/>',
            f'<text class="ms" x="{x + width + 5:.1f}" y="{y + 15}">{ms:,.0f} ms</text>',
        ]
    height = TOP + len(rows) * ROW + 10
    title = f"One trace: {len(rows)} spans of a session, and of the sub-agent that it starts"
    style = "text{font:12px system-ui,sans-serif;fill:#1c2127}.ms{fill:#5c6670}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    back = f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
    name = f'<title>{title}</title><text x="10" y="22" font-weight="600">{title}</text>'
    return "\n".join([head, f"<style>{style}</style>", back, name, *lines, "</svg>\n"])


def main() -> None:
    """Draw the picture into the file of the command line."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    with tempfile.TemporaryDirectory(prefix="trace-") as folder:
        file.write_text(drawn(collected(Path(folder).resolve())), encoding="utf-8")


if __name__ == "__main__":
    main()
