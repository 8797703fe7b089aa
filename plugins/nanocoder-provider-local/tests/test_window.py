"""What a model is shown of a session that has outgrown its window, and what the person is told."""

import pytest
from nanocoder import Message, ProviderError, Request, ToolCall, ToolDefinition, ToolResult
from nanocoder_kit_llm.actions.actions import Actions
from nanocoder_provider_local.settings import Settings
from nanocoder_provider_local.window import LEFT_OUT, Window, count

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolDefinition("read_file", "Read a text file.", PATH)
ACTIONS = Actions.of([READ])


def step(number, output):
    call = ToolCall(f"c{number}", "read_file", {"path": f"{number}.txt"})
    return [
        Message("assistant", calls=(call,)),
        Message("tool", results=(ToolResult(output, call_id=call.id),)),
    ]


def long_session(steps=8, filler="x"):
    messages = [Message("user", "The request")]
    for number in range(steps):
        messages += step(number, f"output {number} " + filler * 900)
    return messages


def window(tokens):
    return Window(Settings(context=tokens + 1_536))


def fitted(window, messages):
    return window.fit(Request("m", "You are a coding agent.", messages, [READ]), ACTIONS)


def text_of(fitted):
    return "\n".join(turn["content"] for turn in fitted.turns)


def size(fitted):
    return sum(count(turn["content"]) for turn in fitted.turns)


def test_what_fits_is_shown_whole_and_without_a_word():
    turns = fitted(window(2_000), long_session(steps=2))

    assert "output 0" in text_of(turns)
    assert turns.notice == ""


def test_a_long_session_loses_its_oldest_results_first_and_the_person_is_told():
    turns = fitted(window(2_000), long_session())

    assert size(turns) <= 2_000
    assert "The request" in text_of(turns)
    assert LEFT_OUT in text_of(turns)
    assert "output 0" not in text_of(turns)
    assert "output 7" in text_of(turns)
    assert '"0.txt"' in text_of(turns), "what was done is still there"
    assert "window of 3,536 tokens" in turns.notice
    assert "it does not see 6 older messages" in turns.notice


def test_what_was_left_out_stays_out_so_that_the_prompt_keeps_its_beginning():
    messages = long_session()
    fitter = window(2_000)
    first = fitted(fitter, messages)

    second = fitted(fitter, [*messages, *step(9, "short")])

    assert second.turns[: len(first.turns)] == first.turns
    assert second.notice == "", "it was told before"


def test_the_latest_request_stays_however_many_steps_it_takes():
    talk = [Message("user", "The first request"), Message("assistant", "Done.")]
    steps = [message for number in range(9) for message in step(number, "x" * 1_500)]

    turns = fitted(window(2_000), [*talk, Message("user", "The second request"), *steps])

    assert "The second request" in text_of(turns)
    assert size(turns) <= 2_000


def test_one_overlong_result_is_cut_in_its_middle_and_the_person_is_told():
    turns = fitted(
        window(2_000), [Message("user", "The request"), *step(1, "head " + "x" * 90_000 + " tail")]
    )

    assert size(turns) <= 2_000
    assert "head" in turns.turns[-1]["content"]
    assert "tail" in turns.turns[-1]["content"]
    assert "characters left out" in turns.turns[-1]["content"]
    assert "characters of the last result" in turns.notice


def test_an_overlong_result_goes_before_what_was_said_earlier():
    talk = [Message("user", "Call me Ada"), Message("assistant", "Hello Ada.")]
    turns = fitted(window(2_000), [*talk, Message("user", "Read it"), *step(1, "x" * 90_000)])

    assert "Call me Ada" in text_of(turns)
    assert "it does not see 87," in turns.notice


def test_a_result_that_was_cut_is_cut_again_by_the_engines_count():
    messages = [Message("user", "The request"), *step(1, "7" * 9_000)]
    fitter = window(2_000)
    first = fitted(fitter, messages)
    real = 3 * size(first)  # each digit is a token

    assert not fitter.measure(first.turns, real)
    second = fitted(fitter, messages)

    assert 300 < size(second) < size(first) / 2


def test_a_request_that_is_too_long_is_refused_with_the_limits_and_never_cut():
    with pytest.raises(ProviderError, match=r"about 30,\d\d\d tokens, and 2,000 fit") as refused:
        fitted(window(2_000), [Message("user", "x" * 90_000)])

    assert refused.value.kind == "context_overflow"
    assert "a window of 3,536" in str(refused.value)


def test_a_request_that_may_fit_is_left_to_the_engine_to_count():
    messages = [Message("user", "x" * 9_000)]
    fitter = window(2_000)

    turns = fitted(fitter, messages)

    assert "x" * 9_000 in text_of(turns)
    assert fitter.measure(turns.turns, 1_900)
    assert fitted(fitter, messages).turns == turns.turns
    assert not fitter.measure(turns.turns, 2_600)
    with pytest.raises(ProviderError, match="it has 2,600 tokens"):
        fitted(fitter, messages)


def test_after_a_request_that_was_refused_a_shorter_one_is_heard():
    turns = fitted(window(2_000), [Message("user", "x" * 90_000), Message("user", "Shorter")])

    assert turns.turns[-1]["content"] == "Shorter"


def test_the_engines_own_count_corrects_ours():
    messages = long_session(filler="7")
    fitter = window(3_500)
    first = fitted(fitter, messages)

    fitter.measure(first.turns, 8_000)

    assert len(text_of(fitted(fitter, messages))) < len(text_of(first))
