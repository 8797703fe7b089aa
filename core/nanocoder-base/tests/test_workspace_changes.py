import errno
import hashlib
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import pytest
from nanocoder import (
    ApprovalAnswer,
    Effect,
    Plugins,
    ToolContext,
    hookimpl,
    open_session,
    tool,
)
from nanocoder_files import Workspace, WorkspaceError, recover
from nanocoder_kit_sessions import testing


@pytest.fixture
def ground(tmp_path):
    (tmp_path / "ws").mkdir()
    with Workspace(
        tmp_path / "ws",
        backups=tmp_path / "state/backups",
        keep_backups=3,
    ) as workspace:
        yield workspace, tmp_path / "ws"


def refusal(call, *arguments, **options):
    with pytest.raises(WorkspaceError) as caught:
        call(*arguments, **options)
    return caught.value.error_class


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_write_says_what_it_did(ground):
    workspace, ws = ground
    outcome = workspace.write_text("a/b/c.txt", "one\n")
    assert (outcome.path, outcome.created, outcome.size) == ("a/b/c.txt", True, 4)
    assert (outcome.digest, outcome.backup, outcome.old) == (sha256(b"one\n"), None, None)
    again = workspace.write_bytes("a/b/c.txt", b"two\n")
    assert not again.created
    assert again.old == b"one\n"
    assert again.backup is not None
    assert again.backup.read_bytes() == b"one\n"
    assert (ws / "a/b/c.txt").read_bytes() == b"two\n"
    assert names(ws / "a/b") == ["c.txt"]


# FS-010
@pytest.mark.contract("MA-16")
def test_the_umask_decides_the_mode_of_a_new_file_and_the_old_one_of_others(ground):
    workspace, ws = ground
    before = os.umask(0o027)
    try:
        workspace.write_text("new", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((ws / "new").stat().st_mode) == 0o640
    (ws / "run.sh").write_text("#!/bin/sh\n")
    (ws / "run.sh").chmod(0o751)
    workspace.write_text("run.sh", "#!/bin/bash\n")
    assert stat.S_IMODE((ws / "run.sh").stat().st_mode) == 0o751


def test_the_owner_stays(ground):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    workspace, ws = ground
    (ws / "f").write_text("x")
    os.chown(ws / "f", 65534, 65534)
    workspace.write_text("f", "y")
    assert (ws / "f").stat().st_uid == 65534


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        (0o666, "belongs to another user, and a new file would be yours"),
        (0o644, "belongs to another user, who alone may let others write it (mode 644)"),
    ],
)
def test_a_root_that_cannot_give_files_away_does_not_take_them(ground, mode, problem):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    _, ws = ground
    (ws / "f").write_text("keep\n")
    (ws / "f").chmod(mode)
    os.chown(ws / "f", 65534, 65534)
    script = """
import pathlib, nanocoder_files
with nanocoder_files.Workspace(pathlib.Path.cwd()) as workspace:
    try:
        workspace.write_text("f", "changed")
    except nanocoder_files.WorkspaceError as error:
        print(error.error_class, error)
"""
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ws, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"permission_denied nothing was changed: 'f' {problem}"), done
    assert ((ws / "f").read_text(), (ws / "f").stat().st_uid) == ("keep\n", 65534)
    assert names(ws) == ["f"]


def test_extended_attributes_stay(ground):
    workspace, ws = ground
    (ws / "f").write_text("x")
    try:
        os.setxattr(ws / "f", "user.note", b"kept")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    workspace.write_text("f", "y")
    assert os.getxattr(ws / "f", "user.note") == b"kept"


def test_a_link_stays_and_its_target_is_written(ground):
    workspace, ws = ground
    (ws / "real").write_text("old")
    (ws / "link").symlink_to("real")
    (ws / "dangling").symlink_to("later")
    assert workspace.write_text("link", "new").path == "real"
    assert workspace.write_text("dangling", "new").path == "later"
    assert (ws / "link").is_symlink()
    assert (ws / "real").read_text() == (ws / "later").read_text() == "new"


# PATH-032, 033
def test_a_hard_link_is_broken_not_followed(ground):
    workspace, ws = ground
    outside = ws.parent / "outside"
    outside.write_text("theirs")
    os.link(outside, ws / "h")
    workspace.write_text("h", "changed")
    assert (ws / "h").read_text() == "changed"
    assert outside.read_text() == "theirs"


# FS-023
def test_a_file_that_changed_since_it_was_read_is_not_overwritten(ground):
    workspace, ws = ground
    (ws / "f").write_text("old")
    (ws / "alias").symlink_to("f")
    workspace.read_text("alias")
    (ws / "f").write_text("theirs")
    assert refusal(workspace.write_text, "f", "mine") == "stale_read"
    assert refusal(workspace.delete, "f") == "stale_read"
    assert (ws / "f").read_text() == "theirs"
    workspace.read_text("f")
    workspace.write_text("f", "mine")
    workspace.write_text("f", "mine again")
    assert (ws / "f").read_text() == "mine again"


def test_the_caller_can_say_what_it_expects(ground):
    workspace, ws = ground
    (ws / "f").write_bytes(b"one")
    assert refusal(workspace.write_text, "f", "x", expect=sha256(b"two")) == "stale_read"
    assert refusal(workspace.write_text, "f", "x", expect="") == "file_exists"
    assert refusal(workspace.write_text, "g", "x", expect=sha256(b"")) == "stale_read"
    workspace.write_text("f", "two", expect=workspace.digest_of("f"))
    workspace.write_text("g", "new", expect="")
    workspace.note_read("g", sha256(b"something else"))
    assert refusal(workspace.write_text, "g", "x") == "stale_read"
    assert names(ws) == ["f", "g"]


@pytest.mark.parametrize("now", [b"", b"o", b"two", b"oneone", b"one" * 50_000])
def test_the_content_that_is_expected_may_be_given_itself(ground, now):
    workspace, ws = ground
    (ws / "f").write_bytes(now)
    assert refusal(workspace.write_bytes, "f", b"x", expect=b"one") == "stale_read"
    assert refusal(workspace.write_bytes, "g", b"x", expect=b"") == "stale_read"
    assert (ws / "f").read_bytes() == now
    outcome = workspace.write_bytes("f", b"x", expect=now)
    assert ((ws / "f").read_bytes(), outcome.old) == (b"x", now)


def test_what_is_written_may_come_in_pieces(ground):
    workspace, ws = ground
    outcome = workspace.write_bytes("f", [b"one", memoryview(b"two")[1:], b""])
    assert (ws / "f").read_bytes() == b"onewo"
    assert (outcome.size, outcome.digest) == (5, sha256(b"onewo"))


def test_a_file_that_was_deleted_meanwhile_may_be_written_again(ground):
    workspace, ws = ground
    (ws / "f").write_text("old")
    workspace.read_text("f")
    (ws / "f").unlink()
    assert workspace.write_text("f", "new").created


def test_of_many_threads_that_edit_one_file_none_loses_an_edit(ground):
    workspace, _ = ground
    workspace.write_text("f", "0")

    def attempt() -> str:
        data = workspace.read_bytes("f")
        try:
            expected = hashlib.sha256(data).hexdigest()
            workspace.write_text("f", str(int(data) + 1), expect=expected)
        except WorkspaceError as error:
            return error.error_class
        return ""

    def increment() -> None:
        for _ in range(5):
            while attempt() == "stale_read":
                pass

    threads = [threading.Thread(target=increment) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert workspace.read_text("f") == "20"


@pytest.mark.contract("MA-17")
def test_so_many_backups_are_kept_and_nobody_else_may_read_them(ground):
    workspace, ws = ground
    for number in range(6):
        workspace.write_text("f", str(number))
    copies = sorted((ws.parent / "state/backups").glob("*/*"))
    assert [path.read_text() for path in copies] == ["0", "3", "4"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in copies} == {0o600}
    assert stat.S_IMODE(copies[0].parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((ws.parent / "state/backups").stat().st_mode) == 0o700


def test_the_first_backup_and_the_newest_are_kept_whatever_the_clock_says(ground, monkeypatch):
    workspace, ws = ground
    for number in range(6):
        monkeypatch.setattr(time, "time_ns", lambda number=number: 10**18 - number * 10**12)
        workspace.write_text("f", str(number))
    copies = sorted((ws.parent / "state/backups").glob("*/*"))
    assert [path.read_text() for path in copies] == ["0", "3", "4"]


LARGE = b"a line of a large file\n" * 50_000


def test_a_large_file_that_a_program_writes_to_is_kept_as_it_was(ground):
    workspace, ws = ground
    (ws / "f").write_bytes(LARGE)
    with (ws / "f").open("ab", buffering=0) as log:
        backup = workspace.write_bytes("f", b"new\n").backup
        log.write(b"more")
    assert backup.read_bytes() == LARGE
    assert [*(ws.parent / "state/backups").glob("*/*")] == [backup]


def test_a_large_file_with_another_name_is_kept_as_it_was(ground):
    workspace, ws = ground
    (ws / "f").write_bytes(LARGE)
    os.link(ws / "f", ws / "other")
    backup = workspace.write_bytes("f", b"new\n").backup
    (ws / "other").write_bytes(b"changed")
    assert backup.read_bytes() == LARGE


def test_a_large_file_that_gets_another_name_at_the_last_moment_is_kept_as_it_was(tmp_path):
    (tmp_path / "ws").mkdir()
    file, other = tmp_path / "ws/f", tmp_path / "ws/other"
    file.write_bytes(LARGE)

    def somebody_else(_change):
        os.link(file, other)

    backups = tmp_path / "backups"
    with Workspace(tmp_path / "ws", backups=backups, listener=somebody_else) as workspace:
        backup = workspace.write_bytes("f", b"new\n").backup
    other.write_bytes(b"changed")
    assert backup.read_bytes() == LARGE


def test_a_large_file_is_backed_up_to_another_disk(tmp_path):
    shared = "/dev/shm"  # a disk of its own, where there is one
    if not os.path.isdir(shared) or os.stat(shared).st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one disk only")
    with tempfile.TemporaryDirectory(dir=shared) as other:
        (tmp_path / "ws").mkdir()
        (tmp_path / "ws/f").write_bytes(LARGE)
        with Workspace(tmp_path / "ws", backups=Path(other, "backups")) as workspace:
            backup = workspace.write_bytes("f", b"new\n").backup
            assert backup.is_relative_to(other)
            assert backup.read_bytes() == LARGE


def test_a_large_file_that_is_not_replaced_after_all_stays_as_it_is(tmp_path):
    (tmp_path / "ws").mkdir()
    file = tmp_path / "ws/f"
    file.write_bytes(LARGE)

    def somebody_else(_change):
        file.write_bytes(LARGE[::-1])

    backups = tmp_path / "backups"
    with Workspace(tmp_path / "ws", backups=backups, listener=somebody_else) as workspace:
        assert refusal(workspace.write_bytes, "f", b"new\n") == "stale_read"
    assert file.stat().st_nlink == 1
    assert file.read_bytes() == LARGE[::-1]


def test_a_change_counts_though_its_backup_is_taken_away_meanwhile(tmp_path):
    (tmp_path / "ws").mkdir()
    file = tmp_path / "ws/f"
    file.write_bytes(LARGE)
    backups = tmp_path / "backups"

    def somebody_else(_change):
        shutil.rmtree(backups)

    with Workspace(tmp_path / "ws", backups=backups, listener=somebody_else) as workspace:
        workspace.write_bytes("f", b"new\n")
    assert file.read_bytes() == b"new\n"


def test_a_large_file_that_is_deleted_is_kept(ground):
    workspace, ws = ground
    (ws / "f").write_bytes(LARGE)
    backup = workspace.delete("f")
    assert not (ws / "f").exists()
    assert (backup.read_bytes(), backup.stat().st_nlink) == (LARGE, 1)


@tool(effects={Effect.READ, Effect.WRITE})
def rewrite(ctx: ToolContext, times: int) -> int:
    """Write one file again and again."""
    for number in range(times):
        written = ctx.workspace.write_text("f", str(number))
    return len([*written.backup.parent.iterdir()])


@pytest.mark.contract("MA-17")
@pytest.mark.parametrize(("setting", "copies"), [("", 10), ("keep_backups = 3\n", 3)])
def test_a_session_keeps_ten_backups_of_a_file_or_as_many_as_configured(tmp_path, setting, copies):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    (home / ".config/nanocoder").mkdir(parents=True)
    (home / ".config/nanocoder/config.toml").write_text(setting)
    plugins = Plugins()
    plugins.add(SimpleNamespace(nanocoder_tools=hookimpl(lambda: [rewrite])), "rewriting")
    plugins.add(testing, "files")
    options = {"environment": {"HOME": str(home)}, "plugins": plugins, "mode": "auto"}
    with open_session(work, approve=agree, **options) as session:
        *_, returned = session.call("rewrite", {"times": 13})
    assert returned.data["data"] == copies


def agree(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


def test_a_backup_that_fails_stops_the_change(ground):
    workspace, ws = ground
    (ws / "f").write_text("old")
    (ws.parent / "state").write_text("a file where the directory should be")
    assert refusal(workspace.write_text, "f", "new") == "io_error"
    assert (ws / "f").read_text() == "old"


FULL = """
import resource, signal, sys
from pathlib import Path
from nanocoder_files import WorkspaceError
from nanocoder_files import Workspace

workspace = Workspace(Path(sys.argv[1]))
if sys.argv[2] == "limit":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
for path in ("f", "new/deep/g"):
    try:
        workspace.write_bytes(path, bytes(10_000_000))
    except WorkspaceError as error:
        print(error.error_class)
"""


def fill(folder, kind: str) -> list[str]:
    process = subprocess.run(
        [sys.executable, "-c", FULL, str(folder), kind], capture_output=True, text=True, check=True
    )
    return process.stdout.split()


def test_a_write_beyond_the_limit_leaves_everything_as_it_was(tmp_path):
    (tmp_path / "f").write_text("old")
    assert fill(tmp_path, "limit") == ["disk_full", "disk_full"]
    assert names(tmp_path) == ["f"]
    assert (tmp_path / "f").read_text() == "old"


def test_a_full_disk_leaves_everything_as_it_was(tmp_path):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        (tmp_path / "f").write_text("old")
        assert fill(tmp_path, "disk") == ["disk_full", "disk_full"]
        assert names(tmp_path) == ["f"]
        assert (tmp_path / "f").read_text() == "old"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("where", [".nc-", "state/backups", ".changes"])
def test_a_full_disk_and_a_used_up_quota_have_one_name_wherever_they_are_met(
    tmp_path, monkeypatch, where, number
):
    (tmp_path / "f").write_text("old")
    state = tmp_path / "state"
    state.mkdir()
    with Workspace(
        tmp_path, backups=state / "backups", change_logs=state / "change-logs"
    ) as workspace:
        view, rollback = workspace.recording("s-call", "a call")
        real = os.open

        def full(path, flags, *mode, **options):
            if flags & os.O_CREAT and where in os.fspath(path):
                raise OSError(number, os.strerror(number))
            return real(path, flags, *mode, **options)

        monkeypatch.setattr(os, "open", full)
        for changed in [workspace, view] if where != ".changes" else [view]:
            assert refusal(changed.write_text, "f", "new") == "disk_full"
        monkeypatch.undo()
        rollback.discard()
    assert (tmp_path / "f").read_text() == "old"


KILLED = """
import os, signal, sys
from pathlib import Path
from nanocoder_files import Workspace

workspace = Workspace(Path(sys.argv[1]), change_logs=Path(sys.argv[2]))
real, os_write = getattr(os, sys.argv[3]), os.write

def die(*arguments, **options):
    if real is os_write and bytes(arguments[1]) != b"new":  # the note, not the file
        return real(*arguments, **options)
    if sys.argv[4] == "after":
        real(*arguments, **options)
    if sys.argv[5] == "stop":
        print(flush=True)
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)

workspace.write_text("g", "before")
setattr(os, sys.argv[3], die)
workspace.write_text("d/f", "new")
"""


@pytest.fixture
def killed_at(tmp_path):
    """Write a file in a process that SIGKILL ends, or that waits, at one call to the system."""
    ws, change_logs = tmp_path / "ws", tmp_path / "state/change-logs"
    (ws / "d").mkdir(parents=True)
    (ws / "d/f").write_text("old")
    change_logs.parent.mkdir()
    waiting = []

    def write(call, when, then="die"):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, ws, change_logs, call, when, then],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        waiting.append(process)
        if then == "stop":
            assert process.stdout.readline() == b"\n"
        else:
            assert process.wait() == -signal.SIGKILL
        return process

    yield write, ws, change_logs
    for process in waiting:
        process.kill()
        process.communicate()


# FS-027
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["write", "fchmod", "fsync", "rename"])
@pytest.mark.contract("MA-16")
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_file(killed_at, call, when):
    write, ws, change_logs = killed_at
    write(call, when)
    renamed = (call, when) == ("rename", "after")
    assert (ws / "d/f").read_text() == ("new" if renamed else "old")
    assert len(names(ws / "d")) == (1 if renamed else 2)
    assert recover(change_logs, ws) == []
    assert names(ws / "d") == ["f"]
    assert not change_logs.exists(), "nothing is kept of a write that is over"


def test_what_a_living_process_writes_is_spared(killed_at):
    write, ws, change_logs = killed_at
    process = write("rename", "before", "stop")
    recover(change_logs, ws)
    assert len(names(ws / "d")) == 2
    process.kill()
    process.wait()
    recover(change_logs, ws)
    assert names(ws / "d") == ["f"]


def test_no_file_of_others_is_removed_and_none_behind_a_link(killed_at, tmp_path):
    write, ws, change_logs = killed_at
    write("rename", "before")
    (temporary,) = [name for name in names(ws / "d") if name != "f"]
    like_ours = temporary[:-8] + "00000000"
    (ws / like_ours).write_text("of somebody who calls files as we do")
    (ws / "d").rename(ws / "moved")
    (ws / "d").symlink_to("moved")
    recover(change_logs, ws)
    assert names(ws / "moved") == [temporary, "f"]
    assert (ws / like_ours).exists()


@pytest.mark.parametrize("path", [b"d/f", b"../outside/.f.nc-1-0a1b2c3d", b"/etc/hostname", b"d"])
def test_a_damaged_note_removes_nothing(killed_at, tmp_path, path):
    write, ws, change_logs = killed_at
    outside = tmp_path / "outside/.f.nc-1-0a1b2c3d"
    outside.parent.mkdir()
    outside.touch()
    write("rename", "before")
    (note,) = change_logs.rglob("*.writing")
    note.write_bytes(bytes(ws) + b"\0" + path + b"\0")
    recover(change_logs, ws)
    assert len(names(ws / "d")) == 2
    assert outside.exists()
    assert not change_logs.exists()


@pytest.mark.contract("MA-55")
def test_delete_removes_one_file_and_keeps_a_copy(ground):
    workspace, ws = ground
    workspace.write_text("d/f", "content")
    backup = workspace.delete("d/f")
    assert backup is not None
    assert backup.read_text() == "content"
    assert names(ws / "d") == []
    workspace.remove_dir("d")
    assert names(ws) == []


# PATH-048
def test_delete_of_a_link_spares_what_it_leads_to(ground):
    workspace, ws = ground
    outside = ws.parent / "secret"
    outside.write_text("theirs")
    (ws / "l").symlink_to(outside)
    (ws / "loop").symlink_to("loop")
    assert workspace.delete("l") is None
    assert workspace.delete("loop") is None
    assert outside.read_text() == "theirs"
    assert names(ws) == []


@pytest.mark.parametrize(
    ("path", "error_class"),
    [
        (".", "protected_path"),
        ("", "invalid_path"),
        ("/", "path_outside_workspace"),
        ("..", "path_outside_workspace"),
        ("{ws}", "protected_path"),
        ("{ws}/", "protected_path"),
        ("d/..", "protected_path"),
        ("me", None),
        (".git", "protected_path"),
        (".GIT", "protected_path"),
        ("d", "is_a_directory"),
        ("d/f/../../d", "not_a_directory"),
        ("d/missing", "file_not_found"),
    ],
)
@pytest.mark.contract("MA-56")
def test_delete_refuses_what_is_no_file(ground, path, error_class):
    workspace, ws = ground
    workspace.write_text("d/f", "x")
    (ws / ".git").mkdir()
    (ws / ".GIT").mkdir()
    (ws / "me").symlink_to(".")
    path = path.format(ws=ws)
    if error_class is None:
        assert workspace.delete(path) is None
    else:
        assert refusal(workspace.delete, path) == error_class
    assert (ws / "d/f").read_text() == "x"


def test_no_tool_makes_a_git_directory(ground):
    workspace, ws = ground
    (ws / "git").mkdir()
    (ws / "git/config").write_text("x")
    for path in (".git/hooks/pre-commit", "a/.Git/config", "a/.git", ".gi\u200ct/config"):
        assert refusal(workspace.write_text, path, "x") == "protected_path"
        assert refusal(workspace.make_dirs, path) == "protected_path"
    assert refusal(workspace.move, "git", ".git") == "protected_path"
    assert refusal(workspace.move, "git", "a/.git/b") == "protected_path"
    assert names(ws) == ["git"]


def test_move_renames_and_keeps_what_is_known(ground):
    workspace, ws = ground
    workspace.write_text("d/f", "content")
    moved = workspace.move("d/f", "e/deep/g")
    assert (moved.path, moved.created, moved.size) == ("e/deep/g", True, 7)
    assert moved.digest == sha256(b"content")
    (ws / "e/deep/g").write_text("theirs")
    assert refusal(workspace.write_text, "e/deep/g", "x") == "stale_read"
    workspace.move("e", "d2")
    assert names(ws) == ["d", "d2"]
    assert refusal(workspace.write_text, "d2/deep/g", "x") == "stale_read"


def test_move_replaces_only_when_told_to(ground):
    workspace, ws = ground
    workspace.write_text("a", "of a")
    workspace.write_text("b", "of b")
    (ws / "dir").mkdir()
    (ws / "l").symlink_to("a")
    assert refusal(workspace.move, "a", "b") == "file_exists"
    assert refusal(workspace.move, "dir", "b") == "file_exists"
    assert refusal(workspace.move, "l", "b") == "file_exists"
    assert refusal(workspace.move, "a", "dir", replace=True) == "is_a_directory"
    assert refusal(workspace.move, "missing", "x/y") == "file_not_found"
    assert refusal(workspace.move, ".", "x/y") == "protected_path"
    assert refusal(workspace.move, "dir", "dir/below") in {"io_error", "invalid_path"}
    moved = workspace.move("a", "b", replace=True)
    assert moved.old == b"of b"
    assert moved.backup is not None
    assert moved.backup.read_bytes() == b"of b"
    workspace.move("l", "l2")
    assert (ws / "l2").is_symlink()
    assert names(ws) == ["b", "dir", "l2"]


def test_directories_are_made_as_needed_and_not_left_behind(ground):
    workspace, ws = ground
    workspace.make_dirs("a/b/c")
    workspace.make_dirs("a/b/c")
    workspace.make_dirs(".")
    assert (ws / "a/b/c").is_dir()
    (ws / "file").write_text("x")
    with pytest.raises(WorkspaceError, match=r"^'file/x', or what should hold it, is not a dir"):
        workspace.make_dirs("file/x")
    assert refusal(workspace.write_text, "new/x/file" + "n" * 300, "x") == "invalid_path"
    assert refusal(workspace.write_text, "a", "x") == "is_a_directory"
    assert refusal(workspace.remove_dir, "a") == "file_exists"
    assert refusal(workspace.remove_dir, "file") == "not_a_directory"
    assert refusal(workspace.remove_dir, ".") == "protected_path"
    assert names(ws) == ["a", "file"]


def test_no_handle_is_left_open(ground):
    workspace, ws = ground
    (ws / "loop").symlink_to("loop")
    (ws / "alias").symlink_to("d/e")
    workspace.write_text("d/e/f", "x")
    workspace.exists("d/e/f")
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        workspace.write_text("alias/f", "y")
        workspace.read_text("alias/../e/f")
        workspace.scan("alias")
        with workspace.open_folder("d") as folder:
            folder.open("e").close()
            refusal(folder.open, "missing")
        with workspace.open("d/e/f") as file:
            assert file.read() == b"y"
        for call in (workspace.read_bytes, workspace.scan, workspace.delete, workspace.stat):
            for path in ("loop/x", "../x", "d/e/f/x", "d/missing/x", "d"):
                if (call, path) not in {(workspace.scan, "d"), (workspace.stat, "d")}:
                    refusal(call, path)
    assert len(os.listdir("/dev/fd")) == before


# FS-020
def test_a_file_of_fifty_gigabytes_is_refused_at_once(ground):
    workspace, ws = ground
    with (ws / "s").open("wb") as file:
        file.truncate(50 * 2**30)
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert refusal(workspace.read_bytes, "s") == "too_large"
    assert refusal(workspace.read_text, "s") == "too_large"
    assert refusal(workspace.write_text, "s", "x") == "too_large"
    assert time.monotonic() - started < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


# FS-022
def test_a_file_that_grows_is_read_to_the_limit_at_most(ground):
    workspace, ws = ground
    grower = subprocess.Popen(["sh", "-c", f"while :; do echo line; done > '{ws}/g'"])
    try:
        while not workspace.exists("g"):
            time.sleep(0.01)
        sizes = {size(workspace) for _ in range(50)}
    finally:
        grower.kill()
        grower.wait()
    assert max(sizes) <= 100_000


def size(workspace) -> int:
    try:
        return len(workspace.read_bytes("g", max_bytes=100_000))
    except WorkspaceError as error:
        return 0 if error.error_class == "too_large" else 1_000_000


def test_a_new_name_with_the_backslashes_of_a_path_is_refused(ground):
    workspace, ws = ground
    (ws / "src/in").mkdir(parents=True)
    (ws / "a.ts").write_text("a\n")
    refused = r"nothing was made: 'src\\in\\new2.ts' has backslashes; use 'src/in/new2.ts'"
    for change, arguments in (
        (workspace.write_text, ("src\\in\\new2.ts", "x")),
        (workspace.move, ("a.ts", "src\\in\\new2.ts")),
        (workspace.put_link, ("src\\in\\new2.ts", "a.ts")),
        (workspace.make_dirs, ("src\\in\\new2.ts",)),
    ):
        with pytest.raises(WorkspaceError, match=refused) as caught:
            change(*arguments)
        assert caught.value.error_class == "invalid_path"
    assert names(ws) == ["a.ts", "src"]
    (ws / "src\\old.ts").write_text("x\n")
    for name in ("src\\old.ts", "a.ts\\b", "other\\new.ts", "\\new.ts"):
        workspace.write_text(name, "y\n")
        assert (ws / name).read_text() == "y\n"


def test_what_its_owner_made_read_only_stays(ground):
    workspace, ws = ground
    (ws / "ro").write_text("keep\n")
    (ws / "ro").chmod(0o444)
    (ws / "new").write_text("other\n")
    for change, arguments in (
        (workspace.write_text, ("ro", "changed\n")),
        (workspace.move, ("new", "ro")),
    ):
        options = {"replace": True} if change == workspace.move else {}
        with pytest.raises(WorkspaceError, match=r"read-only \(mode 444\).*chmod u\+w") as caught:
            change(*arguments, **options)
        assert caught.value.error_class == "permission_denied"
    assert (ws / "ro").read_text() == "keep\n"
    (ws / "ro").chmod(0o644)
    workspace.write_text("ro", "changed\n")
    assert (ws / "ro").read_text() == "changed\n"


def test_a_file_of_another_user_does_not_become_ours(ground, monkeypatch):
    workspace, ws = ground
    (ws / "theirs").write_text("keep\n")
    (ws / "theirs").chmod(0o666)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(WorkspaceError, match="another user") as caught:
        workspace.write_text("theirs", "changed\n")
    assert caught.value.error_class == "permission_denied"
    assert (ws / "theirs").read_text() == "keep\n"


def test_a_file_that_was_read_in_parts_is_read_when_all_lines_were(ground):
    workspace, ws = ground
    (ws / "f").write_text("1\n2\n3\n4\n")
    version = workspace.digest_of("f")
    workspace.note_read("f", version, range(1, 3), 4)
    assert not workspace.has_read("f")
    workspace.note_read("f", version, range(2, 4), 4)
    assert not workspace.has_read("f")
    workspace.move("f", "g")
    workspace.note_read("g", version, range(4, 5), 4)
    assert workspace.has_read("g")
    workspace.note_read("g", version, range(1, 2), 4)
    assert workspace.has_read("g"), "a second look takes nothing away"


def test_an_edit_of_a_part_leaves_the_rest_unread(ground):
    workspace, ws = ground
    (ws / "f").write_text("1\n2\n3\n")
    workspace.note_read("f", workspace.digest_of("f"), range(1, 3), 3)
    workspace.write_bytes("f", b"2\n3\n", expect=b"1\n2\n3\n")
    workspace.note_read("f", workspace.digest_of("f"), range(1, 2), 2)
    assert not workspace.has_read("f"), "the second line was never read"
    workspace.note_read("f", workspace.digest_of("f"), range(2, 3), 2)
    assert workspace.has_read("f")
    workspace.write_bytes("f", b"3\n", expect=b"2\n3\n")
    assert workspace.has_read("f")


def test_a_part_that_was_read_of_an_earlier_version_does_not_count(ground):
    workspace, ws = ground
    (ws / "f").write_text("1\n2\n")
    workspace.note_read("f", workspace.digest_of("f"), range(1, 2), 2)
    (ws / "f").write_text("1\n3\n")
    workspace.note_read("f", workspace.digest_of("f"), range(2, 3), 2)
    assert not workspace.has_read("f")


@pytest.mark.parametrize("name", ["한글.txt", "é/ü.txt", "Ångström"])
def test_a_name_is_the_same_with_composed_letters_and_with_accents(ground, name):
    workspace, ws = ground
    composed, split = (unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
    for given, there in ((composed, split), (split, composed)):
        (ws / there).parent.mkdir(exist_ok=True)
        (ws / there).write_text("old\n")
        assert workspace.read_text(given) == "old\n"
        assert workspace.resolve(given) == there
        workspace.write_text(given, "new\n")
        assert (ws / there).read_text() == "new\n"
        assert not (ws / given).exists(), "there is no twin"
        workspace.delete(given)
        assert not (ws / there).exists()
        for folder in (path for path in ws.iterdir() if path.is_dir()):
            folder.rmdir()


def test_a_new_name_is_written_as_it_is_given(ground):
    workspace, ws = ground
    for form in ("NFC", "NFD"):
        name = unicodedata.normalize(form, f"ré{form}")
        workspace.write_text(name, "new\n")
        assert name in names(ws)
