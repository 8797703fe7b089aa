"""The scripted provider through its own front door."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from nanocoder import Cancel, Cancelled, Finished, Message, ProviderError, Request, TextDelta
from nanocoder_provider_scripted import open_scripted


def script(folder: Path, *turns: dict[str, Any], **rest: Any) -> str:
    path = folder / "turns.json"
    path.write_text(json.dumps({"turns": list(turns), **rest}))
    return str(path)


def play(path: str, *messages: Message) -> list[Any]:
    request = Request("m", "", [Message("user", "go"), *messages])
    return list(open_scripted(path, None).stream(request, Cancel()))


def test_a_turn_is_chosen_by_the_replies_so_far(tmp_path: Path) -> None:
    path = script(tmp_path, {"text": "one"}, {"text": "two"})
    assert play(path)[-1].text == "one"
    assert play(path)[-1].text == "one"
    assert play(path, Message("assistant", "one"), Message("user", "and"))[-1].text == "two"


def test_text_comes_in_as_many_pieces_as_asked_for(tmp_path: Path) -> None:
    *pieces, end = play(script(tmp_path, {"text": "abcdef", "deltas": 3}))
    assert pieces == [TextDelta("ab"), TextDelta("cd"), TextDelta("ef")]
    assert isinstance(end, Finished)


def test_calls_get_ids_and_typed_arguments(tmp_path: Path) -> None:
    calls = [{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments_text": "{broken"}]
    first, second = play(script(tmp_path, {"calls": calls}))[-1].calls
    assert (first.name, first.arguments, first.error) == ("a", {"x": 1}, "")
    assert first.id != second.id
    assert "after «{», before «broken»" in second.error


def test_a_scripted_error_is_raised_with_its_kind(tmp_path: Path) -> None:
    path = script(
        tmp_path, {"error": {"kind": "rate_limit", "message": "slow down", "status": 429}}
    )
    with pytest.raises(ProviderError, match="slow down") as caught:
        play(path)
    assert (caught.value.kind, caught.value.status) == ("rate_limit", 429)


def test_a_delay_ends_with_an_interrupt(tmp_path: Path) -> None:
    provider = open_scripted(script(tmp_path, {"text": "late", "delay_s": 8}), None)
    cancel = Cancel()
    threading.Timer(0.05, cancel.set).start()
    with pytest.raises(Cancelled):
        list(provider.stream(Request("m", "", []), cancel))


def test_an_exhausted_script_says_how_long_it_is(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="has 1 turns and turn 2"):
        play(script(tmp_path, {"text": "only"}), Message("assistant", "only"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not an object"),
        ("{nope", "not JSON"),
        ('{"turns": [{"txt": "x"}]}', "unknown key 'txt'"),
        ('{"turns": [{"calls": ["x"]}]}', "turn 1 has a call"),
        ('{"turns": [], "colour": 1}', "unknown key 'colour'"),
    ],
)
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(ProviderError, match=message):
        open_scripted(str(path), None)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"gone\.json"):
        open_scripted(str(tmp_path / "gone.json"), None)


class Looked:
    """A message of a long conversation that counts how often somebody looks at it."""

    looks = 0

    def __init__(self, role: str) -> None:
        self._role = role

    @property
    def role(self) -> str:
        Looked.looks += 1
        return self._role


def test_a_long_conversation_costs_no_more_a_turn_than_a_short_one(tmp_path: Path) -> None:
    turns = [{"text": str(number)} for number in range(200)]
    provider = open_scripted(script(tmp_path, *turns), None)
    messages: list[Any] = [Looked("user")]
    for number in range(200):
        *_, end = provider.stream(Request("m", "", tuple(messages)), Cancel())
        assert end.text == str(number)
        messages += [Looked("assistant"), Looked("user")]
    assert Looked.looks < 2 * len(messages)
    # Another conversation, or one that was shortened, is counted anew.
    *_, end = provider.stream(Request("m", "", messages[:3]), Cancel())
    assert end.text == "1"
    *_, end = provider.stream(Request("m", "", [Looked("user"), *messages[3:6]]), Cancel())
    assert end.text == "2"
