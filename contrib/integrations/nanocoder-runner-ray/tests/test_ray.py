"""The runner `ray` on real processes of Ray: a worker that is killed, shared limits, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

NANOCODER = str(Path(sys.executable).with_name("nanocoder"))


class Fleet:
    """A folder with tasks of a scripted model, and what a batch left of them."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "source").mkdir()
        self.environment = {**os.environ, "HOME": str(folder)}

    def write(self, count, seconds=0.0, start=0):
        name = f"script-{seconds}.json"
        turns = [{"text": "done", "delay_s": seconds}]
        (self.folder / name).write_text(json.dumps({"turns": turns}))
        model = f"scripted/{self.folder / name}"
        with (self.folder / "tasks.jsonl").open("a") as file:
            for number in range(start, start + count):
                row = {"id": f"t{number}", "prompt": "x", "cwd": "source", "model": model}
                file.write(json.dumps(row) + "\n")

    def configure(self, text):
        folder = self.folder / ".config/nanocoder"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(f"[plugins.runner-ray]\n{text}\n")

    def start(self, *words):
        command = [NANOCODER, "batch", "tasks.jsonl", "--runner", "ray", "--results", "results"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(
            [*command, *words],
            cwd=self.folder,
            env=self.environment,
            start_new_session=True,
            **pipes,
        )

    def finish(self, batch):
        out, error = batch.communicate(timeout=200)
        assert error == ""
        return [json.loads(line) for line in out.splitlines()]

    @property
    def results(self):
        path = self.folder / "results/results.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def wait_for(self, count):
        deadline = time.monotonic() + 120
        while len(self.results) < count:
            assert time.monotonic() < deadline, "no results"
            time.sleep(0.1)


@pytest.fixture
def fleet(tmp_path):
    return Fleet(tmp_path)


def test_a_worker_that_is_killed_costs_no_task_and_doubles_none(fleet):
    fleet.write(4)
    fleet.write(8, seconds=2.0, start=4)
    batch = fleet.start("--workers", "2")
    fleet.wait_for(4)
    os.kill(int(fleet.results[-1]["worker"].rpartition(":")[2]), signal.SIGKILL)
    events = fleet.finish(batch)
    assert (batch.returncode, events[-1]["solved"]) == (0, 12)
    assert sorted(result["id"] for result in fleet.results) == sorted(f"t{n}" for n in range(12))


def test_all_workers_share_the_places_of_a_provider(fleet):
    fleet.configure("concurrency = { scripted = 1 }\nper_minute = { scripted = 600 }")
    fleet.write(6, seconds=0.5)
    events = fleet.finish(fleet.start("--workers", "2"))
    at = [event["at"] for event in events if event["type"] == "task.finished"]
    assert len({result["worker"] for result in fleet.results}) > 1
    assert max(at) - min(at) > 5 * 0.5 * 0.9


def test_a_worker_that_is_killed_keeps_no_place_of_a_provider(fleet):
    fleet.configure("concurrency = { scripted = 1 }")
    fleet.write(1)
    fleet.write(2, seconds=5.0, start=1)
    batch = fleet.start("--workers", "1")
    fleet.wait_for(1)
    time.sleep(2.5)  # the next task has sent its request
    os.kill(int(fleet.results[-1]["worker"].rpartition(":")[2]), signal.SIGKILL)
    events = fleet.finish(batch)
    assert (batch.returncode, events[-1]["solved"]) == (0, 3)


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(fleet):
    fleet.write(2)
    fleet.write(4, seconds=1_000.0, start=2)
    batch = fleet.start("--workers", "2")
    fleet.wait_for(2)
    batch.send_signal(signal.SIGINT)
    events = fleet.finish(batch)
    assert (batch.returncode, events[-1]["interrupted"]) == (130, True)
    assert len(fleet.results) == 2
    (fleet.folder / "script-1000.0.json").write_text('{"turns": [{"text": "done"}]}')
    events = fleet.finish(fleet.start("--workers", "2"))
    assert (events[0]["skipped"], len(fleet.results)) == (2, 6)


def test_an_address_without_a_cluster_is_an_error(fleet):
    fleet.write(1)
    batch = fleet.start("--scheduler", "127.0.0.1:9")
    _, error = batch.communicate(timeout=120)
    assert (batch.returncode, "no Ray cluster answers at 127.0.0.1:9" in error) == (2, True), error
    assert "Traceback" not in error
