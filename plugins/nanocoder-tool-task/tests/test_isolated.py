"""Sub-agents in worktrees: what they see, what comes back, and what is left behind."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve
from nanocoder import ApprovalAnswer, Decision, Verdict, hookimpl, tool
from nanocoder_kit_process.git import run as asking
from nanocoder_kit_sessions import testing
from nanocoder_tool_task import places as where
from nanocoder_tool_task import worktree
from nanocoder_tool_task.agent import moved

ISOLATED = {"isolation": "worktree"}
MERGED = {"isolation": "worktree", "merge": True}
READ = {"name": "read_file", "arguments": {"path": "code.py"}}
CHANGED = "a = 1\nb = 2\nc = 3\nd = 4\ne = 51\n"
WRITE = {"name": "write_file", "arguments": {"path": "code.py", "content": CHANGED}}
ADD = {"name": "write_file", "arguments": {"path": "made/here.txt", "content": "made\n"}}


def calls(*requested):
    return {"calls": list(requested)}


def offer(*tools):
    return {"more": SimpleNamespace(nanocoder_tools=hookimpl(lambda: list(tools)))}


def places(script):
    folder = script.home / ".cache/nanocoder/worktrees"
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.fixture
def clean(repository, script, git):
    """Check that a test leaves no worktree and the repository's index as they were."""
    before = git(repository, "diff", "--cached")
    yield repository
    assert git(repository, "worktree", "list").count("\n") == 1
    assert places(script) == []
    assert git(repository, "diff", "--cached") == before


@pytest.mark.contract("MA-83")
def test_a_sub_agent_works_on_a_copy_with_what_is_not_committed(run, clean):
    result, _ = run(calls(READ), calls(WRITE, ADD), {"text": "Done."}, arguments=ISOLATED)
    outputs = [event.data["output"] for event in run.inside("call.returned")]
    assert outputs[0].endswith("e = 50\n")
    assert (clean / "code.py").read_text().endswith("e = 50\n")
    assert not (clean / "made").exists()
    assert not result.is_error
    assert "M code.py (5 lines, +0)\nA made/here.txt (1 line, +1)" in result.output
    assert result.metadata["files_changed"] == []


def test_the_parents_paths_are_those_of_the_copy_in_the_prompt(run, clean):
    prompt = f"Read {clean}/hello.txt, not {clean}-old/hello.txt; all of {clean}."
    run({"text": "Done."}, arguments={**ISOLATED, "prompt": prompt})
    (started,) = run.inside("run.started")
    copy = re.search(r"Read (/\S+)/hello\.txt", started.data["prompt"])[1]
    assert "/worktrees/" in copy
    assert started.data["prompt"].endswith(
        f"Read {copy}/hello.txt, not {clean}-old/hello.txt; all of {copy}."
    )


def test_the_copys_paths_are_the_parents_in_the_answer():
    answer = "See /c/w/1/a.py:3, /c/w/1, and /c/w/10/b.py"
    assert moved(answer, "/c/w/1", "/home/me") == "See /home/me/a.py:3, /home/me, and /c/w/10/b.py"
    assert moved(answer, "", "") == answer


def test_a_name_with_lines_and_controls_in_it_says_no_lines_of_its_own(run, clean):
    """A newline, an escape, a line separator: each is escaped, and none is obeyed."""
    forged = "a\nM code.py (5 lines, +0)\x1b[2J\u2028b\tc"
    write = {"name": "write_file", "arguments": {"path": forged, "content": ""}}
    result, _ = run(calls(write), {"text": "Done."}, arguments=MERGED)
    escaped = r"a\x0aM code.py (5 lines, +0)\x1b[2J\u2028b\x09c"
    assert f"({escaped} is new and empty): 1 file\nA {escaped} (0 lines, +0)" in result.output


@pytest.mark.contract("MA-83")
def test_its_changes_are_merged_by_a_call_that_the_person_agrees_to(run, clean):
    requests = []

    def approve(request):
        requests.append((request.call.name, request.call.parent_id, request.reason[:9]))
        return ApprovalAnswer(request.id, request.digest, approved=True)

    turns = [calls(WRITE, ADD), {"text": "Done."}]
    result, _ = run(*turns, arguments=MERGED, approve=approve)
    assert (clean / "code.py").read_text() == CHANGED
    assert (clean / "made/here.txt").read_text() == "made\n"
    assert result.metadata["files_changed"] == ["code.py", "made/here.txt"]
    assert [name for name, _, _ in requests] == ["write_file", "write_file", "apply_patch"]
    assert {parent for _, parent, _ in requests} == {"call-1"}
    assert [reason for _, _, reason in requests][:2] == ["sub-agent"] * 2


@pytest.mark.contract("MA-83")
def test_a_conflict_leaves_everything_as_it_is_and_keeps_the_patch(run, clean):
    def meddle(result):
        (clean / "code.py").write_text("a = 1\nb = 2\nc = 3\nd = 4\ne = 0\n")

    hook = SimpleNamespace(nanocoder_after_execute=hookimpl(meddle))
    turns = [calls(ADD, WRITE), {"text": "Done."}]
    result, _ = run(*turns, arguments=MERGED, plugins={"meddler": hook})
    assert "Its changes were not merged" in result.output
    assert (clean / "code.py").read_text().endswith("e = 0\n")
    assert not (clean / "made").exists()
    (agent,) = result.data["agents"]
    assert (agent["merged"], agent["files_changed"], agent["id"]) == (False, [], "a1")


@pytest.mark.contract("MA-83", "MA-85")
def test_what_the_parent_denies_is_denied_in_a_worktree_and_in_the_merge(run, clean):
    def judge(call, session):
        denied = call.name == "apply_patch" or call.arguments.get("path") == "code.py"
        return Verdict(Decision.DENY if denied else Decision.ALLOW, "not this one")

    rules = SimpleNamespace(nanocoder_before_execute=hookimpl(judge))
    turns = [calls(WRITE, ADD), {"text": "Done."}]
    result, _ = run(*turns, arguments=MERGED, plugins={"policy": rules})
    messages = [event.data["message"] for event in run.inside("call.denied")]
    assert messages == ["denied: not this one"]
    assert "not merged (denied: not this one)" in result.output
    assert "code.py" not in result.output
    assert not (clean / "made").exists()


@pytest.mark.contract("MA-83")
@pytest.mark.parametrize("arguments", [ISOLATED, {}])
def test_a_policy_learns_what_a_worktree_is_a_copy_of(run, clean, arguments):
    sessions = []

    def judge(session):
        sessions.append((session.agent, session.cwd == clean, session.origins))
        return Verdict(Decision.ALLOW)

    rules = SimpleNamespace(nanocoder_before_execute=hookimpl(judge))
    run(calls(READ), {"text": "Done."}, arguments=arguments, plugins={"policy": rules})
    inside = ("general", False, (clean,)) if arguments else ("general", True, ())
    assert sessions == [("", True, ()), inside]


@pytest.mark.contract("MA-85")
def test_a_hook_of_the_parent_redacts_what_a_sub_agent_reads(run, clean):
    def redact(result):
        return evolve(result, output=result.output.replace("50", "[redacted]"))

    hook = SimpleNamespace(nanocoder_after_execute=hookimpl(redact))
    run(calls(READ), {"text": "Done."}, arguments=ISOLATED, plugins={"redactor": hook})
    outputs = [event.data["output"] for event in run.inside("call.returned")]
    assert outputs[0].endswith("e = [redacted]\n")


@pytest.mark.contract("MA-83")
def test_without_a_repository_or_a_commit_there_is_no_worktree(run, tmp_path, git, script):
    for _ in range(2):
        result, _ = run({"text": "Done."}, arguments=ISOLATED)
        assert (result.is_error, result.error_class) == (True, "no_repository")
        git(tmp_path, "init", "-q")
    assert places(script) == []


@pytest.mark.contract("MA-83")
def test_nothing_that_a_repository_names_is_started(run, clean, git, tmp_path_factory):
    mark = tmp_path_factory.mktemp("mark") / "mark"
    touch = f"touch {mark}; cat"
    git(clean, "config", "core.fsmonitor", f"touch {mark};")
    for kind in ("clean", "smudge", "process"):
        git(clean, "config", f"filter.evil.{kind}", touch)
    git(clean, "config", "filter.evil.required", "true")
    git(clean, "config", "diff.evil.textconv", touch)
    git(clean, "config", "diff.evil.command", touch)
    git(clean, "config", "diff.external", touch)
    git(clean, "config", "core.pager", touch)
    (clean / ".gitattributes").write_text("* filter=evil diff=evil\n")
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        hook = clean / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    result, _ = run(calls(WRITE, ADD), {"text": "Done."}, arguments=ISOLATED)
    assert not mark.exists()
    assert "A made/here.txt" in result.output
    # Git as this test runs it would start all of that.
    (clean / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    for hook in (clean / ".git/hooks").iterdir():
        hook.unlink()


def test_a_repository_that_allows_a_protocol_by_name_fetches_nothing(run, clean, git, monkeypatch):
    """As with a git that fetches what is missing, whatever it is told."""
    mark = clean.parent / "fetched"
    monkeypatch.delitem(asking.VARIABLES, "GIT_NO_LAZY_FETCH")
    git(clean, "config", "core.repositoryformatversion", "1")
    git(clean, "config", "extensions.partialClone", "origin")
    git(clean, "config", "remote.origin.url", f"ext::touch {mark}")
    git(clean, "config", "protocol.ext.allow", "always")
    tree = git(clean, "rev-parse", "HEAD^{tree}").strip()
    missing = clean / ".git/objects" / tree[:2] / tree[2:]
    content = missing.read_bytes()
    missing.unlink()
    result, _ = run({"text": "Done."}, arguments=ISOLATED)
    assert result.error_class == "git_failed"
    assert not mark.exists()
    missing.write_bytes(content)


def test_one_file_larger_than_a_worktree_may_be_is_not_copied(run, clean, monkeypatch):
    monkeypatch.setattr(worktree, "MAX_BYTES", 1_000_000)
    monkeypatch.setattr(worktree, "PIECE_BYTES", 100_000)
    copied: list[int] = []
    monkeypatch.setattr(worktree, "_stamp_of", lambda status: copied.append(status.st_size) or ())
    with (clean / "sparse.bin").open("wb") as file:
        file.truncate(50_000_000)
    result, _ = run({"text": "Done."}, arguments=ISOLATED)
    assert result.error_class == "too_large"
    assert max(copied, default=0) < 2_000_000
    (clean / "sparse.bin").unlink()


@pytest.mark.contract("MA-83")
def test_a_repository_whose_settings_point_elsewhere_is_refused(run, repository, git):
    git(repository, "config", "core.worktree", "/")
    result, _ = run({"text": "Done."}, arguments=ISOLATED)
    assert result.error_class == "no_repository"
    assert "elsewhere" in result.output


@pytest.mark.contract("MA-83")
def test_links_that_a_sub_agent_makes_lead_nowhere(run, clean, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "hello.txt").write_text("a secret\n")

    @tool(effects={"write"})
    def link_out(ctx) -> str:
        """Replace what is there by links that lead out."""
        here = ctx.working_directory
        (here / "dir").mkdir()
        (here / "hello.txt").unlink()
        (here / "hello.txt").symlink_to(outside / "hello.txt")
        (here / "way").symlink_to(outside)
        return ""

    linking = calls({"name": "link_out", "arguments": {}})
    result, _ = run(linking, {"text": "Done."}, arguments=MERGED, plugins=offer(link_out))
    assert "hello.txt is a link" in result.output
    assert "secret" not in result.output
    assert (clean / "hello.txt").read_text() == "one line\n"


@pytest.mark.contract("MA-83")
def test_a_worktree_is_removed_whatever_a_sub_agent_did_to_it(run, clean):
    @tool(effects={"write"})
    def wreck(ctx) -> str:
        """Take the worktree from git and bury something where no permission leads."""
        here = ctx.working_directory
        (here / ".git").write_text("gitdir: /nowhere\n")
        deep = here / "closed/deep"
        deep.mkdir(parents=True)
        (deep / "file.txt").write_text("x\n")
        deep.parent.chmod(0)
        return ""

    wrecking = calls({"name": "wreck", "arguments": {}})
    result, _ = run(wrecking, {"text": "Done."}, arguments=ISOLATED, plugins=offer(wreck))
    assert not result.is_error


@pytest.mark.contract("MA-83")
def test_what_is_no_text_is_not_merged_but_kept(run, clean):
    @tool(effects={"write"})
    def make_odd(ctx) -> str:
        """Make a binary file and a program."""
        (ctx.working_directory / "image.bin").write_bytes(b"\0\1")
        (ctx.working_directory / "hello.txt").chmod(0o755)
        return ""

    odd = calls({"name": "make_odd", "arguments": {}})
    result, _ = run(odd, {"text": "Done."}, arguments=MERGED, plugins=offer(make_odd))
    assert "hello.txt becomes executable or no longer is; image.bin is binary" in result.output
    assert not (clean / "image.bin").exists()


@pytest.mark.parametrize("name", ["empty.txt", 'a "b".txt'])
def test_a_deletion_that_no_patch_can_tell_is_not_said_to_be_merged(run, clean, name):
    (clean / name).write_text("")

    @tool(effects={"write"})
    def delete(ctx) -> str:
        """Delete a file without lines, and change one with some."""
        (ctx.working_directory / name).unlink()
        ctx.workspace.write_text("code.py", CHANGED)
        return ""

    def fill(result):
        (clean / name).write_text("precious\n")

    plugins = offer(delete) | {"meddler": SimpleNamespace(nanocoder_after_execute=hookimpl(fill))}
    deleting = calls({"name": "delete", "arguments": {}})
    result, _ = run(deleting, {"text": "Done."}, arguments=MERGED, plugins=plugins)
    assert f"Its changes were not merged ({name} is empty and deleted)" in result.output
    assert (clean / name).read_text() == "precious\n"
    assert (clean / "code.py").read_text() != CHANGED


def test_a_name_that_a_patch_would_quote_is_not_merged(run, clean):
    quoted = {"name": "write_file", "arguments": {"path": 'a "b".txt', "content": "x\n"}}
    result, _ = run(calls(quoted), {"text": "Done."}, arguments=MERGED)
    assert "has a name that a patch quotes" in result.output
    assert not (clean / 'a "b".txt').exists()


@pytest.mark.contract("MA-82", "MA-83")
def test_changes_of_sub_agents_that_worked_at_the_same_time_come_together(run, clean):
    @tool(effects={"write"})
    def number(ctx) -> str:
        """Change the line that no other sub-agent changes: each has its own directory."""
        locks = [clean / f"{at}.locks" for at in (1, 5)]
        at = 0
        try:
            locks[0].touch(exist_ok=False)
        except FileExistsError:
            at = 1
        lines = ctx.workspace.read_text("code.py").splitlines(keepends=True)
        lines[(0, 4)[at]] = f"changed = {at}\n"
        ctx.workspace.write_text("code.py", "".join(lines))
        return ""

    turn = calls({"name": "number", "arguments": {}})
    also = [{"description": "second", "prompt": "go"}]
    arguments = {**MERGED, "also": also}
    result, _ = run(turn, {"text": "Done."}, arguments=arguments, plugins=offer(number))
    assert result.output.count("Its changes were merged") == 2
    assert (clean / "code.py").read_text() == ("changed = 0\nb = 2\nc = 3\nd = 4\nchanged = 1\n")
    (clean / "1.locks").unlink()


@pytest.mark.contract("MA-82", "MA-83")
def test_eight_at_once_have_eight_worktrees(run, clean, git):
    meeting = threading.Barrier(8, timeout=20)
    counts = []

    @tool(risk="safe", effects={"read"}, timeout_s=0)
    def meet(ctx) -> str:
        """Wait until all are here."""
        if meeting.wait() == 0:
            counts.append(git(clean, "worktree", "list").count("/nanocoder-"))
        meeting.wait()
        return str(ctx.working_directory)

    also = [{"description": f"number {n}", "prompt": "go"} for n in range(2, 9)]
    turn = calls({"name": "meet", "arguments": {}})
    arguments = {**ISOLATED, "also": also}
    result, _ = run(turn, {"text": "Met."}, arguments=arguments, plugins=offer(meet))
    assert (result.metadata["succeeded"], counts) == (8, [8])
    assert len({event.data["output"] for event in run.inside("call.returned")}) == 8


def test_git_makes_one_worktree_after_the_other(run, clean, script):
    """Git fails at an incomplete worktree, also at one that another program makes."""
    (script.home / ".cache/nanocoder/worktrees").mkdir(parents=True)
    results = []
    working = threading.Thread(
        target=lambda: results.append(run({"text": "Done."}, arguments=ISOLATED))
    )
    with where.lock_all():
        working.start()
        while not places(script):
            time.sleep(0.01)
        time.sleep(0.3)
        assert not (clean / ".git/worktrees").exists()
    working.join()
    assert results[0][0].output == "Done."


def test_git_writes_nothing_outside_the_workspace(tmp_path, script, tools, git):
    from nanocoder_testing import opened
    from nanocoder_testing.playing import called

    def isolated(folder):
        with opened(folder, plugins=tools) as (session, _):
            result, _ = called(session, "task", {"description": "x", "prompt": "y", **ISOLATED})
        return result

    outer = tmp_path / "outer"
    (outer / "part").mkdir(parents=True)
    git(outer, "init", "-q")
    git(outer, "commit", "-q", "--allow-empty", "-m", "first")
    (tmp_path / "file").mkdir()
    (tmp_path / "file/.git").write_text(f"gitdir: {outer}/.git\n")
    (tmp_path / "link").mkdir()
    (tmp_path / "link/.git").symlink_to(outer / ".git")
    for name in ("worktrees", "common"):
        git(tmp_path, "init", "-q", name)
        git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", "first")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "worktrees/.git/worktrees").symlink_to(elsewhere)
    (tmp_path / "common/.git/commondir").write_text(f"{outer}/.git\n")
    for name in ("outer/part", "file", "link", "worktrees", "common"):
        result = isolated(tmp_path / name)
        assert result.error_class == "no_repository", (name, result.output)
    assert not (outer / ".git/worktrees").exists()
    git(outer, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    result = isolated(tmp_path / "linked")
    assert result.error_class == "no_repository"
    assert "work in the repository of this worktree, or leave isolation out" in result.output
    assert [path.name for path in (outer / ".git/worktrees").iterdir()] == ["linked"]
    assert not list(elsewhere.iterdir())


@pytest.mark.contract("MA-83")
@pytest.mark.timeout(60)
def test_what_a_killed_process_leaves_is_removed_at_the_next_use(run, clean, script, git):
    model = script({"text": "late", "delay_s": 30}, name="slow", provider="scripted")
    arguments = '{"description": "x", "prompt": "y", "isolation": "worktree"}'
    command = [sys.executable, "-P", "-m", "nanocoder", "call", "task", arguments, "--mode", "auto"]
    environment = {**os.environ, "NANOCODER_MODEL": model}
    with subprocess.Popen(command, cwd=clean, env=environment, stdout=subprocess.DEVNULL) as killed:
        deadline = time.monotonic() + 30
        while not any(list(place.glob("nanocoder-*/new.txt")) for place in places(script)):
            assert time.monotonic() < deadline
            assert killed.poll() is None
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
    assert git(clean, "worktree", "list").count("\n") == 2
    assert len(places(script)) == 1
    run({"text": "Done."}, arguments=ISOLATED)


@pytest.mark.contract("MA-83")
def test_the_patch_is_a_file_that_git_applies(run, clean, script, git, tmp_path_factory):
    def unsaved(persist):
        plugins = {"kept": testing}
        return {"persist": persist, "environment": {"HOME": str(script.home)}, "plugins": plugins}

    turns = [calls(WRITE, ADD), {"text": "Done."}]
    result, _ = run(*turns, arguments=ISOLATED, **unsaved(True))
    path = re.search(r"The patch: (.*)", result.output)[1]
    git(clean, "apply", path)
    assert (clean / "code.py").read_text() == CHANGED
    assert Path(path).is_relative_to(script.home / ".local/state/nanocoder/sessions")
