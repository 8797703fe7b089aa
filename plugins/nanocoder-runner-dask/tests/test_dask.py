"""The runner `dask` on real worker processes: killed ones, shared limits, a scheduler elsewhere."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

NANOCODER = str(Path(sys.executable).with_name("nanocoder"))
WAIT_S = 120
LONG_S = 1_000  # nothing waits for tasks that take so long


class Fleet:
    """Batches of one file of scripted tasks; the scripts say how long a task takes."""

    def __init__(self, nanocoder):
        self.nanocoder, self.folder = nanocoder, nanocoder.cwd
        (self.folder / "source").mkdir()
        (self.folder / "source" / "a.py").write_text("print(1)\n")
        self.ids = []
        self._batches = []

    def add(self, count, seconds=0.0, script="script.json"):
        """Add so many tasks to the file; each takes *seconds*."""
        self.write_script(script, seconds)
        ids = [f"t{len(self.ids) + number}" for number in range(count)]
        model = f"scripted/{self.folder / script}"
        rows = ({"id": id_, "prompt": "x", "cwd": "source", "model": model} for id_ in ids)
        with (self.folder / "tasks.jsonl").open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        self.ids += ids

    def write_script(self, name, seconds):
        turns = [{"text": "done", "delay_s": seconds}]
        (self.folder / name).write_text(json.dumps({"turns": turns}))

    def configure(self, text):
        folder = self.nanocoder.home / ".config" / "nanocoder"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(f"[plugins.runner-dask]\n{text}\n")

    def start(self, *words, **variables):
        command = [NANOCODER, "batch", "tasks.jsonl", "--runner", "dask", "--results", "results"]
        batch = subprocess.Popen(
            [*command, *words],
            cwd=self.folder,
            env={**self.nanocoder.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._batches.append(batch)
        return batch

    def close(self):
        """End what a failed test would leave running: each driver has a group with its workers."""
        for batch in self._batches:
            with suppress(ProcessLookupError):
                os.killpg(batch.pid, signal.SIGKILL)
            if not batch.stdout.closed:
                batch.communicate()

    @property
    def results(self):
        path = self.folder / "results" / "results.jsonl"
        text = path.read_text() if path.exists() else ""
        # The last line may be half written, by a driver at work or by one that was killed.
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def wait_for_results(self, count):
        deadline = time.monotonic() + WAIT_S
        while len(self.results) < count:
            assert time.monotonic() < deadline, "no results"
            time.sleep(0.05)

    def finish(self, batch):
        out, err = batch.communicate(timeout=WAIT_S)
        assert err == ""
        assert sorted(result["id"] for result in self.results) == sorted(self.ids)
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def fleet(nanocoder):
    fleet = Fleet(nanocoder)
    yield fleet
    fleet.close()


def workers_of(fleet):
    """Return the numbers of the processes that have given results, the busiest first."""
    counts = Counter(result["worker"] for result in fleet.results)
    return [int(worker.rpartition(":")[2]) for worker, _ in counts.most_common()]


def has_ended(handle):
    """Whether a process ends in time; /proc would keep one for which no parent waits."""
    try:
        return bool(select.select([handle], [], [], WAIT_S)[0])
    finally:
        os.close(handle)


@pytest.mark.contract("K1")
def test_a_worker_that_is_killed_costs_no_task_and_doubles_none(fleet):
    fleet.add(8)
    fleet.add(12, seconds=2.0)
    batch = fleet.start("--workers", "3")
    fleet.wait_for_results(8)
    os.kill(workers_of(fleet)[0], signal.SIGKILL)
    summary = fleet.finish(batch)[-1]
    assert [result for result in fleet.results if result["error"]] == []
    assert summary["solved"] == 20, summary
    assert batch.returncode == 0


@pytest.mark.full
def test_a_driver_that_is_killed_leaves_results_with_which_another_goes_on(fleet):
    fleet.add(4)
    fleet.add(20, seconds=LONG_S, script="long.json")
    batch = fleet.start("--workers", "2")
    fleet.wait_for_results(4)
    workers = [os.pidfd_open(number) for number in workers_of(fleet)]
    batch.kill()
    ended = [has_ended(worker) for worker in workers]
    assert all(ended), "a worker outlived its driver"
    assert len(fleet.results) == 4
    fleet.write_script("long.json", 0.0)
    assert fleet.finish(fleet.start("--workers", "2"))[0]["skipped"] == 4


@pytest.mark.full
def test_ctrl_c_keeps_what_is_done(fleet):
    fleet.add(2)
    fleet.add(10, seconds=LONG_S, script="long.json")
    batch = fleet.start("--workers", "2")
    fleet.wait_for_results(2)
    os.killpg(batch.pid, signal.SIGINT)  # as a terminal does
    out, err = batch.communicate(timeout=60)
    assert (batch.returncode, err) == (130, "")
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    assert len(fleet.results) == 2
    fleet.write_script("long.json", 0.0)
    assert fleet.finish(fleet.start("--workers", "2"))[0]["skipped"] == 2


@pytest.mark.full
def test_all_workers_share_the_places_and_the_rate_of_a_provider(fleet):
    fleet.add(8, seconds=0.5)
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


@pytest.mark.full
def test_a_scheduler_elsewhere_gives_tasks_to_workers_with_the_resources(fleet, scheduler):
    fleet.add(6)
    fleet.configure("resources = { gpu = 1 }\nper_minute = { scripted = 6000 }")
    assert fleet.finish(fleet.start("--scheduler", scheduler))[-1]["solved"] == 6


SLOW_DISK = """
import os, time
make = os.mkdir
def slowly(path, *more, **named):
    time.sleep(1.2 if "dask-scratch-space" in str(path) else 0)
    return make(path, *more, **named)
os.mkdir = slowly
"""


@pytest.mark.full
def test_a_slow_disk_leaves_no_warning_on_standard_error(fleet, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SLOW_DISK)
    (tmp_path / "temporary").mkdir()
    fleet.add(2)
    places = {"PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path / "temporary")}
    fleet.finish(fleet.start("--workers", "1", **places))


def test_a_scheduler_that_does_not_answer_is_an_error(fleet):
    fleet.add(1)
    batch = fleet.start("--scheduler", "tcp://127.0.0.1:9")
    _, err = batch.communicate(timeout=60)
    assert batch.returncode == 2
    assert re.search(r"no scheduler answers at tcp://127\.0\.0\.1:9", err)
    assert "Traceback" not in err
