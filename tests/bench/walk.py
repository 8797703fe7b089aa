"""Trace the way of one tool call, from the turn to the handler: its files, and returns to them.

    python tests/bench/walk.py [--files]

A warm session calls edit_file. A return is a change to a file that the trace was in before, so
files and returns tell how often a reader turns a page. `core` counts the files of `nanocoder`
alone: a change from one of them to another, however many calls of other packages lie between.
"""

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final

import nanocoder
from attrs import frozen
from nanocoder import Event, open_session

CORE: Final = str(Path(nanocoder.__file__).parent)
FIRST: Final = "turn"
LAST: Final = "edit_file"
EDITS: Final = [("one", "two"), ("two", "three")]


@frozen
class Walk:
    """The files of a trace in the order in which they were entered, without repetition in a row."""

    files: tuple[str, ...]

    @property
    def different(self) -> int:
        """How many files there are."""
        return len(set(self.files))

    @property
    def returns(self) -> int:
        """How often the trace came back to a file."""
        return len(self.files) - self.different

    def within(self, folder: str) -> "Walk":
        """Return the part of it in *folder*."""
        return Walk(tuple(_without_repetition([f for f in self.files if f.startswith(folder)])))


def _without_repetition(files: Sequence[str]) -> list[str]:
    return [file for before, file in zip(["", *files], files, strict=False) if file != before]


def trace_of_call() -> Walk:
    """Return the walk of the second call of edit_file in a session."""
    entered: list[str] = []
    is_walking, calls_before = False, 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal is_walking
        if event != "call":
            return
        code = frame.f_code
        if code.co_name == FIRST and code.co_filename.endswith("executor.py"):
            is_walking = is_walking or calls_before == len(EDITS)
        if is_walking and code.co_filename.endswith(".py"):
            entered.append(code.co_filename)
        if code.co_name == LAST:
            is_walking = False

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_text("one\n")
        with open_session(folder, mode="edits", persist=False, model="scripted/x") as session:
            # Before the first call: its threads stay for the next one.
            threading.setprofile(note)
            sys.setprofile(note)
            _end(session.call("read_file", {"path": "a.txt"}))
            for old, new in EDITS:
                calls_before += 1
                words = {"path": "a.txt", "old_string": old, "new_string": new}
                _end(session.call("edit_file", words))
            sys.setprofile(None)
            threading.setprofile(None)
        if (Path(folder) / "a.txt").read_text(encoding="utf-8") != "three\n":
            raise SystemExit("the calls did not edit the file")
    return Walk(tuple(_without_repetition(entered)))


def _end(events: Any) -> list[Event]:
    return list(events)


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", action="store_true", help="list the core's files, too")
    arguments = parser.parse_args()
    walk = trace_of_call()
    for name, part in (("all", walk), ("core", walk.within(CORE))):
        print(f"{name}: {part.different} files, {part.returns} returns")
        if arguments.files:
            for file, count in Counter(part.files).most_common():
                print(f"  {count:4} {file}")


if __name__ == "__main__":
    main()
