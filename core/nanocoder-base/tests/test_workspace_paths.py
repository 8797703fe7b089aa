import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from nanocoder_files import Workspace, WorkspaceError

SECRET = "SECRET-7f3a"


@pytest.fixture
def ground(tmp_path):
    """A workspace beside a folder that it must not reach."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret.txt").write_text(SECRET)
    (tmp_path / "ws/ok.txt").write_text("inside")
    with Workspace(tmp_path / "ws") as workspace:
        yield workspace, tmp_path / "ws", tmp_path / "out"


def refusal(call, *arguments, **options):
    with pytest.raises(WorkspaceError) as caught:
        call(*arguments, **options)
    assert SECRET not in str(caught.value)
    return caught.value.error_class


# PATH-015, 016, FS-021
@pytest.mark.parametrize(
    "path",
    [
        "../out/secret.txt",
        "a/../../out/secret.txt",
        "/etc/hostname",
        "/proc/self/environ",
        "/proc/version",
        "/dev/stdin",
        "/dev/fd/0",
        "/proc/self/fd/0",
        "/proc/self/cwd",
        "..",
        "/",
        "{ws}-evil/x",
        "{ws}/../out/secret.txt",
        "{out}/secret.txt",
    ],
)
def test_paths_that_lead_out_are_refused(ground, path):
    workspace, ws, out = ground
    sibling = ws.with_name("ws-evil")
    sibling.mkdir()
    (sibling / "x").write_text(SECRET)
    path = path.format(ws=ws, out=out)
    assert refusal(workspace.read_bytes, path) == "path_outside_workspace"
    assert refusal(workspace.scan, path) == "path_outside_workspace"
    assert refusal(workspace.write_text, path, "x") == "path_outside_workspace"
    assert refusal(workspace.delete, path) == "path_outside_workspace"
    assert refusal(workspace.exists, path) == "path_outside_workspace"


# PATH-005, 014
@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("l", "{out}/secret.txt", "l"),
        ("l", "../out/secret.txt", "l"),
        ("d", "{out}", "d/secret.txt"),
        ("d", "../out", "d/secret.txt"),
        ("d", "..", "d/out/secret.txt"),
        ("d", "{out}", "d/../out/secret.txt"),
        ("r", "/proc/self/root", "r/etc/hostname"),
        ("r", "/proc/self/root", "r"),
        ("r", "/", "r/etc/hostname"),
        ("l", "{ws}/../out/secret.txt", "l"),
        ("l", "/proc/self/fd/0", "l"),
    ],
)
@pytest.mark.contract("LC-10")
def test_links_that_lead_out_are_refused(ground, link, target, path):
    workspace, ws, out = ground
    (ws / link).symlink_to(target.format(ws=ws, out=out))
    assert refusal(workspace.read_bytes, path) == "path_outside_workspace"
    assert refusal(workspace.real_path, path) == "path_outside_workspace"
    assert refusal(workspace.write_text, path, "x") == "path_outside_workspace"
    assert (out / "secret.txt").read_text() == SECRET


# PATH-026
def test_dot_dot_behind_a_link_means_what_the_kernel_says(ground):
    workspace, ws, out = ground
    (out / "sub").mkdir()
    (ws / "d").symlink_to(out / "sub")
    (ws / "secret.txt").write_text("ours")
    assert refusal(workspace.read_bytes, "d/../secret.txt") == "path_outside_workspace"
    (ws / "in/deep").mkdir(parents=True)
    (ws / "in/x").write_text("x of in")
    (ws / "e").symlink_to("in/deep")
    assert workspace.read_text("e/../x") == "x of in"
    assert workspace.relative("e/../x") == "in/x"


def test_dot_dot_behind_missing_names_does_not_climb(ground):
    workspace, ws, _ = ground
    (ws / "here").symlink_to(".")
    assert refusal(workspace.resolve, "here/no/../../out") == "path_outside_workspace"
    assert refusal(workspace.read_bytes, "here/no/../../out") != ""


# PATH-009, 012
def test_writing_through_links_that_lead_out_creates_nothing(ground):
    workspace, ws, out = ground
    (ws / "dangling").symlink_to(out / "created.txt")
    (ws / "d").symlink_to(out)
    assert refusal(workspace.write_text, "dangling", "x") == "path_outside_workspace"
    assert refusal(workspace.write_text, "d/a/b/c.txt", "x") == "path_outside_workspace"
    assert refusal(workspace.make_dirs, "d/a/b") == "path_outside_workspace"
    assert refusal(workspace.move, "ok.txt", "d/ok.txt") == "path_outside_workspace"
    assert refusal(workspace.move, "d/secret.txt", "s.txt") == "path_outside_workspace"
    assert sorted(path.name for path in out.iterdir()) == ["secret.txt"]


# PATH-054
@pytest.mark.parametrize("target", ["a", "{ws}/a", "./x/../a", "b", "{alias}/a"])
def test_links_inside_stay_usable_whatever_their_spelling(ground, target):
    workspace, ws, out = ground
    (ws / "a").mkdir()
    (ws / "x").mkdir()
    (ws / "a/f").write_text("fine")
    (ws / "b").symlink_to("a")
    (out / "alias").symlink_to(ws)
    (ws / "l").symlink_to(target.format(ws=ws, alias=out / "alias"))
    assert workspace.read_text("l/f") == "fine"
    assert workspace.resolve("l/f") == "a/f"
    assert workspace.real_path("l/f") == ws / "a/f"
    assert workspace.write_text("l/new/g", "also").path == "a/new/g"
    assert (ws / "l").is_symlink()


# PATH-011
def test_a_loop_of_links_is_named(ground):
    workspace, ws, _ = ground
    (ws / "a").symlink_to("b")
    (ws / "b").symlink_to("a")
    with pytest.raises(WorkspaceError, match="'a'") as caught:
        workspace.read_bytes("a")
    assert caught.value.error_class == "symlink_loop"
    assert refusal(workspace.read_bytes, "a/x") == "symlink_loop"
    for number in range(39):
        (ws / f"c{number}").symlink_to(f"c{number + 1}")
    (ws / "c39").symlink_to("ok.txt")
    assert workspace.read_text("c0") == "inside"


# PATH-022, 023, 024, 027
@pytest.mark.parametrize(
    ("path", "error_class"),
    [
        ("", "invalid_path"),
        ("ok.txt\0/../../out/secret.txt", "invalid_path"),
        ("a\udcffb", "invalid_path"),
        ("a\ud800", "invalid_path"),
        ("a/" * 2100, "invalid_path"),
        ("é" * 2100, "invalid_path"),
        ("a" * 300, "invalid_path"),
        ("$HOME/.ssh/id_x", "file_not_found"),
        ("~/x", "file_not_found"),
        ("file:///etc/hostname", "file_not_found"),
        ("..\\out\\secret.txt", "file_not_found"),
        ("ok.txt/x", "not_a_directory"),
        ("missing/../ok.txt", "file_not_found"),
        (".", "is_a_directory"),
    ],
)
def test_a_path_is_taken_literally_or_refused(ground, path, error_class):
    workspace, _, _ = ground
    assert refusal(workspace.read_bytes, path) == error_class


@pytest.mark.parametrize(
    ("path", "tidied"),
    [
        (".", "."),
        ("./a//b/./c/", "a/b/c"),
        ("{ws}", "."),
        ("{ws}/", "."),
        ("{ws}//a", "a"),
        ("a/../b", "b"),
        ("...", "..."),
        ("..a/b..", "..a/b.."),
    ],
)
def test_paths_are_written_in_one_way(ground, path, tidied):
    workspace, ws, _ = ground
    assert workspace.relative(path.format(ws=ws)) == tidied


def test_a_root_reached_through_a_link_may_be_spelled_so(ground):
    _, ws, out = ground
    (out / "alias").symlink_to(ws)
    with Workspace(out / "alias") as workspace:
        assert workspace.root == ws
        assert workspace.read_text(f"{out}/alias/ok.txt") == "inside"
        assert workspace.read_text(f"{ws}/ok.txt") == "inside"


def test_the_whole_file_system_can_be_the_root(tmp_path):
    (tmp_path / "f").write_text("x")
    with Workspace("/") as workspace:
        assert workspace.read_text(str(tmp_path / "f")) == "x"
        assert workspace.relative("/") == "."


def test_a_missing_file_names_those_that_are_like_it(ground):
    workspace, ws, _ = ground
    (ws / "src").mkdir()
    (ws / "src/main.py").write_text("")
    with pytest.raises(WorkspaceError, match=r"did you mean 'src/main\.py'") as caught:
        workspace.read_text("src/mian.py")
    assert caught.value.error_class == "file_not_found"
    assert caught.value.data == {"nearest": ["src/main.py"]}


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("readme.md", ["README.md"]),
        ("readme", ["README.md"]),
        ("SRC/App/page.TSX", ["src/app/page.tsx"]),
        ("page.tsx", ["src/app/page.tsx"]),
        ("app/Page.tsx", ["src/app/page.tsx"]),
        ("src/page.tsx", ["src/app/page.tsx"]),
        ("deep/9/9/MAIN.py", ["deep/9/9/main.py"]),
        ("nothing-like-it.rs", []),
    ],
)
def test_a_path_in_other_letters_or_further_down_is_named(ground, path, near):
    workspace, ws, _ = ground
    folders = [f"deep/{n}/{m}" for n in range(10) for m in range(10)]
    for name in ("README.md", "src/app/page.tsx", *(f"{folder}/main.py" for folder in folders)):
        (ws / name).parent.mkdir(parents=True, exist_ok=True)
        (ws / name).touch()
    for n in range(150):  # what a program fetched
        (ws / f"fetched/{n}/src/app").mkdir(parents=True)
        (ws / f"fetched/{n}/src/app/page.tsx").touch()
    with pytest.raises(WorkspaceError) as caught:
        workspace.read_text(path)
    assert caught.value.data == {"nearest": near}
    assert all(repr(name) in str(caught.value) for name in near)


# PATH-020
def test_pipes_and_sockets_are_refused_at_once(ground):
    workspace, ws, _ = ground
    os.mkfifo(ws / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(ws):
        listener.bind("s.sock")  # an absolute path may be too long for a socket
        started = time.monotonic()
        for name in ("pipe", "s.sock"):
            assert refusal(workspace.read_bytes, name) == "not_a_regular_file"
            assert refusal(workspace.open, name) == "not_a_regular_file"
            assert refusal(workspace.write_text, name, "x") == "not_a_regular_file"
    assert time.monotonic() - started < 1
    assert [entry.kind for entry in workspace.scan() if entry.name == "pipe"] == ["other"]


# PATH-057
def test_a_name_that_is_not_utf8_is_listed_and_read_back(ground):
    workspace, ws, _ = ground
    (ws / "d").mkdir()
    (ws / os.fsdecode(b"d/a\xff.txt")).write_text("hello")
    listed = [entry.path for entry in workspace.scan("d")]
    assert listed == ["d/a\\xff.txt"]
    listed[0].encode("utf-8")
    assert workspace.read_text(listed[0]) == "hello"
    assert workspace.read(listed[0]).path == listed[0]
    workspace.write_text(listed[0], "changed")
    assert [entry.path for entry in workspace.scan("d")] == listed
    (ws / "d/b\\xff").write_text("literal")
    assert workspace.read_text("d/b\\x5cxff") == "literal"
    (ws / "d/c\\xff").mkdir()
    (ws / "d/c\\xff" / os.fsdecode(b"e\xff")).write_text("both")
    assert workspace.read_text("d/c\\x5cxff/e\\xff") == "both"


# FS-009
def test_no_permission_is_said_so():
    if os.geteuid() != 0:
        pytest.skip("root may read everything, and only root can become somebody else")
    code = """
import os, sys
from pathlib import Path
from nanocoder_files import WorkspaceError
from nanocoder_files import Workspace

workspace = Workspace(Path(sys.argv[1]))
workspace.read_text("ok")  # loads what has to be loaded
os.setgid(65534)
os.setuid(65534)
for call, path in ("read_bytes", "f"), ("read_bytes", "d/x"), ("scan", "d"), ("delete", "f"):
    try:
        getattr(workspace, call)(path)
    except WorkspaceError as error:
        print(error.error_class)
print([entry.name for entry in workspace.scan()])
"""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        (top / "ok").write_text("a")
        (top / "f").write_text("a")
        (top / "f").chmod(0)
        (top / "d").mkdir(mode=0)
        process = subprocess.run(
            [sys.executable, "-c", code, name],
            capture_output=True,
            text=True,
            check=True,
        )
    *classes, listed = process.stdout.splitlines()
    assert classes == ["permission_denied"] * 4
    assert listed == "['d', 'f', 'ok']"


SWAP = """
import ctypes, os, sys
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
first, second = (os.fsencode(path) for path in sys.argv[1:])
exchange, here = 2, -100
while True:
    if renameat2(here, first, here, second, exchange) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""


# PATH-052
@pytest.mark.timeout(30)
@pytest.mark.skipif(sys.platform != "linux", reason="needs renameat2")
def test_a_directory_that_is_swapped_all_the_time_leaks_nothing(ground):
    workspace, ws, out = ground
    (ws / "d").mkdir()
    (ws / "d/f").write_text("in")
    (out / "f").write_text(SECRET)
    (ws / "link").symlink_to(out)
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, str(ws / "d"), str(ws / "link")])
    reads: Counter[str] = Counter()
    writes: Counter[str] = Counter()
    try:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            reads[outcome(lambda: workspace.read_bytes("d/f").decode())] += 1
            if reads.total() % 20 == 0:
                writes[outcome(lambda: workspace.write_text("d/g", "mine").path)] += 1
        assert swapper.poll() is None
    finally:
        swapper.kill()
        swapper.wait()
    assert set(reads) <= {"in", "path_outside_workspace", "symlink_loop"}
    assert min(reads["in"], reads["path_outside_workspace"]) > 100
    assert set(writes) <= {"d/g", "link/g", "path_outside_workspace", "symlink_loop"}
    assert writes["d/g"] > 5
    assert sorted(path.name for path in out.iterdir()) == ["f", "secret.txt"]


def outcome(call):
    try:
        return call()
    except WorkspaceError as error:
        return error.error_class


def test_a_closed_workspace_opens_nothing(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.close()
    workspace.close()
    with pytest.raises(WorkspaceError):
        workspace.scan()


def test_nothing_is_read_or_written_in_a_workspace_that_is_another_directory_by_now(ground):
    workspace, root, out = ground
    root.rename(out / "old")
    said = r"was moved, removed or replaced: end nanocoder, and begin there with --continue"
    with pytest.raises(WorkspaceError, match=said):
        workspace.read_text("ok.txt")
    root.mkdir()
    (root / "ok.txt").write_text("of the new one")
    with pytest.raises(WorkspaceError, match=said):
        workspace.write_text("ok.txt", "meant for the new one")
    assert (out / "old/ok.txt").read_text() == "inside"
