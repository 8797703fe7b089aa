"""A process that searches files on its own; started by `workers`, never imported there.

It reads a job and then batches, a line of JSON each, and answers every batch by a line: the rows
that it found, with their paths, and how many files the system refused. It opens below its working
directory, the root, and follows no link. Names are as the system has them: where one is not UTF-8,
with Python's lone surrogates.
"""

import json
import math
import os
import sys
from typing import Any

from nanocoder_tool_grep.matching import BLOCK_BYTES, Blocks, Matcher, find_rows, make_matcher
from nanocoder_tool_grep.sieve import make_fixed_sieve

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_DIRECTORY

Rows = list[tuple[str, int, str, bool]]


class Worker:
    """Searches batch after batch, with one buffer for all files."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._matcher: Matcher = make_matcher(
            job["pattern"],
            plain=job["plain"],
            ignore_case=job["ignore_case"],
            deadline=math.inf,  # the process that started us ends us
        )
        self._output: str = job["output"]
        self._context: int = job["context"]
        self._most: int = job["most"]
        self._overlap = self._matcher.overlap
        # Each read fills the part after the overlap, which holds the end of the previous read.
        self._buffer = bytearray(self._overlap + BLOCK_BYTES)
        self._pieces = [memoryview(self._buffer)[self._overlap :]]
        self._may_match = make_fixed_sieve(
            self._matcher.needles, self._buffer, folds=self._matcher.folds
        )
        self._root = os.open(".", _FOLDER)
        self._unreadable = 0

    def search(self, batch: list[tuple[str, list[str]]]) -> tuple[Rows, int]:
        """Return path, number, text and whether it matches; of more than *most* the first.

        Beside them, how many files the system refused.
        """
        rows: Rows = []
        self._unreadable = 0
        for folder, names in batch:
            try:
                fd = self._open_folder(folder)
            except FileNotFoundError:  # deleted since it was listed
                continue
            except OSError:
                self._unreadable += len(names)
                continue
            try:
                self._search_names(fd, names, folder, rows)
            finally:
                os.close(fd)
        return rows, self._unreadable

    def _search_names(self, fd: int, names: list[str], folder: str, rows: Rows) -> None:
        for name in names:
            if len(rows) > self._most:
                return
            try:
                self._search_file(fd, name, folder, rows)
            except FileNotFoundError:
                continue
            except OSError:
                self._unreadable += 1

    def _open_folder(self, folder: str) -> int:
        """Open a directory step by step from the root, so that no link is followed."""
        fd = os.dup(self._root)
        for name in folder.split("/") if folder else ():
            try:
                below = os.open(name, _FOLDER, dir_fd=fd)
            finally:
                os.close(fd)
            fd = below
        return fd

    def _search_file(self, folder_fd: int, name: str, folder: str, rows: Rows) -> None:
        fd = os.open(name, _FILE, dir_fd=folder_fd)
        try:
            if self._may_match_file(fd):  # hardly any file
                self._find_lines(fd, f"{folder}/{name}" if folder else name, rows)
        finally:
            os.close(fd)

    def _may_match_file(self, fd: int) -> bool:
        """Tell whether a file can have a match, as `Blocks.may_match` does, but without a copy."""
        overlap, buffer = self._overlap, self._buffer
        size = os.readv(fd, self._pieces)
        if self._may_match(overlap, overlap + size):
            return True
        while size == BLOCK_BYTES and buffer.find(0, overlap) < 0:
            buffer[:overlap] = buffer[-overlap:]
            size = os.readv(fd, self._pieces)
            if self._may_match(0, overlap + size):
                return True
        return False

    def _find_lines(self, fd: int, path: str, rows: Rows) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        blocks = Blocks(
            os.read(fd, BLOCK_BYTES),
            lambda size: os.read(fd, size),
            lambda: os.lseek(fd, 0, os.SEEK_SET),
        )
        for row in find_rows(blocks, self._matcher, self._output, self._context):
            rows.append((path, *row))
            if len(rows) > self._most:
                return


def main() -> None:
    """Answer until there is nothing more to read."""
    worker = Worker(json.loads(sys.stdin.buffer.readline()))
    while line := sys.stdin.buffer.readline():
        answer = worker.search(json.loads(line))
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()
