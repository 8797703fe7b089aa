"""Which sessions are deleted, and which never are."""

import os
import time
from pathlib import Path

import pytest
from nanocoder import Message, UsageError, encode_message
from nanocoder_kit_sessions import SessionStore, order, remove, remove_old, restore


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state")


@pytest.fixture
def said():
    return []


def begin(store, cwd, prompt="Hello"):
    session_id, journal = store.create(cwd, "acme/large", "ask")
    journal.append("message", encode_message(Message("user", prompt)))
    journal.append("message", encode_message(Message("assistant", "Hi")))
    journal.close()
    return session_id


def age(store, *session_ids):
    for session_id in session_ids:
        os.utime(store.path(session_id), (0, 0))


def use_on_other_days(store, monkeypatch, *days):
    real = time.time
    for day in days:
        monkeypatch.setattr(time, "time", lambda day=day: real() + day * 86_400)
        begin(store, Path("/"))
    monkeypatch.undo()


def test_old_sessions_go_to_the_trash_which_is_said(store, tmp_path, said):
    old, older, new, used = (begin(store, tmp_path) for _ in range(4))
    age(store, old, older)
    assert remove_old(store, 0, said.append) == 0
    assert remove_old(store, 30, said.append) == 2
    assert {summary.id for summary in store.list()} == {new, used}
    assert set(store.trash.ids()) == {old, older}
    (line,) = said
    assert line.startswith("2 sessions unused for 30 days went to the trash")
    assert remove_old(store, 30, said.append) == 0


def test_a_session_in_use_stays_however_old_it_is(store, tmp_path):
    used = begin(store, tmp_path)
    others = [begin(store, tmp_path) for _ in range(3)]
    descriptor = store.lock(used)
    age(store, used, others[0])
    assert remove_old(store, 30) == 1
    assert set(store.ids()) == {used, *others[1:]}
    os.close(descriptor)


def test_none_goes_that_was_used_after_one_that_stays(store, tmp_path):
    """A clock that is behind for a while makes what is written then look old."""
    first, second, third, fourth = (begin(store, tmp_path) for _ in range(4))
    store.open(first)[1].close()
    age(store, first, third)
    assert remove_old(store, 30) == 0
    age(store, second)
    assert remove_old(store, 30) == 2
    assert set(store.ids()) == {first, fourth}


@pytest.mark.parametrize("new", [0, 1, 3])
def test_a_clock_that_is_ahead_removes_nothing_and_says_so(store, tmp_path, said, new):
    old = [begin(store, tmp_path) for _ in range(5)]
    age(store, *old)
    for _ in range(new):
        begin(store, tmp_path)
    assert remove_old(store, 30, said.append) == 0
    assert len(store.ids()) == 5 + new
    (line,) = said
    assert f"5 of {5 + new} sessions are unused for 30 days by the clock" in line
    assert "nanocoder sessions remove --old" in line
    assert remove_old(store, 30, is_sure=True) == 5
    assert set(store.trash.ids()) == set(old)


def test_a_session_comes_back_from_the_trash_with_its_files(store, tmp_path):
    old, journal = store.create(tmp_path)
    path = Path(journal.artifact("a", b"x"))
    journal.close()
    begin(store, tmp_path)
    age(store, old)
    records = len(store.records(old))
    assert remove_old(store, 30) == 1
    assert not path.exists()
    assert restore(store, old) == old
    assert path.read_bytes() == b"x"
    assert len(store.records(old)) == records
    assert store.trash.ids() == []
    assert remove_old(store, 30) == 0


def test_the_trash_lets_go_after_seven_days_of_use_and_not_by_the_clock(
    store, tmp_path, monkeypatch
):
    old, _ = begin(store, tmp_path), begin(store, tmp_path)
    age(store, old)
    remove_old(store, 30)
    use_on_other_days(store, monkeypatch, *[400] * 9, 401, 402, 403, 404, 405)
    remove_old(store, 30)
    assert store.trash.ids() == [old]
    use_on_other_days(store, monkeypatch, 406)
    remove_old(store, 30)
    assert store.trash.ids() == []
    assert list(store.trash.folder.iterdir()) == []


def test_the_order_of_use_stays_short(store, tmp_path, monkeypatch):
    monkeypatch.setattr(order, "MAX_BYTES", 500)
    first, second = begin(store, tmp_path), begin(store, tmp_path)
    for _ in range(30):
        store.order.note("20200101-000000-gone")
        store.order.note(first)
    remove_old(store, 30)
    assert store.order.path.read_text().count("\n") == 2
    assert store.in_order_of_use() == [second, first]


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
