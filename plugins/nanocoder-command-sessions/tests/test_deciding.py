"""Decisions made later about calls of a run that nobody watched."""

import re

import pytest

pytestmark = [pytest.mark.timeout(120), pytest.mark.contract("MA-111")]
DONE = {"text": "All done."}


def write(path="new.py", content="x = 1\n"):
    return {"name": "write_file", "arguments": {"path": path, "content": content}}


@pytest.fixture
def unwatched(nanocoder):
    """Run calls that need approval without anybody to ask; then the model only answers."""

    def run(*calls):
        model = nanocoder.script({"calls": list(calls)}, DONE)
        done = nanocoder("run", "--model", model, "go")
        assert done.returncode == 3, done.stderr

    return run


def tokens(nanocoder):
    return re.findall(
        r"^(\S+:[0-9a-f]{12})  ", nanocoder("sessions", "approve").stdout, re.MULTILINE
    )


def test_what_waits_is_listed_with_what_it_would_do_and_nothing_runs(nanocoder, unwatched):
    unwatched(write(), {"name": "bash", "arguments": {"command": "touch made"}})
    done = nanocoder("sessions", "approve")
    assert done.returncode == 0, done.stderr
    assert "  write_file\n" in done.stdout
    assert "x = 1" in done.stdout
    assert "touch made" in done.stdout
    assert "to approve: nanocoder sessions approve" in done.stderr
    assert list(nanocoder.cwd.iterdir()) == []


def test_an_approved_call_runs_and_the_model_goes_on(nanocoder, unwatched):
    unwatched(write(), {"name": "bash", "arguments": {"command": "touch made"}})
    first, _ = tokens(nanocoder)
    model = nanocoder.script({"text": "played"}, {"text": "played"}, {"text": "Thanks."})
    done = nanocoder("sessions", "approve", "last", first, "--model", model)
    assert (done.returncode, done.stdout) == (0, "Thanks.\n"), done.stderr
    assert (nanocoder.cwd / "new.py").read_text() == "x = 1\n"
    assert not (nanocoder.cwd / "made").exists()
    shown = nanocoder("sessions", "show").stdout
    assert "The user has approved what you could not do before" in shown
    assert tokens(nanocoder) == []


def test_a_file_that_changed_meanwhile_is_decided_about_again(nanocoder, unwatched):
    (nanocoder.cwd / "new.py").write_text("old\n")
    unwatched({"name": "read_file", "arguments": {"path": "new.py"}}, write())
    [token] = tokens(nanocoder)
    (nanocoder.cwd / "new.py").write_text("other\n")
    done = nanocoder("sessions", "approve", "last", token)
    assert done.returncode == 3
    assert f"it is not what was shown as {token}" in done.stderr
    assert "-other" in done.stderr
    assert (nanocoder.cwd / "new.py").read_text() == "other\n"


def test_a_rule_that_came_meanwhile_holds(nanocoder, unwatched):
    unwatched(write())
    [token] = tokens(nanocoder)
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["write_file(new.py)"]\n')
    done = nanocoder("sessions", "approve", "last", token)
    assert done.returncode == 6
    assert "forbids it" in done.stderr
    assert not (nanocoder.cwd / "new.py").exists()


@pytest.mark.parametrize(
    "change", [lambda token: f"{token[:-1]}x", lambda _: "call-9:0", str.upper]
)
def test_a_token_of_something_else_approves_nothing(nanocoder, unwatched, change):
    unwatched(write())
    [token] = tokens(nanocoder)
    done = nanocoder("sessions", "approve", "last", change(token))
    assert done.returncode in {2, 3}
    assert not (nanocoder.cwd / "new.py").exists()
