import pytest
from nanocoder import Cancel, Cancelled, ProviderError, Retrying
from nanocoder_kit_llm.http import Client, FinalError, Retry
from nanocoder_kit_llm.http.breaker import BUDGET_S, RETRIES, RetryBudget
from nanocoder_testing.server import ScriptedServer, events, refusal


class Attempts:
    """Raises the given errors one after the other, then answers."""

    def __init__(self, *errors, first=()):
        self.errors = list(errors)
        self.first = first
        self.made = 0

    def __call__(self):
        self.made += 1
        yield from self.first
        if self.errors:
            raise self.errors.pop(0)
        yield ["answer"]


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def retry(pauses):
    return Retry(chance=lambda: 1.0, sleep=lambda _, seconds: pauses.append(seconds))


def error(kind="overloaded", **fields):
    return ProviderError("busy", kind=kind, **fields)


def answers(retry, attempts):
    """Return what the attempts yield, without the news of repetitions."""
    pieces = retry.run(attempts, Cancel())
    return [piece for piece in pieces if not isinstance(piece, Retrying)]


def test_pauses_double_up_to_ten_seconds_and_the_seventh_failure_is_told(retry, pauses):
    attempts = Attempts(*[error() for _ in range(9)])
    with pytest.raises(ProviderError, match=r"busy \(tried 7 times\)"):
        list(retry.run(attempts, Cancel()))
    assert attempts.made == 7
    assert pauses == [1, 2, 4, 8, 10, 10]


@pytest.mark.contract("NT-66")
def test_clients_that_fail_together_come_back_at_different_times_and_none_too_early(pauses):
    retry = Retry(sleep=lambda _, seconds: pauses.append(seconds))
    for _ in range(20):
        list(retry.run(Attempts(error()), Cancel()))
    assert len(set(pauses)) > 10
    assert all(0.5 <= pause <= 1 for pause in pauses)


def test_half_of_a_pause_is_left_to_chance(pauses):
    retry = Retry(chance=lambda: 0.5, sleep=lambda _, seconds: pauses.append(seconds))
    list(retry.run(Attempts(error(), error()), Cancel()))
    assert pauses == [0.75, 1.5]


def test_a_server_that_asks_for_no_pause_gets_our_own(retry, pauses):
    list(retry.run(Attempts(error("rate_limit", retry_after_s=0.0)), Cancel()))
    assert pauses == [1]


@pytest.mark.contract("F13")
def test_each_repetition_is_told_before_its_pause(retry):
    attempts = Attempts(error("rate_limit", status=429, retry_after_s=40), error())
    first, second, answer = retry.run(attempts, Cancel())
    assert first == Retrying("busy", attempt=2, of=7, status=429, delay_s=40)
    assert second == Retrying("busy", attempt=3, of=7, delay_s=2)
    assert answer == "answer"


@pytest.mark.parametrize("kind", ["network", "overloaded", "rate_limit", "unavailable"])
def test_what_may_pass_is_asked_again(retry, kind):
    assert answers(retry, Attempts(error(kind))) == ["answer"]


def test_the_server_knows_best_whether_another_try_helps(retry):
    assert answers(retry, Attempts(error("bad_request", retry=True))) == ["answer"]
    with pytest.raises(ProviderError):
        list(retry.run(Attempts(error("unavailable", retry=False)), Cancel()))


@pytest.mark.parametrize(
    "problem",
    [
        *map(error, ["auth", "quota", "bad_request", "not_found", "context_overflow", "protocol"]),
        FinalError("no", kind="network"),
    ],
)
def test_what_will_not_pass_is_not_asked_again(retry, problem):
    attempts = Attempts(problem)
    with pytest.raises(ProviderError):
        list(retry.run(attempts, Cancel()))
    assert attempts.made == 1


def test_an_answer_of_which_something_came_is_not_asked_for_again(retry):
    attempts = Attempts(error(), first=[["text"]])
    with pytest.raises(ProviderError):
        list(retry.run(attempts, Cancel()))
    assert attempts.made == 1


def test_an_answer_that_began_without_anything_to_show_is_asked_for_again(retry):
    assert answers(retry, Attempts(error(), first=[[]])) == ["answer"]


def test_what_the_server_asks_to_wait_is_waited_up_to_two_minutes(retry, pauses):
    list(retry.run(Attempts(error("rate_limit", retry_after_s=119)), Cancel()))
    assert pauses == [119]
    attempts = Attempts(error("rate_limit", retry_after_s=86400))
    with pytest.raises(ProviderError):
        list(retry.run(attempts, Cancel()))
    assert (attempts.made, pauses) == (1, [119])


def test_a_cancel_ends_the_pause_and_the_trying():
    cancel = Cancel()
    attempts = Attempts(error(retry_after_s=60))
    retry = Retry(sleep=lambda waiting, seconds: (cancel.set(), waiting.wait(seconds)))
    with pytest.raises(Cancelled):
        list(retry.run(attempts, cancel))
    assert attempts.made == 1


@pytest.mark.contract("NT-66")
def test_all_sessions_share_thirty_repetitions_in_five_minutes():
    now = [0.0]
    budget = RetryBudget(lambda: now[0])
    retry = Retry(budget=budget, sleep=lambda _, seconds: None)
    sessions = [Attempts(*[error() for _ in range(9)]) for _ in range(6)]
    for attempts in sessions:
        with pytest.raises(ProviderError):
            answers(retry, attempts)
    assert [attempts.made for attempts in sessions] == [7, 7, 7, 7, 7, 1]
    with pytest.raises(ProviderError, match=r"busy \(not tried again: 30 requests to this server"):
        answers(retry, Attempts(error()))
    assert answers(retry, Attempts()) == ["answer"]
    now[0] = BUDGET_S
    assert answers(retry, Attempts(error())) == ["answer"]


@pytest.mark.contract("NT-66")
def test_clients_of_one_server_share_its_budget():
    first, second, other = map(Client, ["http://a.invalid", "http://a.invalid", "http://b.invalid"])
    assert first.budget is second.budget
    assert first.budget is not other.budget


@pytest.mark.contract("NT-66")
def test_a_server_that_fails_every_second_request_is_asked_again_thirty_times_and_no_more():
    every_second = [refusal(503), events(1)] * (RETRIES + 3)
    with ScriptedServer(*every_second) as server:
        clients = [Client(server.url) for _ in range(2)]

        def ask(number):
            client = clients[number % 2]
            retry = Retry(budget=client.budget, sleep=lambda _, seconds: None)
            return answers(retry, lambda: client.stream_events("/x", b"{}", Cancel()))

        for number in range(RETRIES):
            assert ask(number)
        for number in range(3):
            if number % 2:  # every second request still works: it needs no repetition
                assert ask(number)
                continue
            with pytest.raises(ProviderError, match="30 requests to this server were repeated"):
                ask(number)
        for client in clients:
            client.close()
        assert len(server.seen) == 2 * RETRIES + 3
