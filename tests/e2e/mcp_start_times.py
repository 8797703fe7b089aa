"""Measure starts with twenty MCP servers of eighty tools beside starts with none.

    python tests/e2e/mcp_start_times.py [--runs N]

Each run is a process of its own, and the two kinds run in turn. Figures are medians in milliseconds
of the processor's time, ratios those of neighbours in time. Nothing here asserts a time.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

SERVERS = 20
TOOLS = ("list_issues", "get_issue", "search_code", "merge_pull")
COMMAND = str(Path(sys.executable).with_name("nanocoder"))
ACCEPT = """
import sys
from nanocoder_mcp import records
from nanocoder_mcp.definitions import listing_of
from nanocoder_mcp.records import Record, launch_digest
from nanocoder_mcp.server import server_of
names, tools = sys.argv[1].split(","), sys.argv[2].split(",")
raw = [
    {"name": name, "description": "Read, and change, what is there. " * 10,
     "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}
    for name in tools
]
for name in names:
    server = server_of(name, {"command": ["/bin/false", name]})
    records.write(server, Record(launch_digest(server), tuple(listing_of(name, raw).tools)))
"""


def home_of(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Make a home whose person accepted the servers of *names*; return its variables."""
    (folder / "work").mkdir(parents=True)
    script = {"turns": [{"text": "done"}]}
    (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    variables = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    config = folder / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    # Both have a file of their own, so that reading one is no difference.
    config.write_text(
        'mode = "ask"\n'
        + "".join(
            f'[plugins.mcp.servers.{name}]\ncommand = ["/bin/false", "{name}"]\n' for name in names
        )
    )
    if names:
        accept = [sys.executable, "-c", ACCEPT, ",".join(names), ",".join(TOOLS)]
        subprocess.run(accept, env=variables, check=True)
    return variables


def milliseconds(variables: Mapping[str, str], words: Sequence[str]) -> float:
    """Run nanocoder once; returns what it took of the processor's time."""
    home = variables["HOME"]
    command = [COMMAND, *(word.replace("HOME", home) for word in words)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=f"{home}/work", env={**variables}, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def measure(runs: int) -> dict[str, dict[str, float]]:
    """Return the medians of each kind of start, with none and with twenty servers."""
    run = ("run", "--model", "scripted/HOME/script.json", "hi")
    rows = {"--version": ("--version",), "--help": ("--help",), "tools": ("tools",), "run": run}
    with tempfile.TemporaryDirectory() as name:
        names = [f"server{number:02}" for number in range(SERVERS)]
        none, twenty = home_of(Path(name) / "a", ()), home_of(Path(name) / "b", names)
        return {row: compared(none, twenty, words, runs) for row, words in rows.items()}


def compared(
    none: Mapping[str, str], twenty: Mapping[str, str], words: Sequence[str], runs: int
) -> dict[str, float]:
    """Return the medians of pairs of runs, and of their ratios."""
    for variables in (none, twenty):  # the first start of each fills its caches
        milliseconds(variables, words)
    pairs = [(milliseconds(none, words), milliseconds(twenty, words)) for _ in range(runs)]
    return {
        "none": statistics.median(before for before, _ in pairs),
        "twenty": statistics.median(after for _, after in pairs),
        "ratio": statistics.median(after / before for before, after in pairs),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    for row, figures in measure(parser.parse_args().runs).items():
        print(row, json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
