"""`nanocoder sessions` as people use it: what they typed, forks, and what is removed."""

import json
import re
import sys
from pathlib import Path

import pytest
from attrs import evolve
from journals import rewrite_journal

pytestmark = pytest.mark.timeout(60)
COMMAND = str(Path(sys.executable).with_name("nanocoder"))
PROMPT = "Change notes.txt please"
WRITE = {"calls": [{"name": "write_file", "arguments": {"path": "notes.txt", "content": "two\n"}}]}
DONE = {"text": "All done."}


@pytest.fixture
def small(nanocoder):
    """Ask a small model, which is given the files that a request names."""
    (nanocoder.cwd / "notes.txt").write_text("one\n")
    model = nanocoder.script(WRITE, DONE, DONE, DONE, profile="small")

    def run(*words, mode="edits"):
        done = nanocoder("run", "--mode", mode, "--model", model, *words)
        assert done.returncode == 0, done.stderr

    return run


def listed(nanocoder):
    return json.loads(nanocoder("sessions", "list", "--output", "json").stdout)


def fork(nanocoder, *words):
    done = nanocoder("sessions", "fork", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def journal_of(nanocoder, session):
    return nanocoder.home / f".local/state/nanocoder/sessions/{session}.jsonl"


def test_the_group_alone_lists_with_the_options_of_the_list_and_a_slip_is_no_word(nanocoder):
    nanocoder("run", "--model", nanocoder.script(DONE), PROMPT)
    for words in ([], ["--all"], ["--output", "json"]):
        alone, named = nanocoder("sessions", *words), nanocoder("sessions", "list", *words)
        assert (alone.returncode, alone.stdout) == (0, named.stdout)
        assert PROMPT in alone.stdout
    assert "there is no action 'shwo'; did you mean 'show'?" in nanocoder("sessions", "shwo").stderr
    assert "rewind" in nanocoder("sessions", "--help").stdout
    assert nanocoder("config").stderr.startswith("nanocoder: name an action: show, ")


# What was typed


def test_people_see_what_they_typed_and_what_was_added_for_the_model_apart(nanocoder, small):
    small(PROMPT)
    fork(nanocoder, fork(nanocoder))
    sessions = listed(nanocoder)
    assert [one["title"] for one in sessions] == [PROMPT] * 3
    for session in sessions:
        lines = nanocoder("sessions", "show", session["id"]).stdout.splitlines()
        added = "  added for the model: The file notes.txt now reads: ``` one ```"
        assert lines[:2] == [f"user 1: {PROMPT}", added]
        exported = nanocoder("sessions", "export", session["id"]).stdout
        assert exported.startswith(f"# {PROMPT}\n")
        assert f"## You\n\n{PROMPT}\n\nAdded for the model:\n\n````\nThe file" in exported
        first = json.loads(nanocoder("sessions", "show", session["id"], "--output", "json").stdout)
        assert first["messages"][0]["typed"] == PROMPT
        assert first["messages"][0]["text"].endswith(PROMPT)


def test_what_is_added_behind_a_request_is_told_apart_too(nanocoder, small):
    small("What would you do?", mode="plan")
    first, added, *_ = nanocoder("sessions", "show").stdout.splitlines()
    assert first == "user 1: What would you do?"
    assert added.startswith("  added for the model: (Do not do this now.")


def test_a_journal_of_an_earlier_release_shows_what_was_typed(nanocoder, small):
    def as_earlier(record):
        return evolve(record, data={**record.data, "typed": None})

    small(PROMPT)
    rewrite_journal(journal_of(nanocoder, listed(nanocoder)[0]["id"]), as_earlier)
    assert nanocoder("sessions", "show").stdout.startswith(f"user 1: {PROMPT}\n  added for")


def test_what_the_program_says_itself_is_nobodys_prompt(nanocoder):
    script = nanocoder.script(WRITE, DONE)
    nanocoder("run", "--mode", "edits", "--max-turns", "1", "--model", script, PROMPT)
    assert nanocoder("sessions", "undo", "--yes").returncode == 0
    shown = nanocoder("sessions", "show").stdout
    assert len(re.findall("^user", shown, re.MULTILINE)) == 1
    assert "  added for the model: stopped at the limit of" in shown
    assert "  added for the model: [the user undid your changes;" in shown
    exported = nanocoder("sessions", "export").stdout
    assert exported.count("## You\n") == 1
    assert exported.count("## Nanocoder\n") == 2


# Forks


def test_a_fork_nobody_went_on_with_hides_no_work(nanocoder, small):
    small(PROMPT)
    [origin] = [one["id"] for one in listed(nanocoder)]
    first = fork(nanocoder)
    second = fork(nanocoder)
    assert [one["forked_from"] for one in listed(nanocoder)] == [first, origin, ""]
    assert nanocoder("sessions", "list").stdout.count(f"fork: {PROMPT}") == 2
    assert f"session {origin}" in nanocoder("trace", "last").stdout
    assert nanocoder("sessions", "undo", "--yes").returncode == 0
    assert (nanocoder.cwd / "notes.txt").read_text() == "one\n"
    # Who means the fork is told where the work is.
    undone = nanocoder("sessions", "undo", first, "--yes")
    assert (undone.returncode, f"undo earlier changes in {origin}" in undone.stderr) == (1, True)
    assert listed(nanocoder)[0]["id"] == origin, "a session with nothing to undo was not used"
    traced = nanocoder("trace", "last", "--session", second)
    assert (traced.returncode, f"earlier calls are in {first}" in traced.stderr) == (2, True)


def test_going_on_takes_the_fork_and_from_then_on_it_is_the_last(nanocoder, small):
    small(PROMPT)
    forked = fork(nanocoder)
    small("--continue", "And now?")
    assert "user 2: And now?" in nanocoder("sessions", "show", forked).stdout
    done = nanocoder("sessions", "undo", "--yes")
    assert (done.returncode, "nothing to undo" in done.stderr) == (1, True)
    assert f"(session {forked}; `nanocoder sessions list` names the others)" in done.stderr


# Removing


def test_without_a_person_only_a_whole_id_or_yes_removes(nanocoder):
    for prompt in ("one", "two", "three"):
        nanocoder("run", "--model", nanocoder.script(DONE), prompt)
    three, two, one = (row["id"] for row in listed(nanocoder))
    for wanted in ("last", three[:-1]):
        done = nanocoder("sessions", "remove", wanted)
        assert (done.returncode, done.stdout) == (3, "")
        assert f"Pass --yes or the full ID: {three}, last used 20" in done.stderr
        assert done.stderr.endswith(": three\n")
    assert nanocoder("sessions", "remove", "last", "--yes").returncode == 0
    assert nanocoder("sessions", "remove", two).returncode == 0
    assert [row["id"] for row in listed(nanocoder)] == [one]


@pytest.mark.parametrize(("answer", "left"), [("y\r", 0), ("\r", 1), ("\x04", 1)])
def test_on_a_terminal_it_says_what_will_be_removed_and_asks(nanocoder, answer, left):
    import pexpect

    nanocoder("run", "--model", nanocoder.script(DONE), "Remember seven.")
    [session] = listed(nanocoder)
    talk = pexpect.spawn(
        COMMAND,
        ["sessions", "remove", session["id"]],
        cwd=str(nanocoder.cwd),
        env=nanocoder.environment,
        encoding="utf-8",
        timeout=20,
    )
    talk.expect(f"{session['id']}, last used 20.*: Remember seven")
    talk.expect_exact("Remove it with its backups and outputs? [y/N]")
    talk.send(answer)
    talk.expect_exact("\r\nNot removed." if left else "\r\n")
    talk.expect(pexpect.EOF)
    talk.close()
    assert talk.exitstatus == 0
    assert len(listed(nanocoder)) == left


# Names


def test_sessions_are_named_and_found_by_words(nanocoder, small):
    small(PROMPT)
    small("Something else")
    [other, session] = [one["id"] for one in listed(nanocoder)]
    assert (
        nanocoder("sessions", "rename", session, "The", "notes").stdout == f"Renamed: {session}\n"
    )
    assert [one["title"] for one in listed(nanocoder)] == ["Something else", "The notes"]
    assert nanocoder("sessions", "export", session).stdout.startswith("# The notes\n")
    for words in (["the", "NOTES"], ["notes.txt", "change"]):
        found = nanocoder("sessions", "list", *words).stdout
        assert (session in found, other in found) == (True, False)
    none = nanocoder("sessions", "list", "nowhere", "at all").stdout
    assert f"{nanocoder.cwd} with 'nowhere at all' in its title or first prompt (--all" in none
    missing = nanocoder("sessions", "rename", "2001", "x")
    assert (missing.returncode, "there is no session '2001'" in missing.stderr) == (2, True)


def test_sessions_of_directories_that_are_gone_are_counted_and_listed_on_demand(nanocoder):
    for name in ("kept", "gone"):
        folder = nanocoder.cwd / name
        folder.mkdir()
        model = nanocoder.script({"text": "Hi."})
        nanocoder("run", "--cwd", str(folder), "--model", model, f"In {name}")
    (nanocoder.cwd / "gone").rmdir()
    shown = nanocoder("sessions", "list", "--all")
    assert ("In kept" in shown.stdout, "In gone" in shown.stdout) == (True, False)
    assert "1 in directories that are gone: not shown (--gone lists them)." in shown.stderr
    shown = nanocoder("sessions", "list", "--all", "--gone")
    assert ("In gone" in shown.stdout, "gone not shown" in shown.stderr) == (True, False)


@pytest.mark.contract("G7")
def test_a_session_is_exported_in_each_form_whole_and_as_one_file_to_hand_on(nanocoder):
    read = {"calls": [{"name": "read_file", "arguments": {"path": "note.txt"}}]}
    (nanocoder.cwd / "note.txt").write_text("the milk is white\n")
    model = nanocoder.script({"text": "I look.", **read}, {"text": "It is about **milk**."})
    nanocoder("run", "--model", model, "What is in note.txt?")
    for form in ("markdown", "json", "html"):
        done = nanocoder("sessions", "export", "--format", form)
        assert (done.returncode, "Review the rest before sharing" in done.stderr) == (0, True)
        for part in ("What is in note.txt?", "I look.", "read_file", "the milk is white", "milk"):
            assert part in done.stdout, (form, part)
        if form == "html":  # its reader needs nothing else, and no server learns of it
            assert "<script" not in done.stdout
            assert not re.search(r"(?:src|href)=[\"']?(?:https?:|//)", done.stdout)
        if form == "json":
            roles = [message["role"] for message in json.loads(done.stdout)["messages"]]
            assert roles == ["user", "assistant", "tool", "assistant"]


@pytest.mark.contract("G7")
def test_a_secret_that_is_a_path_or_a_name_in_a_call_is_nowhere(nanocoder):
    token = "ghp_" + "c" * 36
    calls = [
        {"name": "read_file", "arguments": {"path": token}},
        {"name": "grep", "arguments": {"pattern": token, "path": token}},
        {"name": token, "arguments": {}},
    ]
    model = nanocoder.script({"calls": calls}, DONE, DONE)
    nanocoder("run", "--model", model, "go")
    [journal] = (nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl")
    assert token not in journal.read_text()
    shown = nanocoder("sessions", "show").stdout
    assert "call secret_github-token" in shown
    assert token not in shown
    for form in ("markdown", "json", "html"):
        assert token not in nanocoder("sessions", "export", "--format", form).stdout
    resumed = nanocoder("run", "--continue", "--model", model, "and now?")
    assert (resumed.returncode, "All done." in resumed.stdout) == (0, True)
