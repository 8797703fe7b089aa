"""When a conversation has to be shortened, and how it comes back."""

from collections.abc import Sequence

import pytest
from nanocoder import Message, Request, Resource, ToolResult, Usage, UsageError, Window, hookimpl
from nanocoder_kit_sessions.context import ASSUMED_WINDOW, ROOM, Room, restore
from nanocoder_testing import Scripted, opened

NOTHING = Usage()
MODEL = "acme/m"
WORDS = "word " * 1_000
"""About a thousand tokens."""


def window(messages: Sequence[Message], tokens: int, usage: Usage = NOTHING, system: str = ""):
    return Window(Request("m", system, messages), tokens, usage)


def test_nothing_is_to_be_done_until_four_fifths_are_used():
    room, messages = Room(), [Message("user", WORDS)]
    assert room.limit_tokens(window(messages, 10_000), "", MODEL) == 0
    messages += [Message("assistant", WORDS), Message("user", WORDS)] * 4
    assert room.limit_tokens(window(messages, 10_000), "", MODEL) == 10_000


def test_what_stands_before_the_messages_is_taken_from_the_limit():
    room, messages = Room(), [Message("user", WORDS * 2)]
    limit = room.limit_tokens(window(messages, 3_000, system=WORDS), "", MODEL)
    assert 1_800 < limit < 2_200


def test_an_unknown_window_is_assumed():
    assert Room().limit_tokens(window([Message("user", "go")], 0), "asked", MODEL) == ASSUMED_WINDOW
    full = [Message("user", WORDS * 30)]
    assert Room().limit_tokens(window(full, 0), "", MODEL) == ASSUMED_WINDOW


def test_a_person_need_not_wait_until_the_window_is_full():
    room, messages = Room(), [Message("user", "go")]
    assert room.limit_tokens(window(messages, 10_000), "asked", MODEL) == 10_000


def test_what_the_model_counted_raises_the_estimate():
    room, messages = Room(), [Message("user", "go")]
    assert room.limit_tokens(window(messages, 10_000), "", MODEL) == 0
    messages += [Message("assistant", "so"), Message("user", "on")]
    counted = Usage(input_tokens=5_000, cache_read_tokens=2_500, output_tokens=1_000)
    assert room.limit_tokens(window(messages, 10_000, counted), "", MODEL) == 10_000


def test_what_the_model_counted_of_replaced_messages_counts_no_more():
    room, messages = Room(), [Message("user", "go"), Message("assistant", "so")]
    counted = Usage(input_tokens=9_000)
    assert room.limit_tokens(window(messages, 10_000, counted), "", MODEL) == 10_000
    shorter = [Message("user", "go on")]
    assert room.limit_tokens(window(shorter, 10_000, counted), "", MODEL) == 0


def test_a_refusal_shows_how_small_the_window_of_that_model_is():
    room, messages = Room(), [Message("user", WORDS * 4)]
    limit = room.limit_tokens(window(messages, 100_000), "overflow", MODEL)
    assert 2_800 < limit < 3_600
    assert room.limit_tokens(window(messages, 100_000), "", "acme/other") == 0
    fresh = [Message("user", WORDS * 3)]
    assert room.limit_tokens(window(fresh, 100_000), "", MODEL) == limit


def test_in_a_run_that_could_not_be_shortened_the_next_try_waits():
    room = Room()
    messages = [Message("user", WORDS * 9), Message("tool", results=(ToolResult("so"),))]
    tries = []
    for _ in range(20):
        tries.append(room.limit_tokens(window(messages, 10_000), "", MODEL) > 0)
        messages = [*messages, Message("tool", results=(ToolResult("word " * 80),))]
    assert tries[0]
    assert 1 < tries.count(True) < 4
    prompted = [*messages, Message("user", "short")]
    assert room.limit_tokens(window(prompted, 10_000), "", MODEL) > 0, "a new prompt tries again"


class LastOnly:
    @hookimpl
    def nanocoder_resources(self):
        return [Resource(ROOM, lambda _session, _settings: Room())]

    @hookimpl
    def nanocoder_compact(self, window, reason, session, resource):
        is_wanted = resource(ROOM).limit_tokens(window, reason, session.model)
        return window.request.messages[-1:] if is_wanted else None


@pytest.mark.contract("G5")
def test_without_a_store_compactions_come_back_in_turn_too(tmp_path):
    model = Scripted(["first", "second"], context=9_000)
    with opened(tmp_path, plugins={"last": LastOnly()}, model=model) as (session, _):
        for prompt in ("one", "two"):
            list(session.run(prompt))
            list(session.compact())
        left = [[message.text for message in session.messages]]
        for _ in range(2):
            list(restore(session))
            left.append([message.text for message in session.messages])
        with pytest.raises(UsageError, match="nothing to restore"):
            list(restore(session))
    assert left == [["second"], ["first", "two", "second"], ["one", "first", "two", "second"]]
