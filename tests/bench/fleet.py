"""Measure a fleet: scripted tasks on worker processes of Dask, some of them killed in the middle.

    python tests/bench/fleet.py [--tasks N] [--workers N] [--kill N] [--empty N] [--json FILE]

First *tasks* real sessions run on *workers* processes, of which *kill* are killed one after the
other, then the driver is, and the same command goes on with the rest; each task has to be in the
store once. Then *empty* jobs that do nothing go through each runner and the store: what is left is
the runner's own time a task. The memory of the driver is read as results come in. Nothing here
asserts a figure.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nanocoder import Cancel, Plugins
from nanocoder_kit_batch import Results, failure_of
from nanocoder_kit_batch.running import lost_job

NANOCODER = str(Path(sys.executable).with_name("nanocoder"))
SCRIPT = {
    "turns": [
        {
            "calls": [{"name": "write_file", "arguments": {"path": "out.txt", "content": "hi\n"}}],
            "usage": {"input_tokens": 900, "output_tokens": 60, "cost": 0.001},
        },
        {"text": "done", "usage": {"input_tokens": 990, "output_tokens": 9, "cost": 0.001}},
    ]
}
POLL_S = 0.2


def main() -> None:
    """Run both measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kill", type=int, default=2)
    parser.add_argument("--empty", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {"sessions": sessions(options.tasks, options.workers, options.kill)}
    for runner in ("threads", "dask"):
        figures[runner] = own_time(runner, options.empty, options.workers)
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def sessions(tasks: int, workers: int, kills: int) -> dict[str, Any]:
    """Run real sessions on worker processes and kill some of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "source").mkdir()
        (folder / "source" / "a.py").write_text("print(1)\n", encoding="utf-8")
        (folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
        rows = (
            {
                "id": f"task-{number}",
                "prompt": f"write {number}",
                "model": f"scripted/{folder}/script.json",
                "mode": "auto",
                "cwd": "source",
            }
            for number in range(tasks)
        )
        lines = (json.dumps(row) + "\n" for row in rows)
        (folder / "tasks.jsonl").write_text("".join(lines), encoding="utf-8")
        return _watched(folder, tasks, workers, kills)


def _watched(folder: Path, tasks: int, workers: int, kills: int) -> dict[str, Any]:
    began, memory, killed = time.monotonic(), list[int](), list[str]()
    with _driver(folder, workers) as driver:
        while driver.poll() is None:
            time.sleep(POLL_S)
            results = _results(folder)
            if results:
                memory.append(_resident_mb(driver.pid))
            if len(results) <= tasks * (len(killed) + 1) / (kills + 2):
                continue
            if len(killed) < kills:
                killed += _kill_busiest(results, killed)
            else:
                driver.kill()
    driver_exit, kept = driver.returncode, len(_results(folder))
    with _driver(folder, workers) as second:
        while second.poll() is None:
            time.sleep(POLL_S)
            memory.append(_resident_mb(second.pid))
    results = _results(folder)
    counts = Counter(result["id"] for result in results)
    seconds = sum(result["seconds"] for result in results)
    return {
        "tasks": tasks,
        "workers": workers,
        "killed": len(killed),
        "driver killed": driver_exit == -signal.SIGKILL,
        "kept of the killed driver": kept,
        "skipped by the second": _first_event(folder)["skipped"],
        "in the store": len(counts),
        "more than once": sum(count > 1 for count in counts.values()),
        "solved": sum(not failure_of(result) for result in results),
        "wall_s": round(time.monotonic() - began, 1),
        "session_ms": round(1_000 * seconds / max(1, len(results)), 1),
        "driver_mb": _thirds(memory),
    }


@contextmanager
def _driver(folder: Path, workers: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start the batch; its events go to a file."""
    words = ["batch", "tasks.jsonl", "--results", "results", "--yes", "--runner", "dask"]
    with (
        (folder / "events").open("wb") as events,
        subprocess.Popen(
            [NANOCODER, *words, "--workers", str(workers)],
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
            stdout=events,
        ) as driver,
    ):
        yield driver


def _first_event(folder: Path) -> dict[str, Any]:
    with (folder / "events").open("rb") as events:
        return dict(json.loads(events.readline()))


def _results(folder: Path) -> list[dict[str, Any]]:
    path = folder / "results" / "results.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def _kill_busiest(results: list[dict[str, Any]], killed: list[str]) -> list[str]:
    recent = Counter(result["worker"] for result in results[-50:] if result["worker"] not in killed)
    for worker, _ in recent.most_common(1):
        os.kill(int(worker.rpartition(":")[2]), signal.SIGKILL)
        return [worker]
    return []


def _resident_mb(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0  # it has just ended
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def _thirds(memory: list[int]) -> list[int]:
    """Return the greatest value of the first, the second and the last third."""
    size = max(1, len(memory) // 3)
    return [max(part) for part in (memory[:size], memory[size : 2 * size], memory[-size:]) if part]


def do_nothing(job: Mapping[str, Any], _cancel: Cancel, _admit: Any) -> dict[str, Any]:
    """Return a result at once, as long as a real one is."""
    return {**lost_job(job, RuntimeError("nothing to do")), "artifacts": {"answer.txt": "none"}}


def own_time(runner: str, count: int, workers: int) -> dict[str, Any]:
    """Send empty jobs through a runner and the store."""
    plugins = Plugins.installed()
    offered = plugins.offered("runners", runner)
    if offered is None:
        raise SystemExit(f"the runner {runner!r} is not installed")
    plugin, spec = offered
    options = {"workers": workers, "scheduler": ""}
    memory = list[int]()
    with tempfile.TemporaryDirectory() as folder, Results(Path(folder)) as results:
        stream = spec.run(
            do_nothing, list(_jobs(count)), Cancel(), options, plugins.settings(plugin)
        )
        first = 0.0
        for number, (_, outcome) in enumerate(stream):
            first = first or time.monotonic()  # the processes are there
            results.add(outcome["result"], outcome["artifacts"])
            last = time.monotonic()
            if number % 100 == 0:
                memory.append(_resident_mb(os.getpid()))
        kept = len({result["key"] for result in results})
    per_task = 1_000 * (last - first) / count
    return {"jobs": count, "kept": kept, "ms_a_task": round(per_task, 2), "mb": _thirds(memory)}


def _jobs(count: int) -> Iterator[dict[str, Any]]:
    empty = {"model": "", "mode": "", "set": "", "seed": None}
    for number in range(count):
        yield {"id": f"job-{number}", "key": f"{number:032x}", "prompt": "x" * 500, **empty}


if __name__ == "__main__":
    main()
