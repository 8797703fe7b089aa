"""The lines of a journal: a record without its secrets, encoded and looked through in one walk."""

import sys
import uuid
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_kit_files.redact import Redactor, remember
from nanocoder_kit_sessions import Record
from nanocoder_kit_sessions.redaction import line_without_secrets, without_secrets

TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
PARTS = ["harmless text", "short", 'quo"ted \n\t', "\U0001f600 é", "a\ud800", TOKEN, f"x {TOKEN} y"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=3).map(" ".join)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.floats(), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["text", "path", "arguments", "tool", "native"]), inner),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["text", "result", "path", "messages_of"]), VALUES))
def test_a_line_is_what_the_redacted_record_would_be_written_as(data):
    redactor = Redactor({})
    for kind in ("message", "file.changed"):
        record = Record(3, kind, 1.0, data, title="a title")
        expected = without_secrets(record, redactor).line()
        assert [line_without_secrets(record, redactor) for _ in range(2)] == [expected] * 2


def test_a_key_that_was_read_is_in_no_line_from_then_on():
    value, redactor = f"odd key {uuid.uuid4()}", Redactor({})
    record = Record(3, "message", 1.0, {"text": value, "result": {"output": [value]}})
    assert value.encode() in line_without_secrets(record, redactor)
    remember(value, "late")
    assert value.encode() not in line_without_secrets(record, redactor)


@pytest.mark.parametrize("place", [1 << 16, (1 << 16) - 5, 0])
def test_a_long_text_is_written_without_its_secret(place):
    record = Record(3, "message", 1.0, {"text": "x " * (place // 2) + f" {TOKEN} " + "y " * 99_999})
    line = line_without_secrets(record, Redactor({}))
    assert TOKEN.encode() not in line
    assert b"[secret: github-token]" in line


def test_a_record_of_texts_that_were_seen_takes_few_calls_of_functions():
    redactor = Redactor({})
    rows = [{"path": f"src/{number}.py", "text": f"line {number}"} for number in range(100)]
    record = Record(3, "message", 1.0, {"result": {"data": rows, "output": "x" * 5_000}})
    counts = []
    for _ in range(2):
        calls = Counter()

        def note(_frame, event, _argument, calls=calls):
            calls[event] += 1

        sys.setprofile(note)
        try:
            line_without_secrets(record, redactor)
        finally:
            sys.setprofile(None)
        counts.append(calls["call"])
    assert counts[0] > 200
    assert counts[1] < 30
