"""The files that ripgrep lists, told to go through those that the walk in Python goes through."""

import os
import stat
import subprocess
from collections.abc import Collection, Iterator
from typing import IO, Self, cast

from nanocoder import ToolContext, WorkspaceError
from nanocoder_kit_glob.ripgrep import FLAGS, place, rules, sees_our_rules

from nanocoder_tool_glob.wanted import Wanted

READ_BYTES = 65_536
MAX_STDERR = 4_000
MAX_OPEN = 64
"""Directories that are held open; ripgrep goes through some at the same time."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# It obeys the first, fits no rule to the second, and the third could be the spelling of a byte.
_UNCLEAR = (b"/.rgignore", b"\n", rb"\x")
_ODD = frozenset("*?[]{}\\!/, \t\r\n\0")


class RipgrepError(Exception):
    """Ripgrep did not do it, or sees other files than we do."""


def can_list(ctx: ToolContext, top: str, skip: Collection[str]) -> bool:
    """Tell whether ripgrep sees the files below *top* that we see, and no others."""
    workspace = ctx.workspace
    if any(not name or set(name) & _ODD for name in skip):
        return False
    return sees_our_rules(workspace.root, workspace.real_path(top))


def listed(
    ctx: ToolContext, program: str, top: str, wanted: Wanted, skip: Collection[str]
) -> Iterator[tuple[float, str]]:
    """Yield the time and the path of each file that matches, in any order.

    *top* is a directory, its links resolved. Raises: RipgrepError, Cancelled.
    """
    prefix = 0 if top == "." else len(top) + 1
    with _Times(ctx) as times:
        for names in _pieces(ctx, [program, *arguments(ctx, top, wanted, skip)]):
            for raw, path in _ending(names, wanted.ends):
                if wanted.is_whole or wanted.matches(path[prefix:]):
                    changed = times.of(raw, path)
                    if changed is not None:
                        yield changed, path


def _ending(names: bytes, ends: tuple[str, ...]) -> Iterator[tuple[bytes, str]]:
    """Choose names; each as it is on the disk and as the workspace writes it."""
    # All at once takes a tenth of the time.
    shown = names.decode(errors="backslashreplace").split("\0")
    for raw, path in zip(names.split(b"\0"), shown, strict=True):
        if path.endswith(ends):
            yield raw[2:], path[2:]


def arguments(ctx: ToolContext, top: str, wanted: Wanted, skip: Collection[str]) -> list[str]:
    """Return what ripgrep is told."""
    root, where = ctx.workspace.root, ctx.workspace.real_path(top)
    given = [*FLAGS, "--files", *rules(root, where)]
    given += [f"--glob=!{name}" for name in skip]
    if wanted.depth:
        given.append(f"--max-depth={wanted.depth}")
    return [*given, "--", place(root, where)]


def _pieces(ctx: ToolContext, command: list[str]) -> Iterator[bytes]:
    """Yield names with NULs between them."""
    process = subprocess.Popen(
        command,
        cwd=ctx.workspace.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    forget = ctx.cancelled.on_set(process.kill)
    with process:
        try:
            for names in _whole(cast("IO[bytes]", process.stdout)):
                ctx.cancelled.check()
                if any(odd in names for odd in _UNCLEAR):
                    raise RipgrepError
                yield names
            _check(ctx, process)
        finally:
            forget()
            process.kill()


def _whole(stdout: IO[bytes]) -> Iterator[bytes]:
    pending = b""
    while chunk := stdout.read1(READ_BYTES):  # type: ignore[attr-defined]
        whole, nul, rest = chunk.rpartition(b"\0")
        if nul:
            yield pending + whole
            pending = rest
        else:
            pending += chunk


def _check(ctx: ToolContext, process: subprocess.Popen[bytes]) -> None:
    complaint = cast("IO[bytes]", process.stderr).read(MAX_STDERR)
    status = process.wait()
    ctx.cancelled.check()
    # 1 is no file; directories that cannot be read make 2, but without a word.
    if complaint.strip() or status not in {0, 1, 2}:
        raise RipgrepError


class _Times:
    """When files were changed, each asked for from its directory: no link is followed."""

    def __init__(self, ctx: ToolContext) -> None:
        self._workspace = ctx.workspace
        self._folders: dict[bytes, int] = {}

    def __enter__(self) -> Self:
        self._root = os.open(self._workspace.root, _FOLDER)
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        os.close(self._root)

    def of(self, raw: bytes, path: str) -> float | None:
        """Return the time in seconds, 0 when it cannot be known; None for what is no file."""
        folder, _, name = raw.rpartition(b"/")
        try:
            fd = self._folders.get(folder)
            if fd is None:
                fd = self._open(folder) if folder else self._root
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:  # gone, too deep, or a link by now
            return self._otherwise(path)
        return status.st_mtime if stat.S_ISREG(status.st_mode) else None

    def _open(self, folder: bytes) -> int:
        """Open a directory from one to the next."""
        names = folder.split(b"/")
        if len(self._folders) + len(names) > MAX_OPEN:
            self._close()
        if len(names) > MAX_OPEN:
            raise OSError
        fd = self._root
        for end in range(1, len(names) + 1):
            known = b"/".join(names[:end])
            if known not in self._folders:
                self._folders[known] = os.open(names[end - 1], _FOLDER, dir_fd=fd)
            fd = self._folders[known]
        return fd

    def _otherwise(self, path: str) -> float | None:
        try:
            inside = self._workspace.resolve(path) == path and self._workspace.is_file(path)
            return self._workspace.stat(path).st_mtime if inside else None
        except WorkspaceError:
            return None

    def _close(self) -> None:
        for fd in self._folders.values():
            os.close(fd)
        self._folders.clear()
