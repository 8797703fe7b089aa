"""The store: making, finding and resuming sessions."""

import os
import subprocess
import sys
import time

import pytest
from attrs import evolve
from nanocoder import Message, UsageError, encode_message
from nanocoder_kit_sessions import SessionStore
from nanocoder_kit_sessions.records import read
from nanocoder_kit_sessions.transcript import repaired


@pytest.fixture
def said():
    return []


@pytest.fixture
def store(tmp_path, said):
    return SessionStore(tmp_path / "state", warn=said.append)


def begin(store, cwd, prompt="Hello"):
    session_id, journal = store.create(cwd, "acme/large", "ask")
    journal.append("message", encode_message(Message("user", prompt)))
    journal.append("message", encode_message(Message("assistant", "Hi")))
    journal.close()
    return session_id


def error_class(caught):
    return caught.value.error_class


def test_a_session_is_resumed_where_it_ended(store, tmp_path):
    session_id = begin(store, tmp_path)
    records, journal = store.open(session_id)
    assert len(records) == 3
    assert journal.append("message", encode_message(Message("user", "More"))) == 5
    journal.close()
    assert [message.text for message in store.transcript(session_id).messages] == [
        "Hello",
        "Hi",
        "More",
    ]


# SESS-010
def test_files_and_folders_are_private_under_any_umask(store, tmp_path):
    before = os.umask(0)
    try:
        session_id, journal = store.create(tmp_path)
        journal.artifact("full.txt", b"x")
    finally:
        os.umask(before)
    folder = store.folder
    modes = [path.stat().st_mode & 0o777 for path in (folder.parent, folder, folder / session_id)]
    files = (folder / f"{session_id}.jsonl", folder / session_id / "full.txt")
    assert modes == [0o700] * 3
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600] * 2


def test_a_sessions_folder_that_others_could_read_is_closed(store, tmp_path):
    store.folder.mkdir(parents=True, mode=0o755)
    begin(store, tmp_path)
    assert store.folder.stat().st_mode & 0o777 == 0o700


def test_a_session_in_use_is_refused_with_the_process_that_has_it(store, tmp_path):
    program = """
import sys
from pathlib import Path
from nanocoder_kit_sessions import SessionStore
session_id, journal = SessionStore(Path(sys.argv[1])).create(Path("/"))
print(session_id, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, store.folder.parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        session_id = other.stdout.readline().strip()
        for attempt in (store.open, store.take, store.lock):
            with pytest.raises(UsageError, match=f"in use by process {other.pid};") as caught:
                attempt(session_id)
            assert error_class(caught) == "session_in_use"
        assert store.transcript(session_id).messages == []
        other.stdin.close()
        other.wait()
    store.open(session_id)[1].close()


# SESS-001
def test_a_torn_end_is_cut_off_told_and_kept_as_a_copy(store, tmp_path, said):
    session_id = begin(store, tmp_path)
    path = store.folder / f"{session_id}.jsonl"
    torn = path.read_bytes()[:-20]
    path.write_bytes(torn)
    records, journal = store.open(session_id)
    journal.append("message", encode_message(Message("user", "Again")))
    journal.close()
    assert len(records) == 2
    assert len(read(path)) == 4
    assert path.with_suffix(".jsonl.bak").read_bytes() == torn
    (notice,) = said
    assert "damaged bytes" in notice


def test_a_damaged_line_in_the_middle_loses_itself_alone_and_is_told(store, tmp_path, said):
    session_id = begin(store, tmp_path)
    path = store.folder / f"{session_id}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"x" + lines[1], *lines[2:]]))
    whole = path.read_bytes()
    records, journal = store.open(session_id)
    journal.append("message", encode_message(Message("user", "Again")))
    journal.close()
    assert [record.seq for record in records] == [1, *range(3, len(lines) + 1)]
    assert path.read_bytes().startswith(whole)
    assert store.transcript(session_id).messages[-1].text == "Again"
    (notice,) = said
    assert "record 2 is damaged and skipped" in notice


def test_a_journal_that_is_deleted_meanwhile_is_told_once(store, tmp_path, said):
    session_id, journal = store.create(tmp_path)
    journal.append("run.finished", {})
    assert said == []
    (store.folder / f"{session_id}.jsonl").unlink()
    journal.append("run.finished", {})
    journal.append("run.finished", {})
    journal.close()
    (notice,) = said
    assert "was deleted while it ran" in notice


def test_last_is_the_last_one_used_in_this_directory(store, tmp_path):
    (tmp_path / "other").mkdir()
    first, second = begin(store, tmp_path), begin(store, tmp_path)
    begin(store, tmp_path / "other")
    assert store.find("last", cwd=tmp_path) == second
    store.open(first)[1].close()
    assert store.find("last", cwd=tmp_path) == first
    with pytest.raises(UsageError, match="there is no conversation in"):
        store.find("last", cwd=tmp_path / "third")


def test_a_session_that_no_model_answered_is_the_last_where_there_is_no_other(store, tmp_path):
    """Lists leave it out."""
    failed, journal = store.create(tmp_path, "acme/large", "ask")
    journal.append("message", encode_message(Message("user", "Hello")))
    journal.close()
    assert store.find("last", cwd=tmp_path) == failed
    records, resumed = store.open("last", cwd=tmp_path)
    assert [record.data["text"] for record in records if record.kind == "message"] == ["Hello"]
    resumed.close()
    answered = begin(store, tmp_path)
    store.open(failed)[1].close()
    assert store.find("last", cwd=tmp_path) == answered
    assert store.find(failed) == failed


def test_the_beginning_of_an_id_is_enough_when_it_is_unique(store, tmp_path):
    ids = [begin(store, tmp_path) for _ in range(3)]
    assert store.find(ids[0]) == ids[0]
    with pytest.raises(UsageError, match="give more of the id"):
        store.find("2")
    store.path(ids[0]).unlink()
    store.path(ids[1]).unlink()
    assert store.find("2") == ids[2]


def test_the_beginning_of_an_id_means_a_session_that_is_listed(store, tmp_path):
    for _ in range(3):
        store.create(tmp_path, "acme/large", "ask")[1].close()  # as single calls do
    listed = begin(store, tmp_path)
    assert store.find("2") == listed


def test_a_typo_is_answered_with_the_nearest_id(store, tmp_path):
    session_id = begin(store, tmp_path)
    with pytest.raises(UsageError, match=f"did you mean {session_id!r}"):
        store.open(session_id[:-1] + "0")


# SESS-009
@pytest.mark.parametrize(
    "wanted", ["../../x", "/etc/passwd", "{id}/../{id}", "{id}; touch x", "-h", "", ".", "*"]
)
def test_what_is_no_id_opens_no_file(store, tmp_path, wanted):
    wanted = wanted.format(id=begin(store, tmp_path))
    (tmp_path / "x.jsonl").write_text("{}")
    for attempt in (store.open, store.find):
        with pytest.raises(UsageError) as caught:
            attempt(wanted)
        assert error_class(caught) == "session_not_found"


# SESS-018
@pytest.mark.timeout(5)
def test_whatever_else_lies_among_the_sessions_is_passed_over(store, tmp_path):
    session_id = begin(store, tmp_path)
    names = [f"20260101-00000{number}-aaaa.jsonl" for number in range(5)]
    (store.folder / names[0]).mkdir()
    os.mkfifo(store.folder / names[1])
    (store.folder / names[2]).touch()
    (store.folder / names[3]).symlink_to("/dev/zero")
    (store.folder / names[4]).write_bytes(os.urandom(100_000))
    (store.folder / "notes.jsonl").write_text("mine")
    assert [summary.id for summary in store.list()] == [session_id]
    for name in names:
        with pytest.raises(UsageError):
            store.open(name.removesuffix(".jsonl"))


def test_the_list_says_what_each_session_is_about(store, tmp_path):
    prompt = 'Say "hi"\nand \\ then 文\U0001f600 ' + "go on " * 20_000
    session_id = begin(store, tmp_path, prompt)
    (summary,) = store.list()
    assert summary.title.startswith('Say "hi" and \\ then 文\U0001f600 go on')
    assert len(summary.title) == 80
    assert (summary.id, summary.cwd, summary.model, summary.turns) == (
        session_id,
        str(tmp_path),
        "acme/large",
        1,
    )
    assert summary.started <= summary.updated <= time.time()
    assert summary.size == (store.folder / f"{session_id}.jsonl").stat().st_size


def test_the_prompts_of_a_person_are_counted_and_not_what_was_added_for_the_model(store, tmp_path):
    session_id = begin(store, tmp_path)
    _, journal = store.open(session_id)
    journal.append("message", encode_message(Message("user", "with a file", typed="with")))
    journal.append("message", encode_message(Message("user", "answer now", typed="")))
    journal.append("message", encode_message(Message("assistant", "x")))
    journal.close()
    (summary,) = store.list()
    assert (summary.prompts, summary.turns) == (2, 2)


def test_the_prompts_in_a_journal_of_an_earlier_release_are_counted_by_reading_it(store, tmp_path):
    session_id = begin(store, tmp_path)
    path = store.folder / f"{session_id}.jsonl"
    records = [evolve(record, prompts=None) for record in read(path)]
    path.write_bytes(b"".join(record.line() for record in records))
    assert store.list()[0].prompts == 1
    _, journal = store.open(session_id)
    journal.append("message", encode_message(Message("user", "more")))
    journal.close()
    assert store.list()[0].prompts == 2


def test_a_journal_that_ends_in_a_large_record_is_listed_by_it(store, tmp_path):
    session_id = begin(store, tmp_path)
    _, journal = store.open(session_id)
    journal.append("message", encode_message(Message("assistant", "x" * 200_000)))
    journal.close()
    assert store.list()[0].turns == 2


def test_a_thousand_sessions_are_listed_without_reading_them(store, tmp_path):
    for number in range(1000):
        _, journal = store.create(tmp_path)
        journal.append("message", {"role": "user", "text": str(number)})
        journal.close()
    begun = time.process_time()
    assert len(store.list()) == 1000
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("days", [-400, -1, 400])
def test_the_last_session_is_the_one_used_last_whatever_the_clock_says(
    store, tmp_path, monkeypatch, days
):
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + days * 86_400)
    first = begin(store, tmp_path)
    monkeypatch.undo()
    second = begin(store, tmp_path)
    assert [summary.id for summary in store.list()] == [second, first]
    assert store.find("last", cwd=tmp_path) == second
    monkeypatch.setattr(time, "time", lambda: real() - 86_400)
    _, journal = store.open(first)
    journal.close()
    assert store.find("last", cwd=tmp_path) == first
    at = [record.at for record in read(store.path(first))]
    assert at == sorted(at)


def test_many_processes_make_sessions_of_their_own(store):
    program = """
import sys
from pathlib import Path
from nanocoder_kit_sessions import SessionStore
store = SessionStore(Path(sys.argv[1]))
for _ in range(50):
    print(store.create(Path("/"))[0])
"""
    command = [sys.executable, "-c", program, store.folder.parent]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ids = [line for one in running for line in one.communicate()[0].split()]
    assert len(set(ids)) == 150
    assert len(store.list()) == 150


def test_artifacts_are_kept_under_harmless_names(store, tmp_path):
    session_id, journal = store.create(tmp_path)
    names = ["out.txt", "out.txt", "../../etc/passwd", "", "a/b c", ".hidden", "x" * 300]
    paths = [journal.artifact(name, name.encode()) for name in names]
    folder = store.folder / session_id
    assert [os.path.dirname(path) for path in paths] == [str(folder)] * len(names)
    assert len(set(paths)) == len(names)
    assert (folder / "1-out.txt").read_text() == "out.txt"


@pytest.mark.parametrize("environment", [{"HOME": "{tmp}/file"}, {"XDG_STATE_HOME": "/proc/none"}])
def test_without_a_place_to_write_a_session_works_in_memory_and_says_so(
    tmp_path, environment, said
):
    (tmp_path / "file").touch()
    environment = {key: value.format(tmp=tmp_path) for key, value in environment.items()}
    store = SessionStore.of_user(environment, warn=said.append)
    _, journal = store.create(tmp_path)
    assert journal.append("message", {"role": "user"}) == 2
    assert journal.artifact("a", b"x") == ""
    journal.close()
    assert store.list() == []
    (notice,) = said
    assert "this one is not saved" in notice


def test_closing_twice_and_writing_after_closing_do_no_harm(store, tmp_path):
    _, journal = store.create(tmp_path)
    journal.close()
    journal.close()
    journal.append("event", {})
    assert len(read(journal.path)) == 1


def test_a_damaged_file_that_holds_no_record_is_told(store, tmp_path):
    session_id = begin(store, tmp_path)
    (store.folder / f"{session_id}.jsonl").write_bytes(b"\0" * 100)
    with pytest.raises(UsageError, match="no intact record") as caught:
        store.open(session_id)
    assert error_class(caught) == "session_unreadable"
    assert [path.stem for path in store.folder.glob("*.jsonl")] == [session_id]
    assert repaired([]).messages == []
