"""Undo of recorded changes: every file is looked at first, then all of them are put back."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from attrs import define, evolve, field, frozen
from nanocoder_schema import Shown, ToolError, Value, counted

from nanocoder_files.content import digest
from nanocoder_files.file_change import FileChange
from nanocoder_files.file_state import DIRECTORY, OTHER
from nanocoder_files.private_files import open_private
from nanocoder_files.reader import MAX_BYTES
from nanocoder_files.workspace import Workspace

ABSENT: Final = ""
BACKUP: Final = re.compile(r"[0-9a-f]{32}/[A-Za-z0-9._-]+")
NOTHING_CHANGED: Final = "nothing was changed"


@frozen(eq=False, repr=False)
class Step(Value):
    """One thing to do: "write", "remove" or "move" a file, "make" or "clear" a directory.

    *expected* is the state that the path must be in, the digest of its content or "" for nothing;
    *state* is the one that it gets.
    """

    action: Literal["write", "remove", "move", "make", "clear"]
    path: str
    target: str = ""
    expected: str = ABSENT
    state: str = ABSENT
    mode: int = 0

    def describe(self) -> str:
        """Say in a line what will be done; "" for a directory that only may go."""
        if self.action == "move":
            return f"move {self.path} back to {self.target}"
        verbs = {"write": "put back", "remove": "remove", "make": "make the directory"}
        return f"{verbs[self.action]} {self.path}" if self.action in verbs else ""


@define(eq=False, repr=False)
class UndoPlan(Shown):
    """The *steps* that take *changes* back, in order; *problems* are reasons to do none of them.

    *blocked* are files that are no longer as the changes left them, each with the reason.
    """

    changes: Sequence[FileChange] = ()
    steps: list[Step] = field(factory=list)
    problems: list[str] = field(factory=list)
    blocked: dict[str, str] = field(factory=dict)
    contents: dict[str, bytes] = field(factory=dict)

    @property
    def paths(self) -> list[str]:
        """The paths that will be restored."""
        return list(dict.fromkeys(step.path for step in self.steps if step.action != "clear"))

    def lines(self) -> list[str]:
        """Say in a line each what will be done."""
        return list(filter(None, (step.describe() for step in self.steps)))

    def diff(self) -> str:
        """Return the changes of the files' contents as a unified diff."""
        return "\n".join(
            line
            for step in self.steps
            if step.action in {"write", "remove"}
            for line in _diff(
                step.path, self.contents.get(step.expected), self.contents.get(step.state)
            )
        )

    def refusal(self) -> str:
        """Say why nothing is done."""
        return f"{NOTHING_CHANGED}: {'; '.join(self.problems)}"


def plan_undo(
    workspace: Workspace,
    backups: Path | None,
    changes: Sequence[FileChange],
    *,
    force: bool = False,
) -> UndoPlan:
    """Return how *changes* are taken back, the last first; nothing is changed yet.

    *backups* is the folder of the copies. With *force* also files that were changed since are put
    back.
    """
    plan = UndoPlan(changes)
    if elsewhere := {change.root for change in changes} - {str(workspace.root)}:
        plan.problems.append(f"it changed files below {', '.join(sorted(elsewhere))}")
        return plan
    planner = _Planner(workspace, backups, plan, force=force)
    for change in reversed(changes):
        try:
            planner.add(change)
        except ToolError as error:
            plan.problems.append(str(error))
    planner.fetch_copies()
    plan.problems = list(dict.fromkeys(plan.problems))
    return plan


def carry_out(plan: UndoPlan, workspace: Workspace) -> None:
    """Do the steps of *plan*.

    Raises: ToolError, which says what has been done when something came in between.
    """
    if plan.problems:
        raise ToolError(plan.refusal())
    finished: list[str] = []
    for step in plan.steps:
        try:
            _carry_out_step(plan, workspace, step)
        except ToolError as error:
            progress = f"done so far: {', '.join(finished)}" if finished else NOTHING_CHANGED
            raise ToolError(f"{error}; {progress}") from error
        finished.append(step.path)


def _carry_out_step(plan: UndoPlan, workspace: Workspace, step: Step) -> None:
    if step.action in {"write", "remove", "move"}:
        # The file has to be as the plan found it, whatever the model has read of it.
        workspace.note_read(step.path, step.expected if step.action != "move" else "")
    match step.action:
        case "write":
            data, expected = plan.contents[step.state], step.expected
            workspace.write_bytes(step.path, data, expect_digest=expected, mode=step.mode or None)
            # The model knows the content that is gone: it has to read again before it writes.
            workspace.note_read(step.path, expected)
        case "remove":
            workspace.delete(step.path)
        case "move":
            workspace.move(step.path, step.target)
        case "make":
            workspace.make_dirs(step.path)
        case "clear":
            _remove_if_empty(workspace, step.path)


def _remove_if_empty(workspace: Workspace, path: str) -> None:
    """Remove a directory that a change had made, unless something else lies in it by now."""
    try:
        workspace.remove_dir(path)
    except ToolError:
        return


class _Planner:
    """Adds the steps for one change after the other to *plan*.

    It knows the state of each path as it will be after the steps so far.
    """

    def __init__(
        self, workspace: Workspace, backups: Path | None, plan: UndoPlan, *, force: bool
    ) -> None:
        self._workspace = workspace
        self._backups = backups
        self._plan = plan
        self._force = force
        self._states: dict[str, str] = {}
        self._copies: dict[str, FileChange] = {}
        self._moves: list[tuple[str, str]] = []
        self._undo_by_kind: Mapping[str, Callable[[FileChange], None]] = {
            "write": self._undo_write,
            "delete": self._undo_delete,
            "move": self._undo_move,
            "make_dirs": self._clear_folders,
            "remove_dir": self._undo_remove_dir,
        }

    def add(self, change: FileChange) -> None:
        """Plan to take *change* back; raises ToolError."""
        undo = self._undo_by_kind.get(change.change)
        if undo is None:
            raise ToolError(f"{change.path}: a change of an unknown kind, {change.change!r}")
        undo(change)

    def fetch_copies(self) -> None:
        """Read the copies that are needed; those of states in between need not be there."""
        for state in {step.state for step in self._plan.steps if step.action == "write"}:
            try:
                if state not in self._plan.contents:
                    self._plan.contents[state] = self._read_backup(self._copies[state])
            except ToolError as error:
                self._plan.problems.append(str(error))

    def _undo_write(self, change: FileChange) -> None:
        now = self._state(change.path)
        may_replace = now == change.after or (self._force and now not in {DIRECTORY, OTHER})
        if may_replace and now != change.before:
            self._put(change, change.path)
            self._clear_folders(change)
        elif now != change.before and not self._is_earlier(change, now):
            self._block(change.path, now)

    def _undo_delete(self, change: FileChange) -> None:
        now = self._state(change.path)
        if change.kind != "file":
            raise ToolError(
                f"{change.path} was a link or a special file, and no copy of those is kept"
            )
        if now == ABSENT or (self._force and now not in {DIRECTORY, OTHER, change.before}):
            self._put(change, change.path)
        elif now != change.before:
            self._block(change.path, now)

    def _undo_move(self, change: FileChange) -> None:
        source, target = change.path, change.target
        here, there = self._state(source), self._state(target)
        if here != ABSENT and there in {change.before, ABSENT}:
            return  # it was announced and did not happen
        expected = DIRECTORY if change.kind == DIRECTORY else change.after or there
        if here != ABSENT or there != expected or there == ABSENT:
            self._block(source if here != ABSENT else target, here or there)
            return
        self._plan.steps.append(Step("move", target, source, expected=there))
        self._follow(source, target)
        self._states[source], self._states[target] = there, ABSENT
        if change.before:
            self._put(change, target)
        self._clear_folders(change)

    def _undo_remove_dir(self, change: FileChange) -> None:
        if self._state(change.path) == ABSENT:
            self._plan.steps.append(Step("make", change.path))
            self._states[change.path] = DIRECTORY

    def _clear_folders(self, change: FileChange) -> None:
        self._plan.steps.extend(Step("clear", path) for path in reversed(change.folders))

    def _block(self, path: str, now: str) -> None:
        reason = "has been changed since" if now else "has been removed since"
        self._plan.blocked[path] = reason
        self._plan.problems.append(f"{path} {reason}")

    def _is_earlier(self, change: FileChange, now: str) -> bool:
        """Tell whether an earlier change began with *now*: a call that failed was taken back."""
        return any(
            other.before == now
            for other in self._plan.changes
            if other.path == change.path and other.seq < change.seq
        )

    def _put(self, change: FileChange, path: str) -> None:
        """Plan *path* to become what it was before *change*; several writes become one."""
        self._copies.setdefault(change.before, change)
        step = Step(
            "write" if change.before else "remove",
            path,
            expected=self._states[path],
            state=change.before,
            mode=change.mode,
        )
        self._states[path] = change.before
        steps = self._plan.steps
        for earlier in reversed(steps):
            if earlier.action == "move":
                break
            if earlier.path == path and earlier.action in {"write", "remove"}:
                steps.remove(earlier)
                step = evolve(step, expected=earlier.expected)
                break
        if step.expected != step.state:
            steps.append(step)

    def _read_backup(self, change: FileChange) -> bytes:
        """Return the copy from before *change*; raises ToolError when it is damaged or gone."""
        missing = ToolError(f"the earlier copy of {change.path} is no longer kept")
        if self._backups is None or not BACKUP.fullmatch(change.backup):
            raise missing
        try:
            with os.fdopen(open_private(self._backups / change.backup), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(MAX_BYTES) if size <= MAX_BYTES else b""
        except OSError:
            raise missing from None
        if size > MAX_BYTES:
            raise ToolError(
                f"the earlier copy of {change.path} has {size:,} bytes; at most"
                f" {MAX_BYTES:,} are restored"
            )
        if digest(data) != change.before:
            raise missing
        return data

    def _state(self, path: str) -> str:
        if path not in self._states:
            self._states[path] = self._state_on_disk(self._origin(path))
        return self._states[path]

    def _origin(self, path: str) -> str:
        """Return where the file is now that the plan will have moved to *path*."""
        for source, target in reversed(self._moves):
            if path == source or path.startswith(f"{source}/"):
                path = target + path[len(source) :]
        return path

    def _follow(self, source: str, target: str) -> None:
        """Let what is known below *target* be known below *source*, where it is moved back to."""
        self._moves.append((source, target))
        for path in [path for path in self._states if path.startswith(f"{target}/")]:
            self._states[source + path[len(target) :]] = self._states.pop(path)

    def _state_on_disk(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        if not self._workspace.is_dir(folder or "."):
            return ABSENT
        kinds = {entry.name: entry.kind for entry in self._workspace.scan(folder or ".")}
        kind = kinds.get(name, ABSENT)
        if kind != "file":
            return {ABSENT: ABSENT, "dir": DIRECTORY}.get(kind, OTHER)
        data = self._workspace.read_bytes(path)
        state = digest(data)
        self._plan.contents[state] = data
        return state


def _diff(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    from difflib import unified_diff  # undo is rare

    try:
        before, after = ((data or b"").decode().splitlines() for data in (old, new))
    except UnicodeDecodeError:
        yield f"binary file {path}: {counted(len(old or b''), 'byte')} become {len(new or b''):,}"
        return
    source = f"a/{path}" if old is not None else "/dev/null"
    target = f"b/{path}" if new is not None else "/dev/null"
    yield from unified_diff(before, after, source, target, lineterm="")
