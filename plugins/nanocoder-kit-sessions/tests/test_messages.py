"""Messages survive the way to the disk and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import Attachment, Message, ToolCall, ToolResult, encode_message
from nanocoder_kit_sessions import store_message
from nanocoder_kit_sessions.messages import decode_message

FIELDS = ("role", "text", "calls", "results", "attachments", "native")

texts = st.text(max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
tables = st.dictionaries(texts, plain, max_size=3)
attachments = st.lists(st.builds(Attachment, texts, st.binary(max_size=9), texts), max_size=2).map(
    tuple
)
calls = st.builds(ToolCall, texts, texts, tables, texts, st.booleans(), texts)
results = st.builds(
    ToolResult,
    output=texts,
    title=texts,
    data=plain,
    metadata=tables,
    attachments=attachments,
    is_error=st.booleans(),
    error_class=texts,
    call_id=texts,
    duration_ms=st.floats(0, 9),
    artifact=texts,
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool"]),
    text=texts,
    calls=st.lists(calls, max_size=2).map(tuple),
    results=st.lists(results, max_size=2).map(tuple),
    attachments=attachments,
    native=plain,
)


def same(one, other):
    return [getattr(one, name) for name in FIELDS] == [getattr(other, name) for name in FIELDS]


@given(messages)
def test_a_message_comes_back_as_it_was(message):
    assert same(decode_message(json.loads(json.dumps(encode_message(message)))), message)


@given(
    plain
    | st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "tool", 3])}, optional=dict.fromkeys(FIELDS[1:], plain)
    )
)
def test_what_makes_no_sense_is_left_out_or_refused_never_a_crash(data):
    try:
        message = decode_message(data)
    except ValueError:
        return
    assert same(decode_message(json.loads(json.dumps(encode_message(message)))), message)


def test_large_attachments_are_kept_beside_the_journal(tmp_path):
    def keep(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)

    message = Message("user", attachments=(Attachment("image/png", b"x" * 100_000, "shot.png"),))
    data = store_message(message, keep)
    assert len(json.dumps(data)) < 200
    assert same(decode_message(data, tmp_path), message)
    assert decode_message(data, tmp_path / "elsewhere").attachments == ()


def test_large_attachments_of_results_are_kept_beside_the_journal_and_small_ones_in_it(tmp_path):
    kept = []

    def keep(name, data):
        (tmp_path / name).write_bytes(data)
        kept.append(name)
        return str(tmp_path / name)

    large, small = Attachment("image/png", b"x" * 100_000, "a.png"), Attachment("a/b", b"x", "b")
    message = Message("tool", results=(ToolResult("seen", attachments=(small, large)),))
    assert same(decode_message(store_message(message, keep), tmp_path), message)
    assert kept == ["a.png"]


def test_an_attachment_that_cannot_be_kept_stays_in_the_record():
    message = Message("user", attachments=(Attachment("image/png", b"x" * 100_000, "a.png"),))
    assert same(decode_message(store_message(message, lambda _name, _data: "")), message)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "link", "..", 3, None])
def test_a_tampered_journal_reaches_no_other_file(tmp_path, name):
    (tmp_path / "secret").write_text("hidden")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "link").symlink_to(tmp_path / "secret")
    data = {"role": "user", "attachments": [{"media_type": "text/plain", "artifact": name}]}
    assert decode_message(data, tmp_path / "own").attachments == ()
