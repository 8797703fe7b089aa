"""Replies that break off, repeat themselves or are withheld."""

import threading
import time

import pytest
from nanocoder import (
    Cancelled,
    Effect,
    Finished,
    Notice,
    ProviderError,
    Retrying,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
    UsageError,
    hookimpl,
    repeats_itself,
    tool,
    without_password,
)
from nanocoder_testing import Scripted, Tools, opened, play


@tool(risk="safe", effects={Effect.READ})
def look(at: str = "here") -> str:
    """Look somewhere."""
    return f"nothing at {at}"


@tool(risk="medium", effects={Effect.WRITE})
def change(to: str = "x") -> str:
    """Change something."""
    return f"changed to {to}"


TOOLS = {"tools": Tools(look, change)}


class Breaking(Scripted):
    """Breaks off *times* replies after some text, then plays its turns."""

    def __init__(self, turns, *, times, error=None):
        super().__init__(turns)
        self.left = times
        self.error = error or ProviderError("the server went away", kind="network")

    def stream(self, request, cancel):
        if self.left:
            self.left -= 1
            yield TextDelta("Half a sen")
            raise self.error
        yield from super().stream(request, cancel)


def test_a_reply_that_breaks_off_is_asked_for_again_and_said_once(tmp_path):
    model = Breaking(["The whole sentence."], times=2)
    played = play(tmp_path, [], plugins=TOOLS, model=model)
    assert (played.report["stop_reason"], played.text) == ("done", "The whole sentence.")
    again = [event.data for event in played.events if event.kind == "request.retrying"]
    assert [(one["attempt"], one["of"], one["discarded"]) for one in again] == [
        (2, 3, 10),
        (3, 3, 10),
    ]
    assert "broke off" in again[0]["message"]
    assert [message.role for message in played.messages] == ["user", "assistant"]


def test_a_reply_that_breaks_off_three_times_ends_the_run_and_keeps_its_text(tmp_path):
    model = Breaking(["never"], times=3)
    played = play(tmp_path, [], plugins=TOOLS, model=model)
    assert played.report["stop_reason"] == "provider_error"
    assert played.messages[-1].text.startswith("Half a sen\n[the connection broke off")


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("no", kind="network", retry=False),
        ProviderError("too long", kind="context_overflow"),
    ],
)
def test_what_another_try_would_only_repeat_is_not_asked_for_again(tmp_path, error):
    model = Breaking(["never"], times=9, error=error)
    assert play(tmp_path, [], plugins=TOOLS, model=model).report["stop_reason"] == "provider_error"
    assert model.left == 8


def test_a_retry_of_the_provider_is_an_event(tmp_path):
    class Busy(Scripted):
        def stream(self, request, cancel):
            yield Retrying("busy", attempt=2, of=7, status=429, delay_s=40.0)
            yield from super().stream(request, cancel)

    played = play(tmp_path, [], plugins=TOOLS, model=Busy(["Done."]))
    (event,) = [event for event in played.events if event.kind == "request.retrying"]
    assert (event.data["status"], event.data["delay_s"]) == (429, 40.0)
    assert event.data["message"] == "busy; asking again in 40 s, try 2 of 7"


def test_what_a_provider_does_just_now_is_an_event_that_passes(tmp_path):
    class Reading(Scripted):
        def stream(self, request, cancel):
            yield Notice("reading the prompt, 34 %", is_passing=True)
            yield from super().stream(request, cancel)

    played = play(tmp_path, [], plugins=TOOLS, model=Reading(["Done."]))
    events = [event for event in played.events if event.kind in {"notice", "request.progress"}]
    assert [(event.kind, event.data) for event in events] == [
        ("request.progress", {"text": "reading the prompt, 34 %"})
    ]


def test_what_was_said_until_an_interrupt_stays_in_the_session(tmp_path):
    class Slow(Scripted):
        def stream(self, request, cancel):
            yield TextDelta("The answer is")
            cancel.wait()
            raise Cancelled("interrupted")

    with opened(tmp_path, plugins=TOOLS, model=Slow([])) as (session, _):
        for event in session.run("go"):
            if event.kind == "text":
                session.interrupt()
        assert session.messages[-1].text == "The answer is\n[interrupted here]"
        assert session.report.stop_reason == "interrupted"


@pytest.mark.parametrize("calls", [(), (ToolCall("c", "change", {}),)])
def test_a_reply_that_a_filter_stopped_is_no_success(tmp_path, calls):
    turns = [Finished("Half", calls, refusal="example.org stopped the reply: content filter")]
    played = play(tmp_path, turns, plugins=TOOLS)
    assert played.report["stop_reason"] == "refused"
    assert played.report["error"]["message"].endswith("content filter")
    assert all(result.error_class == "not_run" for result in played.results)


def test_a_reply_without_end_is_given_up(tmp_path):
    class Endless(Scripted):
        def stream(self, request, cancel):
            number = 0
            while True:
                number += 1
                yield ThinkingDelta("".join(f"{number}.{place}" for place in range(100_000)))

    played = play(tmp_path, [], plugins=TOOLS, model=Endless([]))
    assert "longer than" in played.report["error"]["message"]


def test_more_calls_than_anybody_reads_are_answered_and_do_not_run(tmp_path):
    calls = [("look", {"at": str(number)}) for number in range(1_000)]
    played = play(tmp_path, [calls, "Done."], plugins=TOOLS)
    assert len(played.results) == 1_000
    assert sum(result.output.startswith("nothing at") for result in played.results) == 128
    assert "too many calls" in played.results[128].output


def test_the_calls_of_a_turn_share_some_threads(tmp_path):
    counts = []

    @tool(risk="safe", effects={Effect.READ})
    def count(at: str = "") -> str:
        """Count the threads."""
        counts.append(threading.active_count())
        time.sleep(0.01)
        return at

    class Counting:
        @hookimpl
        def nanocoder_tools(self):
            return [count]

    before = threading.active_count()
    calls = [("count", {"at": str(number)}) for number in range(128)]
    played = play(tmp_path, [calls, "Done."], plugins={"tools": Counting()})
    assert [result.output for result in played.results] == [str(number) for number in range(128)]
    assert max(counts) - before < 60


# Stuck


@pytest.mark.parametrize("period", [1, 80, 103, 700, 2_000])
def test_a_reply_that_repeats_itself_is_stopped_while_it_streams(tmp_path, period):
    passage = "".join(chr(97 + number * number % 26) for number in range(period - 1)) + "\n"

    class Stuck(Scripted):
        said = 0

        def stream(self, request, cancel):
            yield TextDelta("Well:\n")
            while True:
                self.said += len(passage)
                yield TextDelta(passage)

    model = Stuck([])
    played = play(tmp_path, [], plugins=TOOLS, model=model)
    assert played.report["stop_reason"] == "loop"
    assert model.said < 12_000
    assert "repeated" in played.messages[-1].text


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"| {number} | {number * number} |\n" for number in range(900)),
        "=" * 1_500,
        "words " * 200 + "and an end" + "." * 40,
    ],
)
def test_long_texts_that_only_look_alike_are_no_loop(text):
    assert not repeats_itself(text)


# Limits


def test_the_report_counts_the_turns_that_were_allowed_and_names_the_limit(tmp_path):
    turns = [[("look", {"at": str(number)})] for number in range(9)]
    report = play(tmp_path, turns, plugins=TOOLS, max_turns=2).report
    assert (report["stop_reason"], report["turns"]) == ("turn_limit", 2)
    assert "2 turns" in report["error"]["message"]


def test_a_limit_on_money_without_a_price_is_refused_at_the_start(tmp_path, home):
    environment = {"HOME": str(home), "NANOCODER_MAX_COST_USD": "1.0"}
    with (
        opened(tmp_path, ["Hello."], plugins=TOOLS, environment=environment) as (session, _),
        pytest.raises(UsageError, match="the price of script/play"),
    ):
        list(session.run("hi"))
    priced = [Finished("Hello.", usage=Usage(1, 1, cost=0.1))]
    played = play(tmp_path, priced, plugins=TOOLS, environment=environment)
    assert played.report["stop_reason"] == StopReason.DONE


def test_a_request_that_was_free_is_kept_as_free(tmp_path):
    turns = [Finished("Hello.", usage=Usage(1, 1, cost=cost)) for cost in (0.0, None)]
    with opened(tmp_path, turns, plugins=TOOLS) as (session, _):
        usages = [
            event.data["usage"]
            for prompt in ("a", "b")
            for event in session.run(prompt)
            if event.kind == "message" and "usage" in event.data
        ]
    assert usages == [
        {"input_tokens": 1, "output_tokens": 1, "cost": 0.0},
        {"input_tokens": 1, "output_tokens": 1},
    ]


def test_a_context_that_is_full_says_what_now(tmp_path):
    turns = [ProviderError("maximum context length is 8192", kind="context_overflow")]
    message = play(tmp_path, turns, plugins=TOOLS).report["error"]["message"]
    assert "no longer fits" in message
    assert "/rewind" in message
    assert "/clear" in message


# Addresses


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("socks5://user:PASSWORD@host:1", "socks5://***@host:1"),
        ("http://user:PASS/WORD@host/v1", "http://***@host/v1"),
        ("user:PASSWORD@host:3128", "***@host:3128"),
        ("the proxy 'http://PASSWORD@host' is away", "the proxy 'http://***@host' is away"),
        ("http://host/v1", "http://host/v1"),
        ("write to a@example.org", "write to a@example.org"),
    ],
)
def test_an_address_is_shown_without_its_password(text, shown):
    assert without_password(text) == shown


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_password_of_an_address_is_printed_or_kept(nanocoder, form):
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        '[plugins.provider-openai]\nbase_url = "http://u:BASEPASS@127.0.0.1:9/v1"\n'
        'proxy = "socks5://user:PROXYPASS@127.0.0.1:9"\n'
        '[plugins.provider-anthropic]\nbase_url = "https://example.invalid"\n'
        'proxy = "socks5://user:PROXYPASS@127.0.0.1:9"\nmax_retries = 0\n'
    )
    key = {"ANTHROPIC_API_KEY": "k"}
    printed = []
    for words in (
        ("config", "show", "--output", form),
        ("config", "where", "plugins.provider-openai.base_url", "--output", form),
        ("doctor", "--output", form),
        ("run", "--model", "openai/m", "--output", form, "hi"),
        ("run", "--model", "anthropic/m", "--output", form, "hi"),
    ):
        done = nanocoder(*words, env=key)
        printed += [done.stdout, done.stderr]
    journals = (nanocoder.home / ".local/state").rglob("*.jsonl")
    printed += [path.read_text() for path in journals]
    assert "127.0.0.1:9" in "".join(printed)
    assert not [text for text in printed if "PASS" in text]
