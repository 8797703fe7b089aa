"""The bench reads calls as models write them, and a session of it has the task's functions."""

import bfcl
import pytest
from forms import FORMS, Outcome

ONE = {"name": "add", "arguments": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"name": "add", "arguments": {"a": 1}}', [ONE]),
        ('<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>', [ONE]),
        ('```json\n[{"name": "add", "arguments": {"a": 1}}]\n```', [ONE]),
        (
            '{"name": "add", "parameters": "{\\"a\\": 1}"} {"name": "add", "arguments": {"a": 1}}',
            [ONE] * 2,
        ),
        ("I cannot {do} [that].", []),
        ('{"sum": 3}', []),
    ],
)
def test_calls_are_read_from_text(text: str, calls: list[object]) -> None:
    assert list(bfcl.calls_in(text)) == calls


def test_calls_of_the_engine_are_joined_from_their_pieces() -> None:
    pieces = [{"name": "add", "arguments": ""}, {"arguments": '{"a"'}, {"arguments": ": 1}"}]
    chunks = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": piece}]}}]}
        for piece in pieces
    ]
    assert bfcl.calls_of(chunks) == [ONE]


def test_a_broken_call_of_the_engine_is_wrong_and_no_error() -> None:
    function = {"name": "add", "arguments": '{"a'}
    chunks = [{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": function}]}}]}]
    assert bfcl.calls_of(chunks) == [{"name": "add", "arguments": None}]


def test_figures_are_told_for_each_kind() -> None:
    rows = bfcl.chosen("", 1)
    outcomes = [Outcome(row["id"], form, form == "agent", 1.0) for row in rows for form in FORMS]
    lines = list(bfcl.tables(outcomes))
    assert [line for line in lines if line in (*bfcl.KINDS, "all")] == [*bfcl.KINDS, "all"]
    assert lines[-1] == "agent less model: +100.0 points (± 0.0) on 4 tasks"
