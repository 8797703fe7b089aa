"""Which sessions are deleted, and which never are."""

import os

import pytest
from nanocoder import Message, UsageError, encode_message
from nanocoder_kit_sessions import SessionStore, remove, remove_old


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state")


def begin(store, cwd, prompt="Hello"):
    session_id, journal = store.create(cwd, "acme/large", "ask")
    journal.append("message", encode_message(Message("user", prompt)))
    journal.append("message", encode_message(Message("assistant", "Hi")))
    journal.close()
    return session_id


def test_old_sessions_go_and_those_in_use_stay(store, tmp_path):
    old, new, used = begin(store, tmp_path), begin(store, tmp_path), begin(store, tmp_path)
    _, journal = store.open(used)
    journal.artifact("a", b"x")
    for session_id in (old, used):
        os.utime(store.folder / f"{session_id}.jsonl", (0, 0))
    assert remove_old(store, 0) == 0
    assert remove_old(store, 30) == 1
    assert {summary.id for summary in store.list()} == {new, used}
    journal.close()
    os.utime(store.folder / f"{used}.jsonl", (0, 0))
    assert remove_old(store, 30) == 1
    assert sorted(path.name for path in store.folder.iterdir()) == [f"{new}.jsonl"]


def test_a_session_in_use_is_not_deleted(store, tmp_path):
    session_id, journal = store.create(tmp_path)
    with pytest.raises(UsageError, match=f"in use by process {os.getpid()};") as caught:
        remove(store, session_id)
    assert caught.value.error_class == "session_in_use"
    journal.close()
    remove(store, session_id)
    assert list(store.folder.iterdir()) == []


# SESS-009
@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "{id}/../{id}", "{id}; touch x", "-h", "", ".", "*"]
)
def test_what_is_no_id_deletes_no_file(store, tmp_path, name):
    name = name.format(id=begin(store, tmp_path))
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(UsageError) as caught:
        remove(store, name)
    assert caught.value.error_class == "session_not_found"
    assert (tmp_path / "x.jsonl").exists()
