"""Decisions made later about calls of a run that nobody watched."""

import json
import re

import pytest

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.contract("MA-111"),
    pytest.mark.usefixtures("no_sandbox"),
]
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
        r"^(\S+:[0-9a-f]{16})  ", nanocoder("sessions", "approve").stdout, re.MULTILINE
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


def bash(command):
    return {"name": "bash", "arguments": {"command": command}}


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("bash run.sh", "run.sh"),
        ("bash -c 'bash run.sh; echo x'", "run.sh"),
        ("python3 x.py >out", "x.py"),
        ("cd sub && bash go.sh", "sub/go.sh"),
        ("python3 -m sub.tool", "sub/tool.py"),
        ("make all", "Makefile"),
        ("sh ./ru*.sh", "run.sh"),
        ("sh ./r[[:lower:]]?.sh", "run.sh"),
        ("sh s*/g{o,a}.sh", "sub/go.sh"),
        ("cd s?b && sh go.s*", "sub/go.sh"),
    ],
)
def test_a_script_that_changed_meanwhile_is_decided_about_again(
    nanocoder, unwatched, command, file
):
    (nanocoder.cwd / "sub").mkdir()
    (nanocoder.cwd / file).write_text("all:\n")
    unwatched(bash(command))
    [token] = tokens(nanocoder)
    assert tokens(nanocoder) == [token]
    (nanocoder.cwd / file).write_text("touch evil\nall:\n\ttouch evil\n")
    done = nanocoder("sessions", "approve", "last", token)
    assert done.returncode == 3
    assert f"it is not what was shown as {token}" in done.stderr
    assert not list(nanocoder.cwd.rglob("evil"))


@pytest.mark.parametrize("names", ["many/*", " ".join(f"many/{n}" for n in range(1001))])
def test_a_call_that_names_too_many_files_cannot_be_approved(nanocoder, unwatched, names):
    (nanocoder.cwd / "many").mkdir()
    unwatched(bash(f"touch made; cat {names}"))
    [token] = tokens(nanocoder)
    for number in range(1001):
        (nanocoder.cwd / f"many/{number}").touch()
    done = nanocoder("sessions", "approve", "last", token)
    assert done.returncode == 3
    assert "it may name more than 1,000 files" in done.stderr
    assert not (nanocoder.cwd / "made").exists()
    listed = nanocoder("sessions", "approve")
    assert "cannot be approved: it may name more than 1,000 files" in listed.stdout
    assert "to approve" not in listed.stderr


def test_a_decision_holds_for_one_session_only(nanocoder, unwatched):
    unwatched(bash("touch made"))
    [token] = tokens(nanocoder)
    unwatched(bash("touch made"))
    assert tokens(nanocoder) != [token]
    assert nanocoder("sessions", "approve", "last", token).returncode == 3
    assert not (nanocoder.cwd / "made").exists()


def test_a_decision_holds_for_one_folder_only():
    from pathlib import Path

    from nanocoder import ToolCall
    from nanocoder_command_sessions.deciding import Waiting

    call = ToolCall("call-1", "bash", {"command": "touch made"})
    places = [("a", "/a"), ("a", "/b"), ("b", "/a")]
    assert len({Waiting(call, session, Path(folder)).token for session, folder in places}) == 3


def test_what_waits_and_what_was_done_can_be_read_by_programs(nanocoder, unwatched):
    unwatched(write())
    listed = json.loads(nanocoder("sessions", "approve", "--output", "json").stdout)
    [row] = listed["calls"]
    assert (row["tool"], row["problem"]) == ("write_file", "")
    assert "x = 1" in row["preview"]
    refused = nanocoder("sessions", "approve", "last", f"{row['token']}0", "--output", "json")
    assert json.loads(refused.stdout)["not_run"] == row["id"]
    model = nanocoder.script({"text": "played"}, {"text": "played"}, {"text": "Thanks."})
    arguments = ("last", row["token"], "--model", model, "--output", "json")
    done = json.loads(nanocoder("sessions", "approve", *arguments).stdout)
    assert (done["text"], done["error"]) == ("Thanks.", None)
    assert done["session_id"] == listed["session_id"]
    assert [each["id"] for each in done["done"]] == [row["id"]]
    assert json.loads(nanocoder("sessions", "approve", "--output", "json").stdout)["calls"] == []


def test_the_help_and_the_list_say_what_they_show(nanocoder, unwatched):
    help_text = nanocoder("sessions", "approve", "--help").stdout
    assert "nanocoder sessions approve last call-1:" in " ".join(help_text.split())
    unwatched(write())
    assert re.match(
        r"1 call waits for a decision in session \S+\n\n", nanocoder("sessions", "approve").stdout
    )
