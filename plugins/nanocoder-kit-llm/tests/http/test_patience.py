"""Servers that load a model or read a long prompt are waited for."""

import threading

import pytest
from nanocoder import Cancelled, Notice, ProviderError
from nanocoder_kit_llm.http import Timeouts, provider
from nanocoder_kit_llm.http.provider import waited_for
from nanocoder_kit_llm.http.timers import RequestTimers


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(provider, "NOTICE_S", 0.01)


def drained(waiting):
    """Return the notices of *waiting*, and what it returns."""
    notices = []
    while True:
        try:
            notices += next(waiting)
        except StopIteration as end:
            return notices, end.value


def test_how_long_a_first_piece_takes_is_shown_and_nothing_is_lost():
    go_on = threading.Event()

    def batches():
        go_on.wait()
        yield from (1, 2, 3)

    waiting = waited_for(batches(), "box:8080")
    (first,) = next(waiting)
    assert isinstance(first, Notice)
    assert first.is_passing
    assert first.text.startswith("box:8080 loads the model or reads the prompt, ")
    go_on.set()
    assert list(drained(waiting)[1]) == [1, 2, 3]


@pytest.mark.parametrize("error", [ProviderError("no"), Cancelled("stop")])
def test_a_failure_while_waiting_is_that_of_the_request(error):
    def batches():
        yield from ()
        raise error

    _, result = drained(waited_for(batches(), "h"))
    with pytest.raises(type(error)):
        list(result)


def test_a_server_that_sends_nothing_gives_nothing():
    assert list(drained(waited_for((_ for _ in ()), "h"))[1]) == []


def test_one_request_after_another_waits_on_the_same_thread():
    threads = set()

    def batches():
        threads.add(threading.current_thread())
        yield 1

    for _ in range(3):
        assert list(drained(waited_for(batches(), "h"))[1]) == [1]
    assert len(threads) == 1


def test_a_patient_wait_has_no_limit_until_the_first_event():
    timers = RequestTimers(Timeouts(header_s=1, idle_s=2, progress_s=3), "h", is_patient=True)
    assert timers.read_s() == float("inf")
    timers.answered()
    assert timers.read_s() == float("inf")
    timers.progressed()
    assert timers.read_s() <= 2


def test_a_server_nearby_that_took_too_long_for_its_header_is_not_asked_twice():
    limits = Timeouts(header_s=0.001)
    near, far = (RequestTimers(limits, "h", asks_once=once) for once in (True, False))
    assert [timers.expired().retry for timers in (near, far)] == [False, None]
