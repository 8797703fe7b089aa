"""The steps of an undo: what is to be done, said in lines or done on the disk.

A step that cannot be done is named, and keeps none of the others from being done.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Final, Literal

from attrs import define, field, frozen
from nanocoder import ToolError, Workspace, counted, unescape_path

from nanocoder_kit_sessions.file_change import FileChange

GIT: Final = ".git/"
NOTHING_CHANGED: Final = "nothing was changed"
CHANGED: Final = ("has been changed since", "has been removed since")
"""Why a file is left alone unless a person says otherwise."""
MAX_LINES: Final = 5
"""More files that go are named on one line."""
IS_NO_FILE: Final = "is a link or a special file now, or lies below a link"
LINK: Final = "-> "
"""Begins the state of a link, as that of a file is the digest of its content."""


@frozen
class Step:
    """One thing to do: "write", "link", "remove" or "move" a path, "make" or "clear" a directory.

    *expected* is the state that the path must be in, and *state* the one that it gets: the digest
    of a content, LINK and where a link leads, or "" for nothing.
    """

    action: Literal["write", "link", "remove", "move", "make", "clear"]
    path: str
    target: str = ""
    expected: str = ""
    state: str = ""
    mode: int = 0

    @property
    def is_of_git(self) -> bool:
        """Whether it is about a file that says where a branch, a tag or a stash is."""
        return self.path.startswith(GIT)

    def plan(self) -> str:
        """Say in a line what is to be done; "" for a directory that only may go."""
        words = {
            "write": f"restore {self.path}",
            "link": f"restore the link {self.path} {self.state}",
            "remove": f"remove {self.path}",
            "move": f"move {self.path} back to {self.target}",
            "make": f"make the directory {self.path}",
        }
        return words.get(self.action, "")


@define
class UndoPlan:
    """The *steps* that take *changes* back, in order.

    *problem* is a reason to do none of them, and *blocked* are paths that cannot be restored, or
    are no longer as the changes left them, each with the reason.
    """

    changes: Sequence[FileChange] = ()
    steps: list[Step] = field(factory=list)
    problem: str = ""
    blocked: dict[str, str] = field(factory=dict)
    contents: dict[str, bytes] = field(factory=dict)

    @property
    def paths(self) -> list[str]:
        """The paths that will be restored."""
        return list(dict.fromkeys(step.path for step in self.steps if step.action != "clear"))

    def diff(self) -> Iterator[str]:
        """Yield what is to be done with files that have lines, as a diff."""
        for step in self.steps:
            yield from self._diff(step)

    def lines(self) -> Iterator[str]:
        """Yield a line for each other thing to be done, one for the files of the repository."""
        steps = [step for step in self.steps if not step.is_of_git and not self._diff(step)]
        gone = sorted(step.path for step in steps if step.action == "remove")
        if len(gone) > MAX_LINES:
            steps = [step for step in steps if step.action != "remove"]
            yield f"remove {len(gone)} files: {', '.join(gone)}"
        yield from filter(None, (step.plan() for step in steps))
        if names := self._names_in_git(()):
            yield f"restore in .git: {names}"

    def _names_in_git(self, besides: Collection[str]) -> str:
        of_git = {step.path for step in self.steps if step.is_of_git} - {*besides}
        return ", ".join(path.removeprefix(GIT) for path in sorted(of_git))

    def results(self, failed: Collection[str]) -> Iterator[str]:
        """Yield a line for each file that has its content, or is gone, but the *failed* ones.

        Lines that `lines` had already are left out.
        """
        for step in self.steps:
            if step.path in failed or step.is_of_git:
                continue
            if step.action in {"write", "link"}:
                yield f"put back {step.path}"
            elif self._diff(step):
                yield step.plan()
        if names := self._names_in_git(failed):
            yield f"put back in .git: {names}"

    def _diff(self, step: Step) -> list[str]:
        if step.action not in {"write", "remove"} or step.is_of_git:
            return []
        old, new = self.contents.get(step.expected), self.contents.get(step.state)
        return [*_diff(step.path, old, new)]

    def refusal(self) -> str:
        """Say why nothing is done."""
        blocked = [f"{path} {reason}" for path, reason in self.blocked.items()]
        return f"{NOTHING_CHANGED}: {self.problem or '; '.join(blocked)}"


def carry_out(plan: UndoPlan, workspace: Workspace) -> dict[str, str]:
    """Do the steps of *plan*, and return why those that failed did, by their paths.

    Raises: ToolError where the plan has something that it cannot do.
    """
    if plan.problem or plan.blocked:
        raise ToolError(plan.refusal())
    failed: dict[str, str] = {}
    for step in plan.steps:
        if failed and _depends(step, failed):
            continue
        try:
            _carry_out_step(plan, workspace, step)
        except ToolError as error:
            failed[step.path] = str(error)
    return failed


def _depends(step: Step, failed: Collection[str]) -> bool:
    paths = [path for path in (step.path, step.target) if path]
    return any(path == other or path.startswith(f"{other}/") for path in paths for other in failed)


def is_below_a_link(workspace: Workspace, path: str) -> bool:
    """Tell whether a folder of *path* is a link by now.

    It was none when the file was changed, and it may lead to a place that no call could change
    without approval, such as the hooks of git.
    """
    folder = path.rpartition("/")[0]
    try:
        return bool(folder) and workspace.resolve(folder) != folder
    except ToolError:  # it leads out of the workspace
        return True


def _carry_out_step(plan: UndoPlan, workspace: Workspace, step: Step) -> None:
    for path in filter(None, (step.path, step.target)):
        if is_below_a_link(workspace, path):
            raise ToolError(f"{path} {IS_NO_FILE}")
    match step.action:
        case "write":
            _write(workspace, step, plan.contents[step.state])
        case "link":
            _expect(workspace, step)
            workspace.put_link(step.path, step.state.removeprefix(LINK))
        case "remove":
            _expect(workspace, step)
            workspace.delete(step.path)
        case "move":
            workspace.note_read(step.path, "")
            workspace.move(step.path, step.target)
        case "make":
            workspace.make_dirs(step.path)
        case "clear":
            _remove_if_empty(workspace, step.path)


def _write(workspace: Workspace, step: Step, data: bytes) -> None:
    expected = _expect(workspace, step)
    if step.expected.startswith(LINK):
        workspace.delete(step.path)  # a write would go where the link leads
    workspace.write_bytes(step.path, data, expect=expected, mode=step.mode or None)
    # The model knows the content that is gone: it has to read again before it writes.
    workspace.note_read(step.path, expected)


def _expect(workspace: Workspace, step: Step) -> str:
    """Expect the path to be as the plan found it, whatever the model has read of it.

    Returns the digest of a file, "" for none. Raises: ToolError for another link.
    """
    if not step.expected.startswith(LINK):
        workspace.note_read(step.path, step.expected)
        return step.expected
    if LINK + link_at(workspace, step.path) != step.expected:
        raise ToolError(f"{step.path} {CHANGED[0]}")
    return ""


def link_at(workspace: Workspace, path: str) -> str:
    """Return where the link at *path* leads, "" where there is none."""
    try:
        return os.readlink(workspace.root / unescape_path(path))
    except OSError:
        return ""


def _remove_if_empty(workspace: Workspace, path: str) -> None:
    """Remove a directory that a change had made, unless something else lies in it by now."""
    try:
        workspace.remove_dir(path)
    except ToolError:
        return


def _diff(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    from difflib import unified_diff  # undo is rare

    try:
        before, after = ((data or b"").decode().splitlines() for data in (old, new))
    except UnicodeDecodeError:
        if old is not None and new is not None:  # the lines below name files that come or go
            yield f"binary file {path}: {counted(len(old), 'byte')} become {len(new):,}"
        return
    source = f"a/{path}" if old is not None else "/dev/null"
    target = f"b/{path}" if new is not None else "/dev/null"
    yield from unified_diff(before, after, source, target, lineterm="")
