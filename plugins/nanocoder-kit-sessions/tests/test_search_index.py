"""The index of sessions: it says what the journals say, and nothing that happens to it matters."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import zlib
from contextlib import closing

import pytest
from nanocoder import Message, PersonError, ToolCall, encode_message
from nanocoder_kit_sessions import SessionStore, index_path, remove, search_index
from nanocoder_kit_sessions.records import SEAL
from nanocoder_kit_sessions.search_index import open_index

pytestmark = [pytest.mark.contract("G8"), pytest.mark.timeout(60)]


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state")


def begin(store, cwd, prompt="Hello", answer="Hi", *more):
    session_id, journal = store.create(cwd, "acme/large", "ask")
    say(journal, prompt, answer)
    for message in more:
        journal.append("message", encode_message(message))
    journal.close()
    return session_id


def say(journal, prompt, answer):
    journal.append("run.started", {"prompt": prompt})
    journal.append("message", encode_message(Message("user", prompt)))
    journal.append("message", encode_message(Message("assistant", answer)))


def search(store, *words, fits=lambda _session: True, limit=20):
    with open_index(store) as index:
        return index.search(words, fits, limit)


def ids(store, *words, **more):
    return [match.session.id for match in search(store, *words, **more)]


@pytest.fixture
def reads(monkeypatch):
    """The names of the journals that were read."""
    names = []
    read = search_index.read_journal_text

    def recorded(path):
        names.append(path.stem)
        return read(path)

    monkeypatch.setattr(search_index, "read_journal_text", recorded)
    return names


def test_prompts_answers_calls_and_results_are_found_with_their_prompt(store, tmp_path):
    call = Message("assistant", calls=(ToolCall("1", "bash", {"command": "pytest -k lexer"}),))
    session_id = begin(store, tmp_path, "Fix the grammar", "The Töken was wrong", call)
    _, journal = store.take(session_id)
    journal.append("call.finished", {"result": {"output": "12 passed", "call_id": "1"}})
    say(journal, "Thanks", "Welcome")
    journal.close()
    found = {
        word: [(match.role, match.prompt, match.passage) for match in search(store, word)]
        for word in ("gramm", "token", "lexer", "passed", "thanks", "nowhere")
    }
    assert found == {
        "gramm": [("title", 0, "Fix the grammar")],
        "token": [("answer", 1, "The Töken was wrong")],
        "lexer": [("call", 1, "bash: command=pytest -k lexer")],
        "passed": [("result", 1, "12 passed")],
        "thanks": [("prompt", 2, "Thanks")],
        "nowhere": [],
    }


def test_all_words_are_in_one_passage_and_a_phrase_is_in_order(store, tmp_path):
    first = begin(store, tmp_path, "red green blue", "yellow")
    second = begin(store, tmp_path, "blue red", "green")
    assert ids(store, "red", "blue") == [second, first]
    assert ids(store, "red", "green") == [first]
    assert ids(store, "red green") == [first]
    assert ids(store, "red", fits=lambda session: session.id == first) == [first]
    assert ids(store, "red", limit=1) == [second]


@pytest.mark.parametrize("text", ["sausage", "%", "解析器", '"AND"', "a_b", "NEAR(x"])
def test_a_part_of_a_word_and_any_sign_are_found(store, tmp_path, text):
    session_id = begin(store, tmp_path, f"xx{text}yy")
    begin(store, tmp_path, "another one")
    assert ids(store, text) == [session_id]


@pytest.mark.parametrize("text", ['"', "*", "a OR b", "text:a", "\udce9", "^x", "{", "-"])
def test_no_text_breaks_the_search(store, tmp_path, text):
    begin(store, tmp_path, "plain")
    assert ids(store, text) == []


def test_only_journals_that_changed_are_read_again(store, tmp_path, reads):
    old, new = begin(store, tmp_path, "old"), begin(store, tmp_path, "new")
    assert ids(store, "old") == [old]
    assert sorted(reads) == sorted([old, new])
    reads.clear()
    assert ids(store, "new") == [new]
    assert reads == []
    _, journal = store.take(new)
    say(journal, "newer", "yes")
    journal.close()
    assert ids(store, "newer") == [new]
    assert reads == [new]
    remove(store, new)
    assert ids(store, "new") == []
    assert reads == [new]


def test_what_was_rewound_is_found_and_belongs_to_no_prompt(store, tmp_path):
    session_id = begin(store, tmp_path, "one")
    records, journal = store.take(session_id)
    journal.append("transcript.rewound", {"from": 2})
    journal.close()
    assert [record.kind for record in records][1] == "run.started"
    (match,) = search(store, "Hi")
    assert (match.role, match.prompt) == ("answer", 0)


def cut(path):
    path.write_bytes(path.read_bytes()[:5_000])


def overwrite(path):
    path.write_bytes(b"\0" * 9_000)


def make_old(path):
    with sqlite3.connect(path) as connection:
        connection.executescript("DROP TABLE sessions; PRAGMA user_version = 99")


def make_link(path):
    target = path.with_name("target")
    target.write_text("mine")
    path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize("damage", [cut, overwrite, make_old, make_link, os.unlink])
def test_a_damaged_old_or_missing_index_is_made_again(store, tmp_path, damage):
    session_id = begin(store, tmp_path, "hello")
    assert not index_path(store).exists()
    assert ids(store, "hello") == [session_id]
    assert index_path(store).exists()
    damage(index_path(store))
    assert ids(store, "hello") == [session_id]
    if damage is make_link:
        assert index_path(store).with_name("target").read_text() == "mine"


WRONG = {
    "tags are no JSON": "UPDATE sessions SET tags = '{broken'",
    "tags are NULL": "UPDATE sessions SET tags = NULL",
    "tags are a number": "UPDATE sessions SET tags = '5'",
    "a tag is a number": "UPDATE sessions SET tags = '[5]'",
    "tags are too deep": f"UPDATE sessions SET tags = '{'[' * 100_000}'",
    "the directory is NULL": "UPDATE sessions SET cwd = NULL",
    "a time is a text": "UPDATE sessions SET updated = 'x'",
    "a time is no date": "UPDATE sessions SET updated = 1e300",
    "a number is too large": f"UPDATE sessions SET number = {2**62}, size = 0, changed = 0",
    "the ID is NULL": "UPDATE sessions SET id = NULL",
    "a column is gone": "ALTER TABLE sessions DROP COLUMN cwd",
    "no sessions": "DROP TABLE sessions",
    "no passages": "DROP TABLE passages",
    "passages of another kind": "DROP TABLE passages; CREATE TABLE passages (text)",
    "no texts": "DROP TABLE texts",
    "a text is no text": "UPDATE texts SET text = x'00'",
    "a passage is NULL": "UPDATE texts SET role = NULL, at = 'x'",
}


@pytest.mark.parametrize("statements", WRONG.values(), ids=WRONG.keys())
def test_an_index_with_wrong_rows_or_tables_is_made_again(store, tmp_path, reads, statements):
    session_id = begin(store, tmp_path, "hello")
    _, journal = store.take(session_id)
    journal.append("session.changed", {"tags": ["kept"]}, is_use=False)
    journal.close()
    search(store, "hello")
    with closing(sqlite3.connect(index_path(store))) as connection:
        connection.executescript(statements)
    reads.clear()
    (match,) = search(store, "hello")
    assert (match.session.id, match.passage) == (session_id, "hello")
    with open_index(store) as index:
        assert {name: each.tags for name, each in index.sessions().items()} == {
            session_id: ("kept",)
        }
    assert reads == [session_id]


def test_a_damaged_index_that_cannot_be_made_again_is_told(store, tmp_path, monkeypatch):
    begin(store, tmp_path, "hello")
    search(store, "hello")
    monkeypatch.setattr(search_index, "TABLES", search_index.TABLES + "DROP TABLE passages;")
    index_path(store).write_bytes(b"damaged")
    with pytest.raises(PersonError, match="cannot be used: no such table: passages"):
        search(store, "hello")


def test_a_journal_that_is_damaged_or_a_pipe_loses_itself_alone(store, tmp_path):
    good = begin(store, tmp_path, "hello")
    bad = begin(store, tmp_path, "hello")
    store.path(bad).write_bytes(os.urandom(2_000))
    os.mkfifo(store.path("20260101-000000-aaaa"))
    assert ids(store, "hello") == [good]


@pytest.mark.parametrize(
    ("forged", "is_kept"),
    [({"turn": 10**30}, False), ({"title": "half of a pair: \ud800"}, True)],
)
def test_a_record_that_sqlite_cannot_keep_hides_no_other_journal(store, tmp_path, forged, is_kept):
    good = begin(store, tmp_path, "hello")
    bad = begin(store, tmp_path, "hello")
    fields = {"seq": 99, "kind": "message", "at": 1.0, "data": {}, **forged}
    body = json.dumps(fields)[:-1].replace("ud800", "uD800").encode()
    with store.path(bad).open("ab") as file:
        file.write(body + SEAL % zlib.crc32(body))
    # A record that is no text is skipped by every reader, so its journal stays.
    assert set(ids(store, "hello")) == ({good, bad} if is_kept else {good})


def test_only_its_owner_may_read_the_index(store, tmp_path):
    begin(store, tmp_path)
    search(store, "hello")
    path = index_path(store)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_place_that_is_no_directory_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PersonError, match="cannot be used: Not a directory"):
        search(SessionStore(tmp_path / "file"), "x")


CHILD = """
import sys
from pathlib import Path
from nanocoder_kit_sessions import SessionStore
from nanocoder_kit_sessions.search_index import open_index
with open_index(SessionStore(Path(sys.argv[1]))) as index:
    print(len(index.search(["hello"], lambda session: True, 1_000)))
"""


def test_processes_that_search_at_once_agree(store, tmp_path):
    for _ in range(60):
        begin(store, tmp_path, "hello")
    command = [sys.executable, "-c", CHILD, str(store.folder.parent)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [child.communicate()[0].strip() for child in children] == ["60"] * 4


def test_the_index_keeps_no_words_of_what_it_forgot(store, tmp_path):
    """The words of a changed journal are forgotten one by one: no text is kept beside them."""
    session_id = begin(store, tmp_path, "hello unique", "an answer")
    assert search(store, "unique")
    store.path(session_id).unlink()
    begin(store, tmp_path, "something else")
    assert not search(store, "unique")
    with closing(sqlite3.connect(index_path(store))) as connection:
        connection.execute("INSERT INTO passages(passages) VALUES ('integrity-check')")
        words = "CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, passages, row)"
        connection.execute(words)
        assert ("unique",) not in connection.execute("SELECT term FROM words").fetchall()


def test_the_index_is_smaller_than_the_texts(store, tmp_path):
    text = " ".join(f"word{number % 500} of a long prompt" for number in range(3_000))
    begin(store, tmp_path, text, text)
    search(store, "word7")
    assert index_path(store).stat().st_size < 0.75 * 2 * len(text)
