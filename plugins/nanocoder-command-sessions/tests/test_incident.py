"""A note about an incident is filled from the journal of a real session."""

import pytest

TOKEN = "ghp_" + "d" * 36
WRITE = {"name": "write_file", "arguments": {"path": "a.txt", "content": "x\n"}}
FAILS = {"name": "bash", "arguments": {"command": "exit 3"}}
REMOVES = {"name": "bash", "arguments": {"command": "rm -r src"}}


@pytest.fixture
def session(nanocoder):
    """Run a session in which a call fails, one is refused, and the model breaks off."""
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["bash(rm *)"]\n')
    model = nanocoder.script(
        {"calls": [WRITE]}, {"calls": [FAILS, REMOVES]}, {"error": "no such model"}
    )
    done = nanocoder("run", "--mode", "auto", "--model", model, f"go `now` {TOKEN}")
    assert done.returncode == 4, done.stderr


def note(nanocoder, *words):
    done = nanocoder("sessions", "incident", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.contract("NT-61")
@pytest.mark.contract("NT-95")
def test_the_note_has_owner_end_calls_verdicts_and_files(nanocoder, session):
    text = note(nanocoder, "last", "--owner", "Ada", "--expected-end", "2030-01-05T18:00Z")
    for line in ("- Owner: Ada\n", "- Expected end: 2030-01-05 18:00 UTC\n"):
        assert line in text
    calls = [line for line in text.splitlines() if line.startswith("1. ")]
    assert "Prompt: ``go `now` [secret:" in calls[0]
    assert "`write_file` `path=a.txt, content=x`: ok" in calls[1]
    assert "`bash` `command=exit 3`: error (exit_nonzero): `" in calls[2]
    assert "`command=rm -r src`: denied by `policy-rules`, `bash(rm *)`, `" in calls[3]
    assert "config.toml:2`" in calls[3]
    assert calls[4].endswith("Ended: provider_error: `no such model`")
    assert "- `a.txt`: as the session left it\n" in text
    assert "## First signal\n\n(to be filled in: " in text
    assert TOKEN not in text


def test_a_file_that_was_put_back_is_named_as_such(nanocoder, session):
    assert nanocoder("sessions", "undo", "last", "--yes").returncode == 0
    text = note(nanocoder)
    assert "- `a.txt`: put back\n" in text
    assert "Files were put back: `a.txt`" in text
    assert text.count("(to be filled in: ") == 5


def test_an_end_that_is_no_time_is_refused(nanocoder, session):
    done = nanocoder("sessions", "incident", "--expected-end", "soon")
    assert (done.returncode, "--expected-end: a date and time" in done.stderr) == (2, True)
