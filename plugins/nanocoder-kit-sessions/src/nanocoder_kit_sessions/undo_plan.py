"""Undo of recorded changes: every file is looked at first, then all of them are put back."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final, Literal

from attrs import define, evolve, field, frozen
from nanocoder import ToolError, Workspace, counted
from nanocoder_files import MAX_BYTES, Change, FileKind, FileState, Restore, open_private
from nanocoder_kit_snapshots import GitStore, SnapshotError

from nanocoder_kit_sessions.file_change import UNKNOWN, FileChange

BACKUP: Final = re.compile(r"[0-9a-f]{32}/[A-Za-z0-9._-]+")
KINDS: Final = {"": FileKind.NOTHING, "dir": FileKind.DIRECTORY}
GIT: Final = ".git/"
NOTHING_CHANGED: Final = "nothing was changed"
CHANGED: Final = ("has been changed since", "has been removed since")
"""Why a file is left alone unless a person says otherwise."""
IS_NO_FILE: Final = "is a link or a special file now, or lies below a link"


@frozen
class Step:
    """One thing to do: "write", "remove" or "move" a file, "make" or "clear" a directory.

    *expected* is the state that the path must be in, the digest of its content or "" for nothing;
    *state* is the one that it gets.
    """

    action: Literal["write", "remove", "move", "make", "clear"]
    path: str
    target: str = ""
    expected: str = ""
    state: str = ""
    mode: int = 0

    @property
    def is_of_git(self) -> bool:
        """Whether it is about a file that says where a branch, a tag or a stash is."""
        return self.path.startswith(GIT)

    def describe(self) -> str:
        """Say in a line what will be done; "" for a directory that only may go."""
        if self.action == "move":
            return f"move {self.path} back to {self.target}"
        verbs = {"write": "put back", "remove": "remove", "make": "make the directory"}
        return f"{verbs[self.action]} {self.path}" if self.action in verbs else ""


@define
class UndoPlan:
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
        """Say in a line each what will be done; in one line for the files of the repository."""
        of_git = [step for step in self.steps if step.is_of_git]
        lines = [step.describe() for step in self.steps if step not in of_git]
        if names := [step.path.removeprefix(GIT) for step in of_git]:
            lines.append(f"put back in .git: {', '.join(sorted(names))}")
        return list(filter(None, lines))

    def diff(self) -> str:
        """Return the changes of the files' contents as a unified diff."""
        return "\n".join(
            line
            for step in self.steps
            if step.action in {"write", "remove"} and not step.is_of_git
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
    snapshots: GitStore | None = None,
) -> UndoPlan:
    """Return how *changes* are taken back, the last first; nothing is changed yet.

    *backups* is the folder of the copies, *snapshots* has the contents that commands changed. With
    *force* also files that were changed since are put back.
    """
    plan = UndoPlan(changes)
    if elsewhere := {change.root for change in changes} - {str(workspace.root)}:
        plan.problems.append(f"it changed files below {', '.join(sorted(elsewhere))}")
        return plan
    planner = _Planner(workspace, backups, plan, force=force, snapshots=snapshots)
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


def is_below_a_link(workspace: Workspace, path: str) -> bool:
    """Tell whether a folder of *path* is a link by now.

    It was none when the file was changed, and it may lead to a place that no call could change
    without approval, such as the hooks of git.
    """
    folder = path.rpartition("/")[0]
    return bool(folder) and workspace.resolve(folder) != folder


def _carry_out_step(plan: UndoPlan, workspace: Workspace, step: Step) -> None:
    for path in filter(None, (step.path, step.target)):
        if is_below_a_link(workspace, path):
            raise ToolError(f"{path} {IS_NO_FILE}")
    if step.action in {"write", "remove", "move"}:
        # The file has to be as the plan found it, whatever the model has read of it.
        workspace.note_read(step.path, step.expected if step.action != "move" else "")
    match step.action:
        case "write":
            data, expected = plan.contents[step.state], step.expected
            workspace.write_bytes(step.path, data, expect=expected, mode=step.mode or None)
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


class _Planner(Restore[str]):
    """Takes changes back in *plan* instead of on the disk: each becomes steps.

    It knows the state of each path as it will be after the steps so far. With *force* a file that
    somebody changed is put back, too; what is moved goes back only as the change left it.
    """

    def __init__(
        self,
        workspace: Workspace,
        backups: Path | None,
        plan: UndoPlan,
        *,
        force: bool,
        snapshots: GitStore | None,
    ) -> None:
        self._workspace = workspace
        self._backups = backups
        self._snapshots = snapshots
        self._plan = plan
        self._force = force
        self._states: dict[str, FileState] = {}
        self._copies: dict[str, FileChange] = {}
        self._moves: list[tuple[str, str]] = []
        self._record = FileChange("", UNKNOWN, UNKNOWN)

    def add(self, record: FileChange) -> None:
        """Plan to take a change back; raises ToolError."""
        if record.before is UNKNOWN:
            raise ToolError(
                f"{record.path} was changed with an earlier version of nanocoder, whose records"
                f" cannot be undone; copies of changed files are in {self._backups}"
            )
        self._record = record
        self.take_back(record)

    def fetch_copies(self) -> None:
        """Read the copies that are needed; those of states in between need not be there."""
        for state in {step.state for step in self._plan.steps if step.action == "write"}:
            try:
                if state not in self._plan.contents:
                    self._plan.contents[state] = self._read_copy(self._copies[state])
            except SnapshotError as error:
                for step in self._plan.steps:
                    if step.action == "write" and step.state == state:
                        self._refuse(step.path, f"cannot be restored: {error}")
            except ToolError as error:
                self._plan.problems.append(str(error))

    def _is_back(self, now: FileState, before: FileState) -> bool:
        return now.resembles(before) or (
            now.kind == FileKind.OTHER and before.kind == FileKind.LINK
        )

    def _is_left(self, now: FileState, after: FileState) -> bool:
        # The digest of a large file that was moved is not known.
        is_same_size = (now.kind, now.size) == (after.kind, after.size) and not after.digest
        return self._is_back(now, after) or (now.is_file and is_same_size)

    def _locate(self, path: str, *, make: bool) -> nullcontext[str]:  # noqa: ARG002
        return nullcontext(path)

    def _state(self, place: str) -> FileState:
        if place not in self._states:
            self._states[place] = self._state_on_disk(self._origin(place))
        return self._states[place]

    def _put(self, place: str, change: Change) -> None:
        """Plan *place* to become what it was before *change*; several writes become one."""
        path, before, now = place, change.before, self._state(place)
        if before.kind in {FileKind.LINK, FileKind.OTHER}:
            raise ToolError(f"{path} was a link or a special file, and no copy of those is kept")
        if now.kind == FileKind.OTHER and not before.is_directory:
            # To write here would change what a link leads to.
            self._refuse(path, IS_NO_FILE)
            return
        self._states[path] = before
        if FileKind.DIRECTORY in {before.kind, now.kind}:
            self._plan.steps.append(Step("make" if before.is_directory else "clear", path))
            return
        self._copies.setdefault(before.digest, self._record)
        action: Literal["write", "remove"] = "write" if before.is_file else "remove"
        self._add(Step(action, path, "", now.digest, before.digest, before.mode))

    def _add(self, step: Step) -> None:
        steps = self._plan.steps
        for place, earlier in reversed([*enumerate(steps)]):
            if earlier.action == "move":
                break
            if earlier.path == step.path and earlier.action in {"write", "remove"}:
                # By its place: before a move there may be a step that is equal to it.
                del steps[place]
                step = evolve(step, expected=earlier.expected)
                break
        if step.expected != step.state:
            steps.append(step)

    def _rename(
        self,
        there: str,
        here: str,  # noqa: ARG002 - the change has both names
        change: Change,
    ) -> None:
        source, target, moved = change.path, change.target, self._state(there)
        self._plan.steps.append(Step("move", target, source, expected=moved.digest))
        self._moves.append((source, target))
        # The states below *target* are those below *source* from here on.
        for path in [path for path in self._states if path.startswith(f"{target}/")]:
            self._states[source + path[len(target) :]] = self._states.pop(path)
        self._states[source], self._states[target] = moved, FileState()

    def _may_replace(self, place: str, now: FileState, change: Change) -> bool:
        if change.target or FileKind.DIRECTORY in {change.before.kind, change.after.kind}:
            return False
        # It is recorded before it is made: this one was not, as the disk was full or we were ended.
        if now.resembles(change.before):
            return False
        if self._force and now.kind in {FileKind.FILE, FileKind.NOTHING}:
            return True
        # A call that failed was taken back: the file is as an earlier change found it.
        if not any(
            other.before.resembles(now)
            for other in self._plan.changes
            if other.path == change.path and other.seq < self._record.seq
        ):
            self._block(place, now)
        return False

    def _lose_move(self, change: Change, state: FileState) -> None:
        here, there = change.path, change.target
        is_here = state.exists
        self._block(here if is_here else there, state if is_here else self._states[there])

    def _block(self, path: str, now: FileState) -> None:
        changed, removed = CHANGED
        self._refuse(path, changed if now.exists else removed)

    def _refuse(self, path: str, reason: str) -> None:
        """Leave *path* as it is."""
        self._plan.blocked[path] = reason
        self._plan.problems.append(f"{path} {reason}")

    def _read_copy(self, record: FileChange) -> bytes:
        """Return the content from before *record*; raises ToolError or SnapshotError."""
        if not record.entry:
            return self._read_backup(record)
        if self._snapshots is None:
            raise SnapshotError("there are no snapshots")
        data = self._snapshots.read(record.blob)
        if _digest(data) != record.before.digest:
            raise SnapshotError("its snapshot is damaged")
        return data

    def _read_backup(self, record: FileChange) -> bytes:
        """Return the copy from before *record*; raises ToolError when it is damaged or gone."""
        missing = ToolError(f"the earlier copy of {record.path} is no longer kept")
        if self._backups is None or not BACKUP.fullmatch(record.backup):
            raise missing
        try:
            with os.fdopen(open_private(self._backups / record.backup), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(MAX_BYTES) if size <= MAX_BYTES else b""
        except OSError:
            raise missing from None
        if size > MAX_BYTES:
            raise ToolError(
                f"the earlier copy of {record.path} has {size:,} bytes; at most"
                f" {MAX_BYTES:,} are restored"
            )
        if _digest(data) != record.before.digest:
            raise missing
        return data

    def _origin(self, path: str) -> str:
        """Return where the file is now that the plan will have moved to *path*."""
        for source, target in reversed(self._moves):
            if path == source or path.startswith(f"{source}/"):
                path = target + path[len(source) :]
        return path

    def _state_on_disk(self, path: str) -> FileState:
        folder, _, name = path.rpartition("/")
        if is_below_a_link(self._workspace, path):
            return FileState(FileKind.OTHER)
        if not self._workspace.is_dir(folder or "."):
            return FileState()
        kinds = {entry.name: entry.kind for entry in self._workspace.scan(folder or ".")}
        kind = kinds.get(name, "")
        if kind != "file":
            return FileState(KINDS.get(kind, FileKind.OTHER))
        data = self._workspace.read_bytes(path)
        state = _digest(data)
        self._plan.contents[state] = data
        return FileState(FileKind.FILE, state, len(data))


def _digest(data: bytes) -> str:
    from hashlib import sha256  # undo is rare, as is what it needs

    return sha256(data).hexdigest()


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
