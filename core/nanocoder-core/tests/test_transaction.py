"""A transactional call: all of its changes, or none, whatever ends it."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import pytest
from nanocoder import (
    Cancel,
    Effect,
    ToolContext,
    ToolError,
    ToolResult,
    Verdict,
    WorkspaceError,
    hookimpl,
    open_session,
    tool,
)
from nanocoder.values import Decision
from nanocoder_files import Workspace
from nanocoder_kit_sessions import testing
from nanocoder_kit_sessions.file_history import History
from nanocoder_kit_sessions.records import read
from nanocoder_testing import Tools, opened, play
from nanocoder_testing.playing import called

KILLED = Path(__file__).with_name("killed.py")
WAIT_S = 8


def tree(root: Path) -> dict[str, tuple[str, object]]:
    """Return names, kinds, modes, contents, and where links lead to."""
    return {
        str(path.relative_to(root)): (oct(path.lstat().st_mode), _content(path))
        for path in root.rglob("*")
    }


def _content(path: Path) -> object:
    if path.is_symlink():
        return path.readlink()
    return path.read_bytes() if path.is_file() else None


class Allowed(Tools):
    """A plugin that offers tools, and allows them."""

    @hookimpl
    def nanocoder_before_execute(self):
        return Verdict(Decision.ALLOW, "tests may")


def change(ctx: ToolContext) -> None:
    """Write, make, move and delete."""
    ctx.workspace.write_text("a.txt", "new\n")
    ctx.workspace.write_text("made/b.txt", "new\n")
    ctx.workspace.move("c.txt", "made/c.txt")
    ctx.workspace.delete("run.sh")


def transactional(handler: Any, **fields: Any) -> Any:
    return tool(risk="medium", effects={Effect.WRITE}, transactional=True, **fields)(handler)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("a.txt", "c.txt", "run.sh"):
        (folder / name).write_text(f"old {name}\n")
    (folder / "run.sh").chmod(0o751)
    return folder


@pytest.fixture
def state(tmp_path):
    folder = tmp_path / "home/.local/state/nanocoder"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.timeout(120)
@pytest.mark.contract("CO-15")
@pytest.mark.full
def test_a_call_that_is_killed_at_any_step_is_taken_back_by_the_next_session(tmp_path):
    done = subprocess.run(
        [sys.executable, KILLED, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    before, after, outcomes = found["before"], found["after"], found["call"]["outcomes"]
    # Whole steps back, until the call has succeeded; wholly new from there on.
    kept = outcomes.index(after)
    assert kept > 60, "every change has several steps"
    assert [at for at, one in enumerate(outcomes[:kept], 1) if one != before] == []
    assert [at for at, one in enumerate(outcomes[kept:], kept + 1) if one != after] == []
    (told,) = found["call"]["told"][kept - 1]
    assert told.startswith("change_much of session unsaved was interrupted; restored: ")
    assert "a.txt" in told
    # What takes it back may be killed itself.
    assert found["recovery"]["half"] != before
    outcomes = found["recovery"]["outcomes"]
    assert len(outcomes) > 40
    assert [at for at, one in enumerate(outcomes, 1) if one != before] == []
    # And so may a call that has failed, while it puts everything back.
    outcomes = found["failing"]["outcomes"]
    assert len(outcomes) > 40
    assert [at for at, one in enumerate(outcomes, kept) if one != before] == []
    assert found["state"] == [], "nothing is left behind"


def returns_an_error(ctx: ToolContext) -> ToolResult:
    """Change, and fail."""
    change(ctx)
    return ToolResult("it went wrong", is_error=True, error_class="wrong")


def raises_an_error(ctx: ToolContext) -> str:
    """Change, and fail."""
    change(ctx)
    raise ToolError("it went wrong", error_class="wrong")


def breaks(ctx: ToolContext) -> str:
    """Change, and break."""
    change(ctx)
    raise ZeroDivisionError


def fails_in_the_middle(ctx: ToolContext) -> str:
    """Change, and change what may not be changed."""
    change(ctx)
    ctx.workspace.write_text(".git/config", "x")
    ctx.workspace.write_text("../outside", "x")
    return "never"


@pytest.mark.contract("CO-15")
@pytest.mark.parametrize(
    "handler", [returns_an_error, raises_an_error, breaks, fails_in_the_middle]
)
def test_a_call_that_fails_leaves_every_file_as_it_was(root, handler):
    before = tree(root)
    with opened(root, plugins={"tools": Allowed(transactional(handler))}) as (session, _):
        result, events = called(session, handler.__name__, {})
    assert result.is_error
    assert tree(root) == before
    assert result.metadata["restored"] == ["a.txt", "made", "made/b.txt", "c.txt", "run.sh"]
    assert result.output.endswith(
        "\n[restored to the state before this call: a.txt, made, made/b.txt, c.txt, run.sh]"
    )
    assert [event.kind for event in events][-3:] == [
        "call.finished",
        "call.restored",
        "call.returned",
    ]
    assert events[-2].data["restored"] == result.metadata["restored"]


def test_a_call_that_succeeds_keeps_all_and_one_that_is_not_transactional_keeps_half(root):
    @transactional
    def succeeds(ctx: ToolContext) -> str:
        """Change."""
        change(ctx)
        return "done"

    half = tool(risk="medium", effects={Effect.WRITE})(raises_an_error)
    with opened(root, plugins={"tools": Allowed(succeeds, half)}) as (session, _):
        result, events = called(session, "succeeds", {})
        assert (result.output, "restored" in result.metadata) == ("done", False)
        assert "call.restored" not in [event.kind for event in events]
        assert sorted(tree(root)) == ["a.txt", "made", "made/b.txt", "made/c.txt"]
        (root / "c.txt").write_text("again\n")
        (root / "made/c.txt").unlink()
        result, _ = called(session, "raises_an_error", {})
        assert result.error_class == "file_not_found", "there is no run.sh"
        assert sorted(tree(root)) == ["a.txt", "made", "made/b.txt", "made/c.txt"]


@pytest.mark.contract("CO-15")
@pytest.mark.parametrize("how", ["cancel", "timeout", "abandoned"])
def test_a_call_that_is_ended_is_taken_back_and_changes_nothing_any_more(root, how):
    before, entered, go_on, late = tree(root), threading.Event(), threading.Event(), []

    def stuck(ctx: ToolContext) -> str:
        """Change, and do not hear."""
        change(ctx)
        entered.set()
        ctx.progress("changed")
        go_on.wait(WAIT_S)
        for attempt in (
            lambda: ctx.workspace.write_text("late.txt", "x"),
            lambda: ctx.workspace.make_dirs("late"),
            lambda: ctx.workspace.delete("a.txt"),
        ):
            with pytest.raises(ToolError, match="has ended") as caught:
                attempt()
            late.append(caught.value.error_class)
        return "late"

    limit = 0.1 if how == "timeout" else 0
    tools = Allowed(transactional(stuck, timeout_s=limit))
    with opened(root, plugins={"tools": tools}) as (session, _):
        if how == "abandoned":
            events = session.call("stuck", {})
            while next(events).kind != "call.progress":
                pass
            events.close()
        else:
            cancel = Cancel()
            stop = threading.Thread(target=lambda: entered.wait(WAIT_S) and cancel.set())
            if how == "cancel":
                stop.start()
            result, _ = called(session, "stuck", {}, cancel=cancel)
            assert result.error_class == {"cancel": "cancelled"}.get(how, how)
            assert "a.txt" in result.metadata["restored"]
        assert tree(root) == before
        go_on.set()
    assert late == ["cancelled"] * 3
    assert tree(root) == before


def test_a_result_that_is_withheld_takes_the_changes_back(root):
    class Withholding:
        @hookimpl
        def nanocoder_after_execute(self):
            raise ValueError("no")

    @transactional
    def succeeds(ctx: ToolContext) -> str:
        """Change."""
        change(ctx)
        return "done"

    before = tree(root)
    plugins = {"tools": Allowed(succeeds), "withholding": Withholding()}
    with opened(root, plugins=plugins) as (session, _):
        result, events = called(session, "succeeds", {})
    assert result.error_class == "withheld"
    assert "a.txt" in result.metadata["restored"]
    assert tree(root) == before
    assert [event.kind for event in events][-3:] == [
        "call.failed",
        "call.restored",
        "call.returned",
    ]


@tool(risk="medium", effects={Effect.WRITE})
def write(ctx: ToolContext, path: str, text: str) -> str:
    """Write a file."""
    ctx.workspace.write_text(path, text)
    return "written"


@transactional
def write_or_fail(ctx: ToolContext, path: str) -> str:
    """Write a file, and fail where it is wrong."""
    ctx.workspace.write_text(path, "inner\n")
    if path == "wrong.txt":
        raise ToolError("wrong")
    return "written"


def composed(ctx: ToolContext, *, forgive: bool) -> str:
    """Take several steps."""
    ctx.call("write", {"path": "a.txt", "text": "new\n"})
    ctx.call("write_or_fail", {"path": "b.txt"})
    failed = ctx.call("write_or_fail", {"path": "wrong.txt"})
    if not forgive:
        raise ToolError(failed.output)
    return "done"


COMPOSED = {"composed_of": ("write", "write_or_fail"), "single_confirmation": True}


@pytest.mark.contract("CO-15")
def test_the_steps_of_a_transactional_call_share_its_fate(root):
    tools = Allowed(write, write_or_fail, transactional(composed, **COMPOSED))
    before = tree(root)
    with opened(root, plugins={"tools": tools}) as (session, _):
        result, events = called(session, "composed", {"forgive": False})
        assert tree(root) == before
        assert result.metadata["restored"] == ["a.txt", "b.txt", "wrong.txt"]
        assert [one.call_id for one in events if one.kind == "call.restored"] == ["call-1"]
        called(session, "composed", {"forgive": True})
        assert (root / "wrong.txt").read_text() == "inner\n", "the outer call decides"


def test_a_transactional_step_of_another_call_stands_for_itself(root):
    plain = tool(risk="medium", effects={Effect.WRITE}, **COMPOSED)(composed)
    with opened(root, plugins={"tools": Allowed(write, write_or_fail, plain)}) as (session, _):
        _, events = called(session, "composed", {"forgive": False})
    assert [one.call_id for one in events if one.kind == "call.restored"] == ["call-1.3"]
    assert (root / "a.txt").read_text() == "new\n"
    assert (root / "b.txt").read_text() == "inner\n"
    assert not (root / "wrong.txt").exists()


def test_two_calls_at_once_do_not_take_each_other_back(root):
    both = threading.Barrier(2)

    @transactional
    def side_by_side(ctx: ToolContext, path: str, *, fail: bool) -> str:
        """Write twice, with somebody beside."""
        ctx.workspace.write_text(path, "first\n")
        both.wait(WAIT_S)
        ctx.workspace.write_text(f"new/{path}", "second\n")
        both.wait(WAIT_S)
        if fail:
            raise ToolError("no")
        return "done"

    with opened(root, plugins={"tools": Allowed(side_by_side)}) as (session, _):
        calls = [
            threading.Thread(target=called, args=(session, "side_by_side", arguments))
            for arguments in ({"path": "a.txt", "fail": True}, {"path": "c.txt", "fail": False})
        ]
        for one in calls:
            one.start()
        for one in calls:
            one.join()
    assert (root / "a.txt").read_text() == "old a.txt\n"
    assert (root / "c.txt").read_text() == "first\n"
    assert sorted(os.listdir(root / "new")) == ["c.txt"], "the folder stays: the other needs it"


@pytest.mark.parametrize("change", ["write", "delete", "move", "move_over"])
def test_a_file_that_another_call_may_take_back_is_not_changed(root, state, change):
    """Two sessions in one directory: neither may put back what the other has left half done."""
    change_logs = state / "change-logs"
    with (
        Workspace(root, change_logs=change_logs) as ours,
        Workspace(root, change_logs=change_logs) as theirs,
    ):
        first, rollback = ours.recording("first", "one call")
        second, _ = theirs.recording("second", "another call", processes=True)
        first.write_text("a.txt", "by the first\n")
        first.write_text("new/x.txt", "x\n")
        second.write_text("new/y.txt", "y\n")
        attempts = {
            "write": lambda: second.write_text("a.txt", "by the second\n"),
            "delete": lambda: second.delete("a.txt"),
            "move": lambda: second.move("a.txt", "d.txt"),
            "move_over": lambda: second.move("c.txt", "a.txt", replace=True),
        }
        with pytest.raises(WorkspaceError, match="another call, which may still undo its change"):
            attempts[change]()
        assert (root / "a.txt").read_text() == "by the first\n"
        assert rollback.restore().lost == ()
        assert (root / "a.txt").read_text() == "old a.txt\n"
        attempts[change]()


def test_what_a_process_of_the_call_made_of_the_files_goes_too_and_a_copy_is_kept(root, tmp_path):
    backups = tmp_path / "backups"
    before = tree(root)
    with Workspace(root, backups=backups) as workspace:
        view, rollback = workspace.recording("call", "a call", processes=True)
        view.write_text("a.txt", "new\n")
        view.write_text("made/b.txt", "new\n")
        view.delete("run.sh")
        (root / "a.txt").write_text("formatted\n")
        (root / "made/b.txt").write_text("formatted, too\n")
        (root / "run.sh").write_text("again\n")
        restored = rollback.restore()
        kept = [path.read_text() for path in sorted(backups.glob("*/*-a.txt"))]
    assert restored.lost == ()
    assert tree(root) == before
    assert "formatted\n" in kept
    names = "run.sh, made/b.txt, a.txt"
    assert restored.then == (
        f"changed by others meanwhile, and replaced: {names} (copies are in {backups})"
    )


def test_what_somebody_else_made_of_the_files_of_a_call_without_processes_stays(root):
    with Workspace(root) as workspace:
        view, rollback = workspace.recording("call", "a call")
        view.write_text("a.txt", "new\n")
        view.write_text("c.txt", "new\n")
        (root / "a.txt").write_text("by a person\n")
        restored = rollback.restore()
    assert restored.paths == ("c.txt",)
    assert restored.lost == ("'a.txt' has changed since and was left as it is",)
    assert (root / "a.txt").read_text() == "by a person\n"


def test_what_cannot_be_put_back_is_said_and_tried_again(root, state):
    change_logs = state / "change-logs"
    with Workspace(root, change_logs=change_logs) as workspace:
        view, rollback = workspace.recording("call", "a call", processes=True)
        view.write_text("a.txt", "new\n")
        view.write_text("c.txt", "new\n")
        (root / "a.txt").unlink()
        (root / "a.txt").mkdir()
        (root / "a.txt/full").touch()
        restored = rollback.restore()
    assert restored.paths == ("c.txt",)
    assert restored.lost[0].startswith("'a.txt' could not be restored: ")
    (root / "a.txt/full").unlink()
    (root / "a.txt").rmdir()
    (root / "a.txt").write_text("new\n")
    assert told_at_the_start(root, state) == ["a call was interrupted; restored: a.txt"]
    assert (root / "a.txt").read_text() == "old a.txt\n"
    assert list(state.iterdir()) == []


FULL = """
import resource, sys
from pathlib import Path
from nanocoder_files import Workspace
from nanocoder_files import recover

root, change_logs = Path(sys.argv[1]), Path(sys.argv[2])
with Workspace(root, change_logs=change_logs) as workspace:
    view, rollback = workspace.recording("call", "a call", processes=True)
    view.write_text("a.txt", "new")
    view.write_text("large.txt", "new")
    view.delete("run.sh")
    view.write_text("made.txt", "new")
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    restored = rollback.restore()
print(restored.paths, *restored.lost, restored.then, *recover(change_logs, root), sep="\\n")
"""


def test_a_disk_that_is_full_in_the_middle_keeps_only_the_rest_from_being_put_back(root, state):
    """Here a file may have 10,000 bytes, those of the intents included."""
    (root / "large.txt").write_text("x" * 50_000)
    before = tree(root)
    words = [sys.executable, "-c", FULL, root, state / "change-logs"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    lost = "'large.txt' could not be restored: File too large"
    then = "make room, or remove what is in the way; the next session in this directory"
    assert said[:2] == ["('a.txt', 'run.sh', 'made.txt')", lost]
    assert said[2] == f"{then} tries again before anything else"
    # A session that finds the disk still full says the same, and gives up no copy.
    assert said[3].startswith(lost)
    assert said[4] == "the next session here tries again to restore the rest"
    different = {name for name, one in tree(root).items() if one != before.get(name)}
    assert different == {"large.txt"}, "nothing half-written, and no temporary file"
    (root / "a.txt").write_text("new")  # done again by hand: it is the person's now
    assert told_at_the_start(root, state) == ["a call was interrupted; restored: large.txt"]
    assert (root / "large.txt").read_text() == "x" * 50_000
    assert (root / "a.txt").read_text() == "new"


def test_what_has_no_folder_any_more_is_kept_for_the_next_session(root, state):
    with Workspace(root, change_logs=state / "change-logs") as workspace:
        workspace.write_text("folder/x.txt", "old x\n")
        view, rollback = workspace.recording("call", "a call", processes=True)
        view.write_text("folder/x.txt", "new\n")
        (root / "folder/x.txt").unlink()
        (root / "folder").rmdir()
        (root / "folder").write_text("a file now\n")
        restored = rollback.restore()
    assert restored.lost == ("'folder/x.txt' could not be restored, because its folder is gone",)
    (line,) = told_at_the_start(root, state)
    copy = line.partition("its earlier content is in ")[2].partition(" [")[0]
    assert Path(copy).read_text() == "old x\n"


def test_a_file_that_was_read_before_may_be_written_after_a_restore(root):
    with Workspace(root) as workspace:
        workspace.read_text("a.txt")
        workspace.read_text("c.txt")
        view, rollback = workspace.recording("call", "a call")
        view.write_text("a.txt", "new\n")
        view.move("c.txt", "d.txt")
        rollback.restore()
        workspace.write_text("a.txt", "by the model\n")
        (root / "c.txt").write_text("by a person\n")
        with pytest.raises(WorkspaceError) as caught:
            workspace.write_text("c.txt", "by the model\n")
    assert caught.value.error_class == "stale_read"


@pytest.mark.parametrize("why", ["special", "no_room"])
def test_what_could_not_be_put_back_is_not_changed(root, tmp_path, why):
    os.mkfifo(root / "pipe")
    (tmp_path / "taken").touch()
    before = tree(root)
    change_logs = tmp_path / "taken" if why == "no_room" else None
    with Workspace(root, change_logs=change_logs) as workspace:
        view, rollback = workspace.recording("call", "a call")
        with pytest.raises(WorkspaceError) as caught:
            view.delete("pipe" if why == "special" else "a.txt")
        rollback.restore()
    assert caught.value.error_class == {"special": "not_a_regular_file"}.get(why, "io_error")
    assert tree(root) == before


# After a kill

CRASH = """
import os, signal, sys
from pathlib import Path
from nanocoder_files import Workspace
root, change_logs = Path(sys.argv[1]), Path(sys.argv[2])
own = Workspace(root, change_logs=change_logs)
ws, rollback = own.recording("s-call", "rename of session s")
{changes}
print("ready", flush=True)
{end}
"""


def crash(root: Path, state: Path, changes: str, end: str = "os.kill(os.getpid(), 9)") -> Any:
    script = CRASH.format(changes=changes, end=end)
    return subprocess.Popen(
        [sys.executable, "-c", script, root, state / "change-logs"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def killed(root: Path, state: Path, changes: str) -> None:
    with crash(root, state, changes) as process:
        assert process.communicate()[0] == b"ready\n"


def told_at_the_start(root: Path, state: Path) -> list[str]:
    told: list[str] = []
    home = state.parents[2]
    with opened(root, environment={"HOME": str(home)}, warn=told.append):
        return told


@pytest.mark.contract("CO-15")
def test_a_file_that_a_person_changed_after_the_kill_is_left_and_its_copy_is_named(root, state):
    killed(
        root,
        state,
        "ws.write_text('a.txt', 'half\\n')\nws.write_text('a.txt', 'more\\n')\n"
        "ws.write_text('c.txt', 'new\\n')\nws.write_text('made/b.txt', 'new\\n')",
    )
    (root / "a.txt").write_text("by a person\n")
    (root / "made/b.txt").write_text("by a person, too\n")
    lines = told_at_the_start(root, state)
    assert lines[0] == "rename of session s was interrupted; restored: c.txt"
    copies = [
        line.partition("is in ")[2].removesuffix(" [a call was interrupted]") for line in lines
    ]
    assert "'made/b.txt' has changed since and was left as it is" in lines[1]
    assert "'a.txt' has changed since and was left as it is; its earlier content is" in lines[2]
    assert Path(copies[2]).read_text() == "old a.txt\n", "not the half that came later"
    assert (root / "a.txt").read_text() == "by a person\n"
    assert (root / "made/b.txt").read_text() == "by a person, too\n"
    assert (root / "c.txt").read_text() == "old c.txt\n"
    assert told_at_the_start(root, state) == []


def test_calls_that_were_killed_together_are_taken_back_in_the_order_of_their_changes(root, state):
    before = tree(root)
    killed(
        root,
        state,
        "w2, r2 = own.recording('s-call-2', 'format of session s')\n"
        "ws.write_text('a.txt', '1')\nw2.write_text('c.txt', '2')\nws.write_text('a.txt', '3')\n"
        "ws.write_text('made/b.txt', '1')\nw2.write_text('made/c.txt', '2')",
    )
    (line,) = told_at_the_start(root, state)
    assert "rename of session s and format of session s was interrupted" in line or (
        "format of session s and rename of session s was interrupted" in line
    )
    assert tree(root) == before


def test_what_the_disk_lost_of_the_last_intent_was_never_begun(root, state):
    before = tree(root)
    killed(root, state, "ws.write_text('a.txt', 'half\\n')")
    (file,) = state.rglob("*.changes")
    whole = file.read_bytes()
    for torn in (b'{"at": 1, "path": "c.txt", "tar', b"\0" * 100, whole.splitlines(True)[1]):
        file.write_bytes(whole + torn)
        copy = file.read_bytes()
        assert len(told_at_the_start(root, state)) == 1
        assert tree(root) == before
        file.parent.mkdir(parents=True)
        file.write_bytes(copy)
        (root / "a.txt").write_text("half\n")


OWNER = b'{"about": "x", "pid": 1}\n'
MADE = (
    b'{"at": 1, "path": %s, "target": "", "before": %s, "after": {"kind": "nothing"}, "size": %s}\n'
)


@pytest.mark.parametrize(
    "damaged",
    [
        b"[]\n",
        b"[" * 100_000 + b"\n",
        OWNER + MADE % (b'"d.txt"', b'{"kind": "file"}', b"Infinity"),
        OWNER + MADE % (b'"d.txt"', b'{"kind": "file"}', b"-118"),
        OWNER + MADE % (b'"d\\u0000.txt"', b'{"kind": "file"}', b"1") + b"x\n",
        OWNER + MADE % (b'"d\\ud800.txt"', b'{"kind": "file"}', b"1") + b"x\n",
        OWNER + MADE % (b'"d.txt"', b'{"kind": "file", "digest": "0"}', b"1") + b"x\n",
        OWNER + MADE % (b'"d.txt"', b'{"kind": "file", "owner": [%d, 1]}' % 2**70, b"1") + b"x\n",
    ],
)
def test_a_damaged_file_of_intents_keeps_no_other_from_being_taken_back(root, state, damaged):
    before = tree(root)
    killed(root, state, "ws.write_text('a.txt', 'half\\n')")
    (file,) = state.rglob("*.changes")
    file.with_name("0.changes").write_bytes(damaged)
    file.with_name("1.changes").symlink_to("/dev/zero")
    os.mkfifo(file.with_name("2.changes"))
    assert "rename of session s was interrupted" in "\n".join(told_at_the_start(root, state))
    after = tree(root)
    assert {name: after[name] for name in before} == before


def test_a_call_of_a_process_that_lives_is_left_alone(root, state):
    with crash(root, state, "ws.write_text('a.txt', 'half\\n')", "sys.stdin.read()") as process:
        assert process.stdout.readline() == b"ready\n"
        assert told_at_the_start(root, state) == []
        assert (root / "a.txt").read_text() == "half\n"
        process.kill()
    assert len(told_at_the_start(root, state)) == 1
    assert (root / "a.txt").read_text() == "old a.txt\n"


def test_what_was_left_in_one_directory_waits_there(root, state, tmp_path):
    killed(root, state, "ws.write_text('a.txt', 'half\\n')")
    other = tmp_path / "other"
    other.mkdir()
    assert told_at_the_start(other, state) == []
    assert (root / "a.txt").read_text() == "half\n"


@pytest.mark.parametrize("is_ours", [True, False])
def test_what_was_left_in_a_directory_of_ours_that_is_gone_is_discarded(
    root, state, tmp_path, is_ours
):
    """Another one may come back, with the disk that it is on."""
    cache = state.parents[2] / ".cache/nanocoder"
    tree = (cache if is_ours else tmp_path) / "worktrees/one"
    tree.mkdir(parents=True)
    (tree / "a.txt").write_text("old\n")
    killed(tree, state, "ws.write_text('a.txt', 'half\\n')")
    assert told_at_the_start(root, state) == []
    assert list((state / "change-logs").glob("*/*")), "it is there, and waits"
    (tree / "a.txt").unlink()
    tree.rmdir()
    assert told_at_the_start(root, state) == []
    assert (state / "change-logs").exists() is not is_ours


def test_what_a_living_call_keeps_of_a_directory_that_is_gone_stays(root, state):
    tree = state.parents[2] / ".cache/nanocoder/worktrees/one"
    tree.mkdir(parents=True)
    with crash(tree, state, "ws.write_text('a.txt', 'half\\n')", "input()") as process:
        assert process.stdout.readline() == b"ready\n"
        (tree / "a.txt").unlink()
        tree.rmdir()
        assert told_at_the_start(root, state) == []
        assert list((state / "change-logs").glob("*/*"))
        process.kill()
    assert told_at_the_start(root, state) == []
    assert not (state / "change-logs").exists()


# What a session tells


@transactional
def rename(ctx: ToolContext, path: Annotated[str, "The file."], *, fail: bool) -> ToolResult:
    """Write a file, for a plugin's own tests."""
    ctx.workspace.write_text(path, "new\n")
    return ToolResult(
        "written",
        metadata={"files_changed": [path]},
        is_error=fail,
        error_class="failed" if fail else "",
    )


@pytest.mark.contract("CO-15")
def test_a_report_names_what_stayed_changed(root):
    turns = [
        [("rename", {"path": "a.txt", "fail": True}), ("rename", {"path": "c.txt", "fail": False})],
        "done",
    ]
    played = play(root, turns, plugins={"tools": Allowed(rename)})
    assert played.report["files_changed"] == ["c.txt"]
    first, second = played.results
    assert first.output == "written\n[restored to the state before this call: a.txt]"
    assert second.output == "written"


def test_the_journal_keeps_what_was_restored(root, state):
    environment = {"HOME": str(state.parents[2])}
    plugins = {"tools": Allowed(rename), "files": testing}
    with opened(root, plugins=plugins, persist=True, environment=environment) as (session, _):
        for _ in session.call("rename", {"path": "a.txt", "fail": True}):
            pass
        (journal,) = (state / "sessions").glob("*.jsonl")
        records = [json.loads(line) for line in journal.read_text().splitlines()]
    found = [one for one in records if "call.restored" in json.dumps(one)]
    assert "a.txt" in json.dumps(found)
    assert History(read(journal)).last() is None, "there is nothing left to undo"
    assert not (state / "change-logs").exists(), "nothing is kept of a call that has ended"


def test_a_session_whose_leftovers_cannot_be_read_is_opened_all_the_same(root, state, monkeypatch):
    killed(root, state, "ws.write_text('a.txt', 'half\\n')")
    (folder,) = (state / "change-logs").iterdir()
    folder.rename(folder.with_name("away"))
    folder.touch()
    told: list[str] = []
    with open_session(
        root, persist=False, environment={"HOME": str(state.parents[2])}, warn=told.append
    ):
        pass
    assert [line for line in told if "could not be checked" in line]
