"""Measure the first call of an MCP server: through nanocoder, and with the bare official SDK.

    python tests/bench/mcp_first_call.py [--runs N]

Each run is a process of its own that imports what it needs, starts the same server and makes one
call. Figures are medians, the ratio is that of neighbours in time. Nothing here asserts a time.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

SERVER = Path(__file__).parents[1] / "e2e" / "shop_server.py"
START = [sys.executable, "-S", str(SERVER)]
# Both count from when a call is wanted to its result; a session is open by then.
OURS = """
import json, sys, time
import nanocoder
with nanocoder.open_session(".", mode="auto", persist=False) as session:
    began = time.perf_counter(), time.process_time()
    events = list(session.call("mcp_shop_look", {}))
    print(time.perf_counter() - began[0], time.process_time() - began[1])
assert events[-1].data["status"] == "ok", events[-1].data
"""
THEIRS = """
import json, sys, time
began = time.perf_counter(), time.process_time()
import anyio
from mcp import Client, StdioServerParameters
async def main():
    start = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with Client(start) as client:
        answer = await client.call_tool("look", {})
        print(time.perf_counter() - began[0], time.process_time() - began[1])
        assert not answer.is_error
anyio.run(main)
"""


def seconds(program: str, environment: Mapping[str, str], folder: Path) -> tuple[float, float]:
    """Run one of the programs; returns the time that passed, and what its processor took."""
    done = subprocess.run(
        [sys.executable, "-c", program, *START],
        cwd=folder,
        env={**environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the program failed:\n{done.stderr[-2000:]}")
    wall, processor = map(float, done.stdout.split())
    return wall, processor


def measure(runs: int) -> dict[str, float]:
    """Return the medians in milliseconds, and the medians of the ratios of neighbours."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {"HOME": name, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        command = [str(Path(sys.executable).with_name("nanocoder")), "mcp", "add", "shop", "--yes"]
        subprocess.run(
            [*command, "--", *START], cwd=folder, env=environment, check=True, capture_output=True
        )
        for program in (OURS, THEIRS):  # the first of each fills the caches of the disk
            seconds(program, environment, folder)
        pairs = [
            (seconds(OURS, environment, folder), seconds(THEIRS, environment, folder))
            for _ in range(runs)
        ]
    median = statistics.median
    return {
        "nanocoder_ms": median(ours[0] for ours, _ in pairs) * 1000,
        "sdk_ms": median(theirs[0] for _, theirs in pairs) * 1000,
        "ratio": median(ours[0] / theirs[0] for ours, theirs in pairs),
        "processor_ratio": median(ours[1] / theirs[1] for ours, theirs in pairs),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    figures = measure(parser.parse_args().runs)
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
