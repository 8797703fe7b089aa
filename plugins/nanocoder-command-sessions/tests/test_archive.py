"""Stored sessions as a whole: forks, names, and transcripts of sub-agents, too."""

import pytest
from nanocoder import Message, UsageError, encode_message
from nanocoder_command_sessions.archive import fork, read_session, rename
from nanocoder_kit_sessions import SessionStore


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state")


def begin(store, cwd, prompt="Hello"):
    session_id, journal = store.create(cwd, "acme/large", "ask")
    journal.append("message", encode_message(Message("user", prompt)))
    journal.append("message", encode_message(Message("assistant", "Hi")))
    journal.close()
    return session_id


def test_a_fork_has_the_messages_and_leaves_the_origin_alone(store, tmp_path):
    session_id, journal = store.create(tmp_path, "acme/large", "plan")
    journal.append("message", encode_message(Message("user", "Hello")))
    fork_id = fork(store, session_id)
    _, forked = store.open(fork_id)
    forked.append("message", encode_message(Message("assistant", "Hi")))
    journal.append("message", encode_message(Message("assistant", "Bye")))
    assert [message.text for message in store.transcript(fork_id).messages] == ["Hello", "Hi"]
    assert [message.text for message in store.transcript(session_id).messages] == ["Hello", "Bye"]
    assert forked.records()[0].data["forked_from"] == session_id
    assert store.transcript(fork_id).mode == "plan"


def test_a_session_keeps_its_name_through_all_that_follows(store, tmp_path):
    other, session_id = begin(store, tmp_path, "Older"), begin(store, tmp_path, "First words")
    before = {summary.id: summary.updated for summary in store.list()}
    assert rename(store, other, " A  good\nname") == other
    named = next(summary for summary in store.list() if summary.id == other)
    assert (named.title, named.prompt) == ("A good name", "Older")
    assert store.list()[0].id == session_id, "to name a session is no use of it"
    assert {summary.id: summary.updated for summary in store.list()} == before
    _, journal = store.open(other)
    for _ in range(3):
        journal.append("message", encode_message(Message("assistant", "x" * 20_000)))
    journal.close()
    assert store.list()[0].title == store.transcript(other).title == "A good name"
    forked = fork(store, other)
    assert store.transcript(forked).title == "A good name"
    rename(store, other, "Another")
    assert [one.title for one in store.list() if one.id == other] == ["Another"]
    with pytest.raises(UsageError, match="the new title is empty"):
        rename(store, other, " \n ")


def test_a_damaged_file_that_holds_no_record_is_not_forked(store, tmp_path):
    session_id = begin(store, tmp_path)
    store.path(session_id).write_bytes(b"\0" * 100)
    with pytest.raises(UsageError, match="no intact record") as caught:
        fork(store, session_id)
    assert caught.value.error_class == "session_unreadable"
    assert store.ids() == [session_id]


# SESS-009
@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "{id}/../{id}", "{id}; touch x", "-h", "", ".", "*"]
)
def test_what_is_no_id_opens_no_file(store, tmp_path, name):
    name = name.format(id=begin(store, tmp_path))
    (tmp_path / "x.jsonl").write_text("{}")
    for attempt in (read_session, fork, lambda *given: rename(*given, "A title")):
        with pytest.raises(UsageError) as caught:
            attempt(store, name)
        assert caught.value.error_class == "session_not_found"


def test_a_sub_agents_transcript_is_found_by_its_id(store, tmp_path):
    session_id = begin(store, tmp_path)
    inner = SessionStore(store.path(session_id).with_suffix(""))
    child = begin(inner, tmp_path, "Look for it")
    assert read_session(store, child)[1].messages[0].text == "Look for it"
    assert read_session(store, "last", tmp_path)[1].messages[0].text == "Hello"
