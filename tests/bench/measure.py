"""Measure nanocoder as whole processes, beside the bare interpreter and the httpx floor.

    python tests/bench/measure.py [--runs N] [--bin DIR] [--write]

Figures are medians; ratios are what counts, because milliseconds move with the machine. Nothing
here asserts a time. *--bin* is the directory of an environment's `python` and `nanocoder` (default:
the one that runs this); *--write* puts the table into figures.txt.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nanocoder import count_tokens

HERE = Path(__file__).parent
PAGE = HERE / "figures.txt"
ORDER = "RRERRBRRERGRERBRERGE"
FILES = 20


class Server:
    """The scripted model in its own process."""

    def __init__(self, turns: Sequence[Mapping[str, Any]]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "model_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._say(json.dumps(turns))
        self.port = int(self._hear())

    def seen(self) -> dict[str, Any]:
        """Return what was seen since the last time."""
        self._say("?")
        return dict(json.loads(self._hear()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


class Bench:
    """One measuring session in a scratch directory."""

    def __init__(self, binaries: Path, runs: int, scratch: Path) -> None:
        self.python = str(binaries / "python")
        self.nanocoder = str(binaries / "nanocoder")
        self.runs = runs
        self.work = scratch / "work"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(scratch / "home"),
            "OPENAI_API_KEY": "none",
            "LANG": "C.UTF-8",
        }
        (scratch / "home").mkdir()
        self.rows: list[tuple[str, str, str]] = []

    def note(self, what: str, figure: str, beside: str = "") -> None:
        """Write one row down."""
        self.rows.append((what, figure, beside))
        print(f"{what:55} {figure:>22}  {beside}", flush=True)

    def once(self, *command: str) -> tuple[float, float, int]:
        """Run a command once: wall seconds, CPU seconds, peak resident kilobytes."""
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        with process.stderr:
            complaint = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)[:200]} failed: {complaint.decode()[-2000:]}")
        return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss

    def compared(self, what: str, ours: Sequence[str], other: Sequence[str], named: str) -> None:
        """Run two commands in turn; note the medians and the median of the paired ratios."""
        self.once(*ours)
        pairs = [(self.once(*ours), self.once(*other)) for _ in range(self.runs)]
        wall = statistics.median(one[0] for one, _ in pairs) * 1000
        floor = statistics.median(two[0] for _, two in pairs) * 1000
        ratio = statistics.median(one[0] / two[0] for one, two in pairs)
        cpu = statistics.median(one[1] / two[1] for one, two in pairs)
        figure = f"{wall:.1f} ms"
        self.note(what, figure, f"{ratio:.2f} x {named} ({floor:.1f} ms); CPU {cpu:.2f} x")

    def ask(self, port: int) -> list[str]:
        """Return the command that does one headless run against the server."""
        self.environment["OPENAI_BASE_URL"] = f"http://127.0.0.1:{port}/v1"
        return [
            self.nanocoder,
            "run",
            "--mode",
            "auto",
            "--model",
            "openai/m",
            "--max-turns",
            "500",
            "go",
        ]

    def start(self) -> None:
        """Measure what starts and ends without a model."""
        bare = [self.python, "-I", "-c", "pass"]
        self.compared("--version", [self.nanocoder, "--version"], bare, "python -I -c pass")
        self.compared("--help", [self.nanocoder, "--help"], bare, "python -I -c pass")
        self.compared("tools", [self.nanocoder, "tools"], bare, "python -I -c pass")

    def one(self) -> None:
        """Measure one prompt and one reply."""
        with serving([{"text": "Hello."}]) as server:
            floor = [
                self.python,
                str(HERE / "floor.py"),
                f"http://127.0.0.1:{server.port}/v1/chat/completions",
                "go",
            ]
            self.compared("one prompt, one reply", self.ask(server.port), floor, "the httpx floor")
            server.seen()
            started = time.monotonic()
            _, _, memory = self.once(*self.ask(server.port))
            ended = time.monotonic()
            seen = server.seen()
            self.note("exec to first request", f"{(seen['came'][0] - started) * 1000:.1f} ms")
            self.note("last reply to exit", f"{(ended - seen['left'][-1]) * 1000:.1f} ms")
            self.note("peak memory after one turn", f"{memory / 1024:.1f} MB")
            self.note("requests for one prompt", str(len(seen["came"])))
            self.note(
                "first request",
                f"{len(seen['first'])} bytes",
                f"about {tokens_of(seen['first']):,} tokens",
            )

    def turns(self, count: int) -> None:
        """Measure *count* tool turns: reads, edits, shell commands and searches."""
        with serving([*script(count), {"text": "done"}]) as server:
            gaps: list[float] = []
            walls, memories, growths = [], [], []
            for _ in range(max(1, self.runs // 3)):
                make_repository(self.work)
                wall, _, memory = self.once(*self.ask(server.port))
                seen = server.seen()
                gap = [
                    (came - left) * 1000
                    for came, left in zip(seen["came"][1:], seen["left"], strict=False)
                ]
                gaps += gap
                growths.append(statistics.median(gap[-20:]) / statistics.median(gap[:20]))
                walls.append(wall)
                memories.append(memory)
        if len(gap) != count:
            raise SystemExit(f"{len(gap)} turns were played, not {count}")
        gaps.sort()
        self.note(f"tool turn, median of {count}", f"{statistics.median(gaps):.2f} ms")
        self.note(f"tool turn, p95 of {count}", f"{gaps[int(len(gaps) * 0.95)]:.2f} ms")
        self.note("last 20 turns over first 20", f"{statistics.median(growths):.2f}")
        self.note(f"{count} calls, whole process", f"{statistics.median(walls):.2f} s")
        self.note(f"peak memory after {count} turns", f"{max(memories) / 1024:.1f} MB")

    def first(self, delay_s: float) -> None:
        """Measure the first tool turns behind a reply that takes a while, as a model's does."""
        turns = [*script(20), {"text": "done"}]
        turns[0]["delay_s"] = delay_s
        with serving(turns) as server:
            gaps = []
            for _ in range(self.runs):
                make_repository(self.work)
                self.once(*self.ask(server.port))
                seen = server.seen()
                gaps.append((seen["came"][1] - seen["left"][0]) * 1000)
        what = f"first tool turn, after a reply of {delay_s:g} s"
        self.note(what, f"{statistics.median(gaps):.2f} ms")


@contextmanager
def serving(turns: Sequence[Mapping[str, Any]]) -> Iterator[Server]:
    """Run a server for the length of a block."""
    server = Server(turns)
    try:
        yield server
    finally:
        server.close()


def script(count: int) -> list[dict[str, Any]]:
    """Return *count* turns of one call each, in the mix of an ordinary session."""
    turns, edited, last = [], dict.fromkeys(range(FILES), 0), 0
    for number in range(count):
        kind = ORDER[number % len(ORDER)]
        path = f"src/mod_{last:02d}.py"
        if kind == "R":
            last = (last + 1) % FILES
            call = {"name": "read_file", "arguments": {"path": f"src/mod_{last:02d}.py"}}
        elif kind == "E":
            line = f"VALUE_{last:02d}_{edited[last]:03d} = "
            edited[last] += 1
            call = {
                "name": "edit_file",
                "arguments": {"path": path, "old_string": line + "0", "new_string": line + "1"},
            }
        elif kind == "B":
            call = {"name": "bash", "arguments": {"command": f"true # {number}"}}
        else:
            call = {
                "name": "grep",
                "arguments": {"pattern": f"VALUE_{number % FILES:02d}_01{number % 10}"},
            }
        turns.append({"calls": [call]})
    return turns


def make_repository(root: Path) -> None:
    """Make twenty small modules with lines that are unique."""
    (root / "src").mkdir(parents=True, exist_ok=True)
    for place in range(FILES):
        lines = [f"VALUE_{place:02d}_{number:03d} = 0" for number in range(40)]
        (root / "src" / f"mod_{place:02d}.py").write_text("\n".join(lines) + "\n")


def tokens_of(body: str) -> int:
    """Return about how many tokens the parts of a request take, as `nanocoder context` counts."""
    request = json.loads(body)
    functions = [tool["function"] for tool in request["tools"]]
    texts = [message["content"] for message in request["messages"]]
    texts += [str((f["name"], f["description"], f["parameters"])) for f in functions]
    return sum(map(count_tokens, texts))


def write(rows: Sequence[tuple[str, str, str]], mark: str = "figures") -> None:
    """Put the table between the marks of the page that have this name."""
    table = ["| what | median | beside |", "| --- | --- | --- |"]
    table += [f"| {' | '.join(row)} |" for row in rows]
    text = PAGE.read_text(encoding="utf-8")
    marked = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    PAGE.write_text(
        marked.sub(lambda found: found[1] + "\n".join(table) + "\n" + found[2], text),
        encoding="utf-8",
    )


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.bin, options.runs, Path(scratch))
        make_repository(bench.work)
        bench.start()
        bench.one()
        bench.turns(20)
        bench.turns(200)
        for delay_s in (0, 0.5):
            bench.first(delay_s)
    if options.write:
        write(bench.rows)


if __name__ == "__main__":
    main()
