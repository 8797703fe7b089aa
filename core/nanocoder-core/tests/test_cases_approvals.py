"""Hostile cases of what changes while a person is asked; names are the cases'."""

import shutil
from pathlib import Path

import pytest
from nanocoder import ApprovalAnswer, open_session


@pytest.fixture
def workspace(nanocoder, monkeypatch):
    """Return a workspace with d/f, a hook of git and a secret."""
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(nanocoder.home))
    for name in ("d/f", ".git/hooks/f", "secrets/.env"):
        (nanocoder.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (nanocoder.cwd / name).write_text("old")
    return nanocoder.cwd


class Person:
    """Says yes to everything; before the first yes something happens."""

    def __init__(self, meanwhile=lambda: None, *, always=False, limit=1):
        self.meanwhile, self.always, self.limit = meanwhile, always, limit
        self.reasons = []

    def __call__(self, request):
        self.reasons.append(request.reason)
        if len(self.reasons) == 1:
            self.meanwhile()
        yes = len(self.reasons) <= self.limit
        return ApprovalAnswer(request.id, request.digest, approved=yes, always=self.always)


def called(workspace, person, name, arguments):
    with open_session(workspace, mode="ask", interactive=True, approve=person) as session:
        *_, last = session.call(name, arguments)
    return last.data


CALLS = [
    ("write_file", {"path": "d/f", "content": "new"}),
    ("edit_file", {"path": "d/f", "old_string": "old", "new_string": "new"}),
    ("apply_patch", {"patch": "--- a/d/f\n+++ b/d/f\n@@ -1 +1 @@\n-old\n+new\n"}),
    ("move_file", {"source": "d/f", "destination": "g"}),
    ("delete_file", {"path": "d/f"}),
]


# PATH-051
@pytest.mark.parametrize(("name", "arguments"), CALLS)
@pytest.mark.parametrize("target", [".git/hooks", "secrets", "/"])
def test_path_051_a_yes_is_not_for_what_the_path_became_meanwhile(
    workspace, tmp_path, name, arguments, target
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("old")
    there = outside if target == "/" else workspace / target
    if target == "secrets":
        (there / "f").symlink_to(".env")

    def swap():
        shutil.rmtree(workspace / "d")
        (workspace / "d").symlink_to(there)

    person = Person(swap)
    data = called(workspace, person, name, arguments)
    assert data["status"] in {"denied", "error"}, data
    assert {one.read_text() for one in (there / "f", workspace / ".git/hooks/f")} == {"old"}
    if target == ".git/hooks":
        assert "'d/f', which leads to '.git/hooks/f', is protected" in person.reasons[1]


def test_path_051_a_path_that_stays_is_asked_about_once(workspace):
    person = Person()
    assert called(workspace, person, *CALLS[0])["status"] == "ok"
    assert len(person.reasons) == 1
    assert (workspace / "d/f").read_text() == "new"


# CONC-005
@pytest.mark.usefixtures("no_sandbox")
def test_conc_005_always_for_one_command_lets_no_other_of_the_same_turn_run(
    nanocoder, workspace, tmp_path
):
    mark: Path = tmp_path / "MARK"
    commands = ("touch a", f"touch {mark}", "touch a")
    calls = [{"name": "bash", "arguments": {"command": command}} for command in commands]
    script = nanocoder.script({"calls": calls}, {"text": "Done."})
    person = Person(always=True)
    options = {"mode": "ask", "interactive": True, "approve": person}
    with open_session(workspace, model=script, **options) as session:
        for _ in session.run("go"):
            pass
        statuses = [one["status"] for one in session.report.tool_calls]
    assert statuses == ["ok", "denied", "ok"]
    assert len(person.reasons) == 2
    assert not mark.exists()
