"""Kills a transactional call at every single step, and what takes it back as well.

Run as a program with a folder: each step is a child process of its own that ends itself with
SIGKILL before the k-th thing that it does to a file. Prints what was found as JSON.
"""

import json
import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from nanocoder import (
    Decision,
    Effect,
    Plugins,
    ToolContext,
    ToolError,
    Verdict,
    hookimpl,
    open_session,
    tool,
)

SEEN = {
    *("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink"),
    *("os.chmod", "os.chown", "os.truncate", "fcntl.flock"),
}
PATCHED = ("write", "fsync", "ftruncate")
SURVIVED, FAILED = 0, 9
MAX_STEPS = 2_000


@tool(risk="medium", effects={Effect.WRITE}, transactional=True)
def change_much(ctx: ToolContext, *, fail: bool = False) -> str:
    """Change files in every way that there is."""
    ws = ctx.workspace
    ws.write_text("a.txt", "new a\n")
    ws.write_text("made/deep/b.txt", "b\n")
    ws.delete("script.sh")
    ws.delete("link")
    ws.move("c.txt", "d.txt", replace=True)
    ws.move("plain.txt", "renamed.txt")
    ws.move("folder", "made/folder")
    ws.write_text("made/folder/x.txt", "new x\n")
    ws.remove_dir("empty")
    ws.write_text("a.txt", "newer a\n")
    if fail:
        raise ToolError("no")
    return "done"


class Changing:
    """Offers the tool, and allows it."""

    @hookimpl
    def nanocoder_tools(self):
        return [change_much]

    @hookimpl
    def nanocoder_before_execute(self):
        return Verdict(Decision.ALLOW, "tests may")


def made(root: Path) -> None:
    """Make the workspace as it is before the call."""
    shutil.rmtree(root, ignore_errors=True)
    for name in ("folder", "empty"):
        (root / name).mkdir(parents=True)
    for name in ("a.txt", "c.txt", "d.txt", "plain.txt", "script.sh", "folder/x.txt"):
        (root / name).write_text(f"old {name}\n")
    (root / "script.sh").chmod(0o751)
    (root / "empty").chmod(0o711)
    (root / "a.txt").chmod(0o640)
    (root / "link").symlink_to("a.txt")


def tree(root: Path) -> dict[str, list[object]]:
    """Return all that is there: names, kinds, modes, contents, where links lead to."""
    found: dict[str, list[object]] = {}
    for path in sorted(root.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[str(path.relative_to(root))] = ["link", os.readlink(path)]
        else:
            text = path.read_bytes().decode() if stat.S_ISREG(mode) else ""
            found[str(path.relative_to(root))] = [oct(mode), text]
    return found


class Killer:
    """Ends this process before its *at*-th step."""

    def __init__(self, at: int) -> None:
        self._left = at
        sys.addaudithook(self._hear)
        for name in PATCHED:
            setattr(os, name, self._patched(name))

    def step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in SEEN and (event != "open" or self._writes(arguments)):
            self.step()

    @staticmethod
    def _writes(arguments: tuple[object, ...]) -> bool:
        flags = arguments[2] if len(arguments) > 2 else 0
        return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))

    def _patched(self, name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def counted(*arguments: object) -> object:
            self.step()
            return real(*arguments)

        return counted


def opened(root: Path, told: list[str]):
    plugins = Plugins()
    plugins.add(Changing(), "changing")
    environment = {"HOME": str(root.parent / "home")}
    return open_session(
        root, plugins=plugins, persist=False, environment=environment, warn=told.append
    )


def called(root: Path, *, fail: bool = False) -> None:
    with opened(root, []) as session:
        *_, last = session.call("change_much", {"fail": fail})
    assert (last.data["status"] == "error") == fail, last.data


def taken_back(root: Path) -> list[str]:
    told: list[str] = []
    opened(root, told).close()
    return told


def survives(work: Callable[[Path], object], root: Path, at: int) -> bool:
    """Do *work* in a child that is killed at a step; False if it was."""
    child = os.fork()
    if child == 0:
        code = FAILED
        try:
            Killer(at)
            work(root)
            code = SURVIVED
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == SURVIVED, f"step {at}: status {status}"
    return not killed


def of_the_call(
    root: Path, work: Callable[[Path], object] = called, first: int = 1
) -> dict[str, object]:
    """Kill the call at each step; after each, open a session and look."""
    outcomes, told = [], []
    for at in range(first, MAX_STEPS):
        made(root)
        survived = survives(work, root, at)
        told.append(taken_back(root))
        outcomes.append(tree(root))
        again = taken_back(root)
        assert again == [], again
        assert tree(root) == outcomes[-1]
        if survived:
            break
    return {"outcomes": outcomes, "told": told}


def of_the_recovery(root: Path, at: int) -> dict[str, object]:
    """Kill the call at one step, and what takes it back at each of its own."""
    made(root)
    assert not survives(called, root, at)
    half = tree(root)
    for name in ("work", "home"):
        shutil.copytree(root.parent / name, root.parent / f"{name}.half", symlinks=True)
    outcomes = []
    for step in range(1, MAX_STEPS):
        for name in ("work", "home"):
            shutil.rmtree(root.parent / name)
            shutil.copytree(root.parent / f"{name}.half", root.parent / name, symlinks=True)
        survived = survives(taken_back, root, step)
        taken_back(root)
        outcomes.append(tree(root))
        if survived:
            break
    return {"half": half, "outcomes": outcomes}


def main(folder: Path) -> None:
    os.fsync = lambda _: None  # a kill loses nothing that was written, and disks are slow
    root = folder / "work"
    (folder / "home/.local/state/nanocoder").mkdir(parents=True)
    made(root)
    before = tree(root)
    called(root)  # what is imported now need not be imported in each child
    after = tree(root)
    call = of_the_call(root)
    last = max(at for at, outcome in enumerate(call["outcomes"], 1) if outcome == before)
    recovery = of_the_recovery(root, last)
    # Up to there both calls do the same; then this one puts everything back itself.
    failing = of_the_call(root, partial(called, fail=True), last)
    state = [str(path) for path in (folder / "home/.local/state/nanocoder").iterdir()]
    found = {"before": before, "after": after, "call": call, "recovery": recovery, "state": state}
    found["failing"] = failing
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
