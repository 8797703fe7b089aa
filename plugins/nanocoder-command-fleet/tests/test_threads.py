"""The runner `threads`: each job once, in as many threads as asked for, within the limits."""

import threading
import time

import pytest
from nanocoder import Cancel
from nanocoder_runner_threads import Settings, run_in_threads


def options(workers):
    return {"workers": workers, "scheduler": ""}


def test_each_job_comes_back_once_with_what_became_of_it():
    def work(job, _cancel, _admit):
        if job["n"] == 3:
            raise ValueError("three")
        return job["n"] * 2

    jobs = [{"n": n} for n in range(20)]
    running = run_in_threads(work, jobs, Cancel(), options(4), Settings())
    outcomes = {job["n"]: outcome for job, outcome in running}
    assert str(outcomes.pop(3)) == "three"
    assert outcomes == {n: n * 2 for n in range(20) if n != 3}


def test_no_more_jobs_work_at_once_than_there_are_workers_and_places():
    now, most, lock = [0], [0], threading.Lock()

    def work(_job, _cancel, admit):
        with admit("acme"):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.02)
            with lock:
                now[0] -= 1

    jobs = [{"n": n} for n in range(12)]
    list(run_in_threads(work, jobs, Cancel(), options(4), Settings()))
    assert most[0] == 4
    most[0] = 0
    settings = Settings(concurrency={"acme": 2})
    list(run_in_threads(work, jobs, Cancel(), options(4), settings))
    assert most[0] == 2


def test_a_rate_holds_for_all_threads():
    sent = []

    def work(_job, _cancel, admit):
        with admit("acme"):
            sent.append(time.monotonic())

    settings = Settings(per_minute={"acme": 60 * 20})  # one every 50 ms, after a burst of 120
    jobs = [{"n": n} for n in range(124)]
    list(run_in_threads(work, jobs, Cancel(), options(4), settings))
    assert max(sent) - min(sent) >= 3 * 0.05


def test_after_an_interrupt_no_job_begins():
    cancel, begun = Cancel(), []

    def work(job, own, _admit):
        begun.append(job["n"])
        if len(begun) == 2:
            cancel.set()
        own.wait(40)
        own.check()

    jobs = [{"n": n} for n in range(50)]
    outcomes = list(run_in_threads(work, jobs, cancel, options(2), Settings()))
    assert (len(begun), len(outcomes)) == (2, 2)


def test_closing_the_runner_stops_its_threads():
    def work(_job, _cancel, _admit):
        return 1

    running = run_in_threads(work, [{"n": n} for n in range(50)], Cancel(), options(2), Settings())
    next(running)
    running.close()
    assert not [each for each in threading.enumerate() if each.name == "nanocoder-batch"]


@pytest.mark.parametrize("value", [0, -1, "4", True])
def test_a_limit_is_a_number_above_0(value):
    with pytest.raises(ValueError, match="acme is"):
        Settings(concurrency={"acme": value})
