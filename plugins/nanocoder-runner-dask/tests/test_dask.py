"""The runner `dask` on real worker processes: killed ones, shared limits, a scheduler elsewhere."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

NANOCODER = str(Path(sys.executable).with_name("nanocoder"))
WAIT_S = 150


class Fleet:
    """A batch of *count* scripted tasks, each of which takes *seconds*."""

    def __init__(self, nanocoder, count, seconds=0.0):
        self.nanocoder, self.folder = nanocoder, nanocoder.cwd
        (self.folder / "source").mkdir()
        (self.folder / "source" / "a.py").write_text("print(1)\n")
        script = self.folder / "script.json"
        script.write_text(json.dumps({"turns": [{"text": "done", "delay_s": seconds}]}))
        rows = [{"id": f"t{n}", "prompt": "x", "cwd": "source"} for n in range(count)]
        lines = (json.dumps({**row, "model": f"scripted/{script}"}) + "\n" for row in rows)
        (self.folder / "tasks.jsonl").write_text("".join(lines))
        self.ids = sorted(row["id"] for row in rows)

    def configure(self, text):
        folder = self.nanocoder.home / ".config" / "nanocoder"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(f"[plugins.runner-dask]\n{text}\n")

    def start(self, *words):
        command = [NANOCODER, "batch", "tasks.jsonl", "--runner", "dask", "--results", "results"]
        return subprocess.Popen(
            [*command, *words],
            cwd=self.folder,
            env=self.nanocoder.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def results(self):
        path = self.folder / "results" / "results.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def wait_for_results(self, count):
        deadline = time.monotonic() + WAIT_S
        while len(self.results) < count:
            assert time.monotonic() < deadline, "no results"
            time.sleep(0.05)

    def finish(self, batch):
        out, err = batch.communicate(timeout=WAIT_S)
        assert err == ""
        assert sorted(result["id"] for result in self.results) == self.ids
        return [json.loads(line) for line in out.splitlines()]


def workers_of(fleet):
    """Return the numbers of the processes that have given results, the busiest first."""
    counts = Counter(result["worker"] for result in fleet.results)
    return [int(worker.rpartition(":")[2]) for worker, _ in counts.most_common()]


@pytest.mark.contract("K1")
def test_a_worker_that_is_killed_costs_no_task_and_doubles_none(nanocoder):
    fleet = Fleet(nanocoder, 40, seconds=0.3)
    batch = fleet.start("--workers", "3")
    fleet.wait_for_results(8)
    os.kill(workers_of(fleet)[0], signal.SIGKILL)
    assert fleet.finish(batch)[-1]["solved"] == 40
    assert batch.returncode == 0


def test_a_driver_that_is_killed_leaves_results_with_which_another_goes_on(nanocoder):
    fleet = Fleet(nanocoder, 24, seconds=0.3)
    batch = fleet.start("--workers", "2")
    fleet.wait_for_results(4)
    workers = workers_of(fleet)
    batch.kill()
    batch.communicate()
    assert 4 <= len(fleet.results) < 24
    again = fleet.start("--workers", "2")
    assert fleet.finish(again)[0]["skipped"] >= 4
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{number}").exists() for number in workers):
        assert time.monotonic() < deadline, "a worker outlived its driver"
        time.sleep(0.1)


def test_ctrl_c_keeps_what_is_done(nanocoder):
    fleet = Fleet(nanocoder, 12, seconds=1.0)
    batch = fleet.start("--workers", "2")
    fleet.wait_for_results(2)
    os.killpg(batch.pid, signal.SIGINT)  # as a terminal does
    out, err = batch.communicate(timeout=60)
    assert (batch.returncode, err) == (130, "")
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    kept = len(fleet.results)
    assert 2 <= kept < 12
    assert fleet.finish(fleet.start("--workers", "2"))[0]["skipped"] == kept


def test_all_workers_share_the_places_and_the_rate_of_a_provider(nanocoder):
    fleet = Fleet(nanocoder, 8, seconds=0.5)
    fleet.configure("concurrency = { scripted = 1 }\nper_minute = { scripted = 600 }")
    events = fleet.finish(fleet.start("--workers", "3"))
    assert len({result["worker"] for result in fleet.results}) > 1
    at = [event["at"] for event in events if event["type"] == "task.finished"]
    # One after the other on all workers: eight requests of half a second each.
    assert max(at) - min(at) > 7 * 0.5 * 0.9


@pytest.fixture
def scheduler(nanocoder):
    """A scheduler and a worker of their own, as on other machines; yields the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    common = {"cwd": nanocoder.cwd, "env": nanocoder.environment, "stderr": subprocess.DEVNULL}
    dask = [str(Path(sys.executable).with_name("dask"))]
    commands = [
        [*dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
        [*dask, "worker", address, "--nthreads", "2", "--no-dashboard", "--resources", "gpu=1"],
    ]
    processes = [subprocess.Popen(command, **common) for command in commands]
    yield address
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(30)


def test_a_scheduler_elsewhere_gives_tasks_to_workers_with_the_resources(nanocoder, scheduler):
    fleet = Fleet(nanocoder, 6)
    fleet.configure("resources = { gpu = 1 }\nper_minute = { scripted = 6000 }")
    assert fleet.finish(fleet.start("--scheduler", scheduler))[-1]["solved"] == 6


def test_a_scheduler_that_does_not_answer_is_an_error(nanocoder):
    fleet = Fleet(nanocoder, 1)
    batch = fleet.start("--scheduler", "tcp://127.0.0.1:9")
    _, err = batch.communicate(timeout=60)
    assert batch.returncode == 2
    assert re.search(r"no scheduler answers at tcp://127\.0\.0\.1:9", err)
    assert "Traceback" not in err
