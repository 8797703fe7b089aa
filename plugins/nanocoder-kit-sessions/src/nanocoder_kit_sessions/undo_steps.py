"""The steps of an undo, described in lines or carried out on the disk.

A step that fails is reported, and does not stop the others.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from difflib import unified_diff
from typing import Final, Literal

from attrs import define, field, frozen
from nanocoder import ToolError, Workspace, counted, unescape_path

from nanocoder_kit_sessions.file_change import FileChange

GIT: Final = ".git/"
NOTHING_CHANGED: Final = "nothing was changed"
CHANGED: Final = ("has been changed since", "has been removed since")
"""Reasons to skip a file unless the user forces the undo."""
MAX_LINES: Final = 5
"""Limit of the removed files with a line each; more are named on one line."""
IS_NO_FILE: Final = "is a link or a special file now, or lies below a link"
LINK: Final = "-> "
"""Prefix of the state of a link; the state of a file is the digest of its content."""


@frozen
class Step:
    """One action: "write", "link", "remove" or "move" a path, "make" or "clear" a directory.

    *expected* is the required state of the path, and *state* the new one: the digest of a content,
    LINK and the target of a link, or "" for nothing.
    """

    action: Literal["write", "link", "remove", "move", "make", "clear"]
    path: str
    target: str = ""
    expected: str = ""
    state: str = ""
    mode: int = 0

    @property
    def is_of_git(self) -> bool:
        """True for a file below `.git`, such as that of a branch, a tag or a stash."""
        return self.path.startswith(GIT)

    def plan(self) -> str:
        """Return a line that describes the step, "" for an optional removal of a directory."""
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
    """The *steps* that revert *changes*, in order.

    *problem* is a reason to carry out none of them, and *blocked* are paths that cannot be
    restored, or were changed since, each with the reason.
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
        """Yield the changes of text files as a diff."""
        for step in self.steps:
            yield from self._diff(step)

    def lines(self) -> Iterator[str]:
        """Yield a line for each other step, and one for all files below `.git`."""
        steps = [step for step in self.steps if not step.is_of_git and not self._diff(step)]
        removed = sorted(step.path for step in steps if step.action == "remove")
        if len(removed) > MAX_LINES:
            steps = [step for step in steps if step.action != "remove"]
            yield f"remove {len(removed)} files: {', '.join(removed)}"
        yield from filter(None, (step.plan() for step in steps))
        if names := self._names_in_git(()):
            yield f"restore in .git: {names}"

    def _names_in_git(self, besides: Collection[str]) -> str:
        of_git = {step.path for step in self.steps if step.is_of_git} - {*besides}
        return ", ".join(path.removeprefix(GIT) for path in sorted(of_git))

    def results(self, failed: Collection[str]) -> Iterator[str]:
        """Yield a line for each restored or removed file, except the *failed* ones.

        Lines that `lines` yields are left out.
        """
        for step in self.steps:
            if step.path in failed or step.is_of_git:
                continue
            if step.action in {"write", "link"}:
                yield f"put back {step.path}"
            elif self._diff(step):
                yield f"removed {step.path}"
        if names := self._names_in_git(failed):
            yield f"put back in .git: {names}"

    def _diff(self, step: Step) -> list[str]:
        if step.action not in {"write", "remove"} or step.is_of_git:
            return []
        old, new = self.contents.get(step.expected), self.contents.get(step.state)
        return [*_diff(step.path, old, new)]

    def refusal(self) -> str:
        """Return the reason that nothing is done."""
        blocked = [f"{path} {reason}" for path, reason in self.blocked.items()]
        return f"{NOTHING_CHANGED}: {self.problem or '; '.join(blocked)}"


def carry_out(plan: UndoPlan, workspace: Workspace) -> dict[str, str]:
    """Carry out the steps of *plan*, and return the error of each failed one, by its path.

    Raises: ToolError if the plan has a problem or a blocked path.
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
    """Return True if a folder of *path* is a link by now.

    It was no link when the file was changed, and its target may be a path that no call can change
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
    # The model has read the old content: it has to read again before it writes.
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
    """Return the target of the link at *path*, or "" if there is none."""
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
    try:
        before, after = ((data or b"").decode().splitlines() for data in (old, new))
    except UnicodeDecodeError:
        if old is not None and new is not None:  # the lines below name files that come or go
            yield f"binary file {path}: {counted(len(old), 'byte')} become {len(new):,}"
        return
    source = f"a/{path}" if old is not None else "/dev/null"
    target = f"b/{path}" if new is not None else "/dev/null"
    yield from unified_diff(before, after, source, target, lineterm="")
