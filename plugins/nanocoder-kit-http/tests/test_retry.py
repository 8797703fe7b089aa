import pytest
from nanocoder import Cancel, Cancelled, ProviderError
from nanocoder_kit_http import FinalError, Retry


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


def test_pauses_double_up_to_eight_seconds_and_the_fifth_failure_is_told(retry, pauses):
    attempts = Attempts(*[error() for _ in range(9)])
    with pytest.raises(ProviderError, match=r"busy \(tried 5 times\)"):
        list(retry.run(attempts, Cancel()))
    assert attempts.made == 5
    assert pauses == [0.5, 1, 2, 4]
    assert list(
        Retry(tries=9, chance=lambda: 1, sleep=retry.sleep).run(
            Attempts(*[error() for _ in range(6)]), Cancel()
        )
    ) == ["answer"]
    assert pauses[4:] == [0.5, 1, 2, 4, 8, 8]


def test_jitter_is_full(pauses):
    retry = Retry(chance=lambda: 0.25, sleep=lambda _, seconds: pauses.append(seconds))
    list(retry.run(Attempts(error(), error()), Cancel()))
    assert pauses == [0.125, 0.25]


@pytest.mark.parametrize("kind", ["network", "overloaded", "rate_limit", "unavailable"])
def test_what_may_pass_is_asked_again(retry, kind):
    assert list(retry.run(Attempts(error(kind)), Cancel())) == ["answer"]


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


@pytest.mark.parametrize("first", [[["text"]], [[]]])
def test_an_answer_that_has_begun_is_never_asked_for_again(retry, first):
    attempts = Attempts(error(), first=first)
    with pytest.raises(ProviderError):
        list(retry.run(attempts, Cancel()))
    assert attempts.made == 1


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
