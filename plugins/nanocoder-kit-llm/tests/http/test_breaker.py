"""A server that fails again and again is left alone for a while, by all its clients."""

import pytest
from nanocoder import Cancel, ProviderError
from nanocoder_kit_llm.http import Client
from nanocoder_kit_llm.http.breaker import FORGET_S, OPEN_AFTER, OPEN_S, Breaker
from nanocoder_testing.server import ScriptedServer, events, refusal


def ask(client):
    return list(client.stream_events("/x", b"{}", Cancel()))


@pytest.mark.contract("F13")
@pytest.mark.contract("NT-66")
def test_a_server_that_fails_again_and_again_is_left_alone_by_all_its_clients():
    with ScriptedServer(refusal(503)) as server:
        first, second = Client(server.url), Client(server.url)
        for number in range(OPEN_AFTER):
            with pytest.raises(ProviderError, match="answered 503"):
                ask(first if number % 2 else second)
        for client in (first, second):
            with pytest.raises(ProviderError, match="failed 14 times in a row") as caught:
                ask(client)
            assert (caught.value.kind, caught.value.retry) == ("unavailable", False)
            client.close()
        assert len(server.seen) == OPEN_AFTER


def test_an_answer_and_a_refusal_of_our_own_making_count_for_nothing():
    answers = (
        [refusal(503)] * (OPEN_AFTER - 1) + [events(1)] + [refusal(503), refusal(400)] * OPEN_AFTER
    )
    with ScriptedServer(*answers) as server:
        client = Client(server.url)
        for number in range(OPEN_AFTER * 2):
            if number == OPEN_AFTER - 1:
                assert ask(client)
            else:
                with pytest.raises(ProviderError, match="answered"):
                    ask(client)
        client.close()


def broken(clock):
    breaker = Breaker(lambda: clock[0])
    for _ in range(OPEN_AFTER):
        breaker.counted(ProviderError("no", kind="network"))
    return breaker


def test_one_request_tries_the_server_after_the_pause_and_an_answer_lets_all_through():
    clock = [0.0]
    breaker = broken(clock)
    with pytest.raises(ProviderError, match="30 s more"):
        breaker.check("host")
    clock[0] = OPEN_S
    breaker.check("host")
    with pytest.raises(ProviderError):
        breaker.check("host")
    breaker.succeeded()
    breaker.check("host")


def test_old_failures_are_forgotten():
    clock = [0.0]
    breaker = broken(clock)
    clock[0] = FORGET_S + 1
    breaker.counted(ProviderError("no", kind="network"))
    breaker.check("host")
    breaker.check("host")
