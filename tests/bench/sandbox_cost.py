"""Measure one command, `true`, without and with a sandbox, beside what other agents need for it.

    python tests/bench/sandbox_cost.py [--codex FILE] [--sandbox-runtime DIR] [--runs N]
                                       [--pause S] [--json]

*--codex* is the program of @openai/codex, *--sandbox-runtime* the directory of the package
@anthropic-ai/sandbox-runtime, which Claude Code uses (it needs socat). A peer that is not given is
left out. Each agent is a running session, as between two commands of a model: nanocoder is called
through its Python interface, policies and events included, codex through `codex app-server`, and
sandbox-runtime as a library in one process of Node. nanocoder is the one that is installed where
this script runs; the figures of the page are of the default set and the two sandboxes alone.

All take turns, and before each command is a pause, in which a sandbox may prepare the next one, as
it can while a model answers. Figures are medians, ratios the medians of paired ratios.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import nanocoder
from nanocoder import Config

FLOOR: Final = "bash -c true"
PLAIN: Final = "no sandbox"
OURS: Final = ("bwrap", "landlock")
POLICIES: Final[Mapping[str, Mapping[str, Any]]] = {
    PLAIN: {"type": "dangerFullAccess"},
    "read-only": {"type": "readOnly"},
    "workspace writable": {"type": "workspaceWrite"},
}
"""The kinds of sandboxes of `codex app-server`."""
NODE_PROGRAM: Final = """
import {spawnSync} from 'node:child_process';
import {createInterface} from 'node:readline';
const {SandboxManager} = await import(process.argv[1] + '/dist/index.js');
await SandboxManager.initialize({
  network: {allowedDomains: [], deniedDomains: []},
  filesystem: {denyRead: [], allowWrite: ['.'], denyWrite: []},
});
console.log('ready');
for await (const kind of createInterface({input: process.stdin})) {
  const command = kind === 'plain' ? 'true' : await SandboxManager.wrapWithSandbox('true');
  console.log(spawnSync('/bin/bash', ['-c', command]).status);
}
await SandboxManager.reset();
process.exit(0);
"""
"""A session of sandbox-runtime: it answers each line of its input with an exit code."""

Run = Callable[[], object]
Runs = dict[tuple[str, str], Run]
"""What runs one command, by the agent and its sandbox."""


class Peer:
    """Another agent as a process that is asked, and answers, by lines."""

    def __init__(self, argv: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def send(self, line: str) -> None:
        """Send one line."""
        pipe: IO[str] = self._process.stdin  # type: ignore[assignment]
        pipe.write(f"{line}\n")
        pipe.flush()

    def answer(self) -> str:
        """Return the next line; raises RuntimeError if there is none."""
        pipe: IO[str] = self._process.stdout  # type: ignore[assignment]
        line = pipe.readline().strip()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended: {self._process.wait()}")
        return line

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


def floor(workspace: Path) -> Runs:
    """Return what starts the shell and nothing else."""
    argv = ["/bin/bash", "--norc", "--noprofile", "-c", "true"]
    return {(FLOOR, PLAIN): lambda: subprocess.run(argv, cwd=workspace, check=True)}


def ours(workspace: Path, home: Path, stack: ExitStack) -> Runs:
    """Return a session of nanocoder for each sandbox that works here."""
    runs: Runs = {}
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    for sandbox in ("none", *OURS):
        flags = {"sandbox": sandbox, "mode": "auto"}
        config = Config.load(workspace, flags=flags, environment=environment)
        session = stack.enter_context(
            nanocoder.open_session(workspace, config=config, environment=environment, persist=False)
        )
        if (session.info.sandbox or "none") != sandbox:
            print(f"left out: {sandbox} does not work here", file=sys.stderr)
            continue

        def run(session: nanocoder.Session = session) -> None:
            *_, last = session.call("bash", {"command": "true"})
            if last.data["status"] != "ok":
                raise RuntimeError(last.data["output"])

        runs["nanocoder", PLAIN if sandbox == "none" else sandbox] = run
    return runs


def codex(program: Path, workspace: Path, home: Path, stack: ExitStack) -> Runs:
    """Return the server of codex, which runs a command in the sandbox that it is told."""
    home.mkdir(exist_ok=True)
    peer = Peer([str(program), "app-server"], workspace, {"CODEX_HOME": str(home)})
    stack.callback(peer.close)
    numbers = iter(range(1, 10_000_000))

    def ask(method: str, parameters: Mapping[str, Any]) -> Any:
        number = next(numbers)
        peer.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (answer := json.loads(peer.answer())).get("id") != number:
            pass
        return answer["result"]

    client = {"name": "bench", "title": "bench", "version": "1"}
    ask("initialize", {"clientInfo": client})
    peer.send(json.dumps({"method": "initialized"}))

    def run(policy: Mapping[str, Any]) -> None:
        command = {"command": ["/bin/bash", "-c", "true"], "cwd": str(workspace)}
        result = ask("command/exec", {**command, "sandboxPolicy": policy})
        if result["exitCode"]:
            raise RuntimeError(result["stderr"])

    return {("codex", name): partial(run, policy) for name, policy in POLICIES.items()}


def sandbox_runtime(package: Path, workspace: Path, stack: ExitStack) -> Runs:
    """Return a session of sandbox-runtime."""
    argv = ["node", "--input-type=module", "-e", NODE_PROGRAM, str(package.absolute())]
    peer = Peer(argv, workspace, {})
    stack.callback(peer.close)
    peer.answer()

    def run(kind: str) -> None:
        peer.send(kind)
        if (code := peer.answer()) != "0":
            raise RuntimeError(f"sandbox-runtime ended a command with {code}")

    return {
        ("sandbox-runtime", PLAIN): lambda: run("plain"),
        ("sandbox-runtime", "workspace writable"): lambda: run("sandboxed"),
    }


@contextmanager
def sessions(options: argparse.Namespace) -> Iterator[Runs]:
    """Yield what runs one command, for each agent and sandbox."""
    # Not in /tmp, which a sandbox may replace.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch, ExitStack() as stack:
        root = Path(scratch).resolve()
        workspace, home = root / "workspace", root / "home"
        for folder in (workspace, home):
            folder.mkdir()
        subprocess.run(["git", "init", "--quiet", str(workspace)], check=True)
        runs = {**floor(workspace), **ours(workspace, home, stack)}
        if options.codex:
            runs |= codex(options.codex.absolute(), workspace, root / "codex", stack)
        if options.sandbox_runtime:
            runs |= sandbox_runtime(options.sandbox_runtime, workspace, stack)
        yield runs


def measure(runs: Runs, count: int, pause_s: float) -> dict[tuple[str, str], list[float]]:
    """Return the milliseconds of each command, from *count* rounds in which all take turns."""
    times: dict[tuple[str, str], list[float]] = {key: [] for key in runs}
    for number in range(-2, count):  # two rounds fill caches
        for key, run in runs.items():
            time.sleep(pause_s)
            began = time.perf_counter()
            run()
            if number >= 0:
                times[key].append((time.perf_counter() - began) * 1000)
    return times


def ratio(some: Sequence[float], others: Sequence[float]) -> float:
    """Return the median of the ratios of pairs."""
    return statistics.median(a / b for a, b in zip(some, others, strict=True))


def rows(times: Mapping[tuple[str, str], Sequence[float]]) -> Iterator[dict[str, Any]]:
    """Yield the figures of each agent and sandbox."""
    for (agent, sandbox), own in times.items():
        plain = times[agent, PLAIN]
        yield {
            "agent": agent,
            "sandbox": sandbox,
            "ms": round(statistics.median(own), 1),
            "more_ms": round(statistics.median(a - b for a, b in zip(own, plain, strict=True)), 1),
            "ratio": round(ratio(own, plain), 2),
            "by_floor": round(ratio(own, times[FLOOR, PLAIN]), 1),
        }


def table(measured: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table."""
    yield "| one command, `true` | sandbox | median | more than without | by `bash -c true` |"
    yield "|---|---|---|---|---|"
    for row in measured:
        more = "" if row["sandbox"] == PLAIN else f"{row['more_ms']} ms, {row['ratio']:.2f} x"
        cells = [row["agent"], row["sandbox"], f"{row['ms']} ms", more, f"{row['by_floor']} x"]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--codex", type=Path, help="the program of @openai/codex")
    parser.add_argument("--sandbox-runtime", type=Path, help="the directory of the package")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds before each command")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with sessions(options) as runs:
        times = measure(runs, options.runs, options.pause)
    measured = [*rows(times)]
    print(json.dumps(measured, indent=1) if options.json else "\n".join(table(measured)))


if __name__ == "__main__":
    main()
