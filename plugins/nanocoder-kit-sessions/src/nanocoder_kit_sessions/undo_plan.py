"""Undo of recorded changes: every file is examined first, then all of them are restored.

A file that cannot be restored is reported, and does not stop the others.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from attrs import evolve
from nanocoder import ToolError, Workspace
from nanocoder_files import MAX_BYTES, Change, FileKind, FileState, Restore, open_private

from nanocoder_kit_sessions.file_change import UNKNOWN, FileChange
from nanocoder_kit_sessions.snapshots import GitStore, SnapshotError
from nanocoder_kit_sessions.undo_steps import (
    CHANGED,
    IS_NO_FILE,
    LINK,
    Step,
    UndoPlan,
    is_below_a_link,
    link_at,
)

BACKUP: Final = re.compile(r"[0-9a-f]{32}/[A-Za-z0-9._-]+")
KINDS: Final = {"": FileKind.NOTHING, "dir": FileKind.DIRECTORY}
ACTIONS: Final[dict[str, Literal["write", "link", "remove"]]] = {
    FileKind.FILE: "write",
    FileKind.LINK: "link",
}
NO_COPY: Final = "was a pipe, a socket or a device, which cannot be copied"


def plan_undo(
    workspace: Workspace,
    backups: Path | None,
    changes: Sequence[FileChange],
    *,
    force: bool = False,
    snapshots: GitStore | None = None,
) -> UndoPlan:
    """Return the plan that reverts *changes*, the last first, without changing anything.

    *backups* is the folder of the copies, *snapshots* has the contents that commands changed.
    *force* includes files that were changed since.
    """
    plan = UndoPlan(changes)
    if elsewhere := {change.root for change in changes} - {str(workspace.root)}:
        plan.problem = f"it changed files below {', '.join(sorted(elsewhere))}"
        return plan
    planner = _Planner(workspace, backups, plan, force=force, snapshots=snapshots)
    for change in reversed(changes):
        planner.add(change)
    planner.fetch_copies()
    return plan


class _Planner(Restore[str]):
    """Reverts changes in *plan* instead of on the disk: each becomes steps.

    It tracks the state of each path after the steps so far. *force* includes files that were
    changed since; a moved file is moved back only as the change left it.
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
        """Plan to revert a change."""
        if record.before is UNKNOWN:
            old = "was changed with an earlier version of nanocoder, whose records cannot be undone"
            self._refuse(record.path, f"{old}; copies of changed files are in {self._backups}")
            return
        self._record = record
        try:
            self.take_back(record)
        except ToolError as error:
            self._refuse(record.changed_path, f"cannot be restored: {error}")

    def fetch_copies(self) -> None:
        """Read the copies that the steps need; those of intermediate states may be missing."""
        for state in {step.state for step in self._plan.steps if step.action == "write"}:
            try:
                if state not in self._plan.contents:
                    self._plan.contents[state] = self._read_copy(self._copies[state])
            except (SnapshotError, ToolError) as error:
                for step in self._plan.steps:
                    if step.action == "write" and step.state == state:
                        self._refuse(step.path, f"cannot be restored: {error}")

    def _locate(self, path: str, *, make: bool) -> nullcontext[str]:  # noqa: ARG002
        return nullcontext(path)

    def _state(self, place: str) -> FileState:
        if place not in self._states:
            self._states[place] = self._state_on_disk(self._origin(place))
        return self._states[place]

    def _put(self, place: str, change: Change) -> None:
        """Plan to restore *place* to its state before *change*; several writes become one."""
        path, before, now = place, change.before, self._state(place)
        if before.kind == FileKind.OTHER:
            self._refuse(path, NO_COPY)
            return
        if now.kind == FileKind.OTHER and not before.is_directory:
            # A write would change the target of a link.
            self._refuse(path, IS_NO_FILE)
            return
        self._states[path] = before
        expected = _mark(now)
        if now.is_directory and not before.is_directory:
            self._plan.steps.append(Step("clear", path))
        if before.is_directory and expected:
            self._add(Step("remove", path, "", expected))
        if before.is_directory:
            self._plan.steps.append(Step("make", path))
        elif before.exists or not now.is_directory:
            self._copies.setdefault(before.digest, self._record)
            action = ACTIONS.get(before.kind, "remove")
            self._add(Step(action, path, "", expected, _mark(before), before.mode))

    def _add(self, step: Step) -> None:
        steps = self._plan.steps
        for index, earlier in reversed([*enumerate(steps)]):
            if earlier.action == "move":
                break
            if earlier.path == step.path and earlier.action in {"write", "link", "remove"}:
                # By index: before a move there may be an equal step.
                del steps[index]
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
        self._plan.steps.append(Step("move", target, source, expected=_mark(moved)))
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
        is_plain = now.kind in {FileKind.FILE, FileKind.NOTHING}
        if self._force and (is_plain or now.kind == change.before.kind == FileKind.LINK):
            return True
        # A failed call was rolled back: the file is as before an earlier change.
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
        is_special = now.kind in {FileKind.LINK, FileKind.OTHER}
        self._refuse(path, IS_NO_FILE if is_special else changed if now.exists else removed)

    def _refuse(self, path: str, reason: str) -> None:
        """Leave *path* as it is."""
        self._plan.blocked.setdefault(path, reason)

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
        """Return the copy from before *record*; raises ToolError if it is damaged or missing."""
        missing = ToolError("its earlier copy is no longer kept")
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
                f"its earlier copy has {size:,} bytes; at most {MAX_BYTES:,} are restored"
            )
        if _digest(data) != record.before.digest:
            raise missing
        return data

    def _origin(self, path: str) -> str:
        """Return the current path of the file that the plan moves to *path*."""
        for source, target in reversed(self._moves):
            if path == source or path.startswith(f"{source}/"):
                path = target + path[len(source) :]
        return path

    def _state_on_disk(self, path: str) -> FileState:
        folder, _, name = path.rpartition("/")
        if is_below_a_link(self._workspace, path):
            # Unless an earlier step replaces the link by a folder.
            is_folder = any(state.is_directory for state in self._planned_above(path))
            return FileState() if is_folder else FileState(FileKind.OTHER)
        if not self._workspace.is_dir(folder or "."):
            return FileState()
        kinds = {entry.name: entry.kind for entry in self._workspace.scan(folder or ".")}
        kind = kinds.get(name, "")
        if kind == "link":
            return FileState(FileKind.LINK, target=link_at(self._workspace, path))
        if kind != "file":
            return FileState(KINDS.get(kind, FileKind.OTHER))
        data = self._workspace.read_bytes(path)
        state = _digest(data)
        self._plan.contents[state] = data
        return FileState(FileKind.FILE, state, len(data))

    def _planned_above(self, path: str) -> Iterator[FileState]:
        while path := path.rpartition("/")[0]:
            if path in self._states:
                yield self._states[path]


def _mark(state: FileState) -> str:
    """Return *state* as a step stores it: the digest of a file, LINK and a target, or ""."""
    return LINK + state.target if state.kind == FileKind.LINK else state.digest


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
