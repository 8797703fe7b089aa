"""Measure long replies and long sessions: speed, what they hold in memory, how often they repaint.

    python tests/bench/streaming.py [--runs N] [--bin DIR] [--write]

Whole processes play against the scripted model of `measure.py`. Times are for a machine of one's
own; tests assert the counts: frames for a time, and copies of the text in memory.
"""

import argparse
import json
import os
import pty
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from measure import HERE, Bench, make_repository, script, serving, write
from model_server import event

BEGIN_FRAME = b"\x1b[?2026h"
FRAME_S = 0.016
TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
WORD = re.compile(rb"word(\d+)")
HEAD_PIECES = 2
"""What the model sends before its first word: the header, and an event without text."""


class Shown(NamedTuple):
    """What a terminal showed of one reply: frames, seconds, and when each word came."""

    frames: int
    seconds: float
    words: Mapping[int, float]


def show(bench: Bench, command: Sequence[str]) -> Shown:
    """Run a command in a terminal of its own and read what it draws."""
    started = time.monotonic()
    process, screen = pty.fork()
    if process == 0:
        os.chdir(bench.work)
        os.execve(command[0], command, {**bench.environment, **TERMINAL})
    words: dict[int, float] = {}
    drawn = bytearray()
    while piece := _read(screen):
        now = time.monotonic()
        drawn += piece
        for word in WORD.findall(piece):
            words.setdefault(int(word), now)
    os.waitpid(process, 0)
    os.close(screen)
    return Shown(drawn.count(BEGIN_FRAME), time.monotonic() - started, words)


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 65536)
    except OSError:  # the other end was closed
        return b""


def held(python: str, deltas: int, letters: int) -> dict[str, Any]:
    """Return how many bytes a session of its own process holds for a reply of *deltas* pieces.

    `text` is the size of the reply, `quarter` and `end` what is held beside the text after a
    quarter of it and after all of it, `peak` the most at any time.
    """
    turns = [
        # What is imported ahead is there before anything is counted.
        {"text": "Hello. ", "deltas": 2_000, "delay_s": 4},
        {"text": f"{'x' * letters}{{i}} ", "deltas": deltas},
    ]
    with serving(turns) as server, tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [python, str(Path(__file__).with_name("held.py"))],
            cwd=home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": home,
                "OPENAI_API_KEY": "none",
                "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1",
            },
            capture_output=True,
            text=True,
            check=True,
        )
    return dict(json.loads(done.stdout))


def headless(bench: Bench, deltas: int, block: int, how: str) -> None:
    """Measure the CPU time of a reply of many deltas, over a reply of one.

    Beside it is what the httpx floor takes for the same reply, and a bare loop of `json.loads`.
    """

    def floor(port: int) -> list[str]:
        address = f"http://127.0.0.1:{port}/v1/chat/completions"
        return [bench.python, str(HERE / "floor.py"), address, "go"]

    def over(command: Callable[[int], list[str]]) -> float:
        long, short = (bench.once(*command(server.port))[1] for server in (many, single))
        return max(long - short, 1e-3)

    with (
        serving([{"text": "w{i} ", "deltas": deltas, "block": block}]) as many,
        serving([{"text": "w"}]) as single,
    ):
        over(bench.ask)
        rounds = [(over(bench.ask), over(floor), _loads_s(deltas)) for _ in range(bench.runs)]
    ours = statistics.median(ours for ours, _, _ in rounds)
    of_floor = statistics.median(ours / floor_s for ours, floor_s, _ in rounds)
    of_loads = statistics.median(ours / loads_s for ours, _, loads_s in rounds)
    figure = f"{deltas / ours:,.0f} per CPU second"
    beside = f"{of_floor:.2f} x the httpx floor; {of_loads:.2f} x json.loads of each"
    bench.note(f"{deltas:,} deltas, headless, {how}", figure, beside)


def _loads_s(deltas: int) -> float:
    """Return how many CPU seconds `json.loads` takes for each of the events by itself."""
    lines = [event({"content": f"w{place} "})[len(b"data: ") :] for place in range(deltas)]
    started = time.process_time()
    for line in lines:
        json.loads(line)
    return time.process_time() - started


def frames(bench: Bench, deltas: int) -> None:
    """Count how often a terminal is repainted during a reply of many deltas."""
    with serving([{"text": "word{i} ", "deltas": deltas}]) as server:
        shown = show(bench, bench.ask(server.port))
    share = shown.frames / (shown.seconds / FRAME_S)
    figure = f"{shown.frames} frames"
    bench.note(f"{deltas:,} deltas in a terminal", figure, f"{share:.2f} for each 16 ms")


def latency(bench: Bench, words: int) -> None:
    """Measure the time from a piece leaving the server to its word on the screen."""
    turn = {"text": "word{i} ", "deltas": words, "block": 1, "pause_s": 0.1, "delay_s": 1.0}
    gaps, firsts = [], []
    with serving([turn]) as server:
        for _ in range(max(1, bench.runs // 3)):
            shown = show(bench, bench.ask(server.port)).words
            sent = server.seen()["sent"][HEAD_PIECES:]
            new = [(shown[word] - sent[word]) * 1000 for word in range(words)]
            gaps += new
            firsts.append(new[0])
    gaps.sort()
    beside = f"p95 {gaps[int(len(gaps) * 0.95)]:.1f} ms; the first {statistics.median(firsts):.1f}"
    bench.note(
        "a piece, from the socket to the screen", f"{statistics.median(gaps):.1f} ms", beside
    )


def memory(bench: Bench, deltas: int) -> None:
    """Measure what a process needs for a long reply, beside one of a single delta.

    The same text in a tenth of the deltas shows whether the number of deltas matters.
    """
    text = _text_bytes(deltas)
    few = deltas // 10
    letters = "x" * ((text - _text_bytes(few)) // few)
    with (
        serving([{"text": "w{i} ", "deltas": deltas}]) as many,
        serving([{"text": f"{letters}w{{i}} ", "deltas": few}]) as long,
        serving([{"text": "w"}]) as single,
    ):
        _, _, least = bench.once(*bench.ask(single.port))
        for name, server in ((f"{deltas:,} deltas", many), (f"its text in {few:,} deltas", long)):
            _, _, most = bench.once(*bench.ask(server.port))
            beside = f"{(most - least) * 1024 / text:.1f} x its text ({text / 2**20:.1f} MB)"
            bench.note(f"{name}, memory", f"+{(most - least) / 1024:.1f} MB", beside)


def _text_bytes(deltas: int) -> int:
    return sum(len(f"w{place} ") for place in range(deltas))


def session(bench: Bench, turns: int) -> None:
    """Measure whether turns get slower in a session that is compacted again and again."""
    make_repository(bench.work)
    with serving([*script(turns), {"text": "done"}]) as server:
        command = bench.ask(server.port)
        command[command.index("--max-turns") + 1] = str(turns + 1)
        _, _, most = bench.once(*command)
        seen = server.seen()
    gaps = [
        (came - left) * 1000 for came, left in zip(seen["came"][1:], seen["left"], strict=False)
    ]
    if len(gaps) != turns:
        raise SystemExit(f"{len(gaps)} turns were played, not {turns}")
    part = turns // 4
    growth = statistics.median(gaps[-part:]) / statistics.median(gaps[:part])
    bench.note(
        f"{turns:,} turns, the last quarter over the first",
        f"{growth:.2f}",
        f"{statistics.median(gaps):.1f} ms a turn; {most / 1024:.0f} MB at most",
    )


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.bin.absolute(), options.runs, Path(scratch))
        make_repository(bench.work)
        latency(bench, 20)
        headless(bench, 200_000, 500, "arriving together")
        headless(bench, 20_000, 1, "each in an HTTP chunk of its own")
        frames(bench, 20_000)
        memory(bench, 1_000_000)
        session(bench, 2_000)
    if options.write:
        write(bench.rows, "streams")


if __name__ == "__main__":
    main()
