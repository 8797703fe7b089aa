"""Keeps sandboxes of bubblewrap ready, so that a command does not wait until one is made.

The places that a command may see are listed anew for each, and a sandbox that is ready gets the
command only if it was made for the same list. `standby_attendant` looks at what is there.
"""

import marshal
import os
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from nanocoder_kit_sandbox import standby_attendant, standby_inner
from nanocoder_kit_sandbox.limits import SHELL
from nanocoder_kit_sandbox.programs import program_of
from nanocoder_kit_sandbox.standby_attendant import (
    ANSWER,
    ASK,
    BEGUN,
    CLAIM,
    END,
    FAILED,
    MADE,
    READY,
    REFUSAL,
    TAKEN,
    UNWANTED,
)

MOST_FAILURES: Final = 3
"""After so many sandboxes in turn that could not be made no more are tried."""
MOST_READY: Final = 2
"""So many are kept ready once a command began before the call of the one before was over."""
END_S: Final = 1.0
# A redirection of a command that is built in replaces the shell's own streams for a moment, so what
# is taken over are copies of them. The answer is opened for reading alone last: so `read` ends as
# soon as the attendant does, and no opening waits for one that is gone.
CLIENT: Final = f"""\
set -C
if [ -p "$0/$1.{ASK}" ] && {{ true >"$0/$1.{CLAIM}"; }} 2>/dev/null; then
  exec 3<&0 4>&1 5>&2 6<>"$0/$1.{ASK}" 7<>"$0/$1.{ANSWER}" 8<"$0/$1.{ANSWER}" 7>&-
  echo $$ >&6
  exec 6>&-
  read -r code <&8 || code={REFUSAL}
  [ "$code" != {BEGUN} ] || read -r code <&8
  [ "$code" = {REFUSAL} ] || exit "${{code:-137}}"
  exec 3<&- 4>&- 5>&- 8<&-
fi
shift 3
exec "$@"
"""


class Standby:
    """The sandboxes ready for the next commands of a session, and the process that makes them.

    *python* runs the programs; their files are in *folder*. Methods may be called from any thread.
    """

    def __init__(self, python: str, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(mode=0o700)
        self._guard = threading.Lock()
        self._number = self._failures = self._begun = 0
        self._wanted = 1
        self._next: dict[str, Any] | None = None
        self._waiting: dict[int, dict[str, Any]] = {}
        self._process = self._start(python)

    def _start(self, python: str) -> "subprocess.Popen[bytes] | None":
        # Both programs are read now, before a command could change them.
        inner = Path(standby_inner.__file__).read_text("utf-8")
        try:
            return subprocess.Popen(
                [*program_of(python, standby_attendant), str(self._folder), inner],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # a Ctrl-C is for us alone
            )
        except OSError:  # then each command gets a sandbox that is new
            return None

    def through(
        self, described: dict[str, Any], names: Iterable[str], count: int, fresh: Sequence[str]
    ) -> list[str]:
        """Return the argument vector that runs the last *count* words of *fresh*, which runs them.

        It does so in the sandbox that is ready, if that is as *described*, and holds *names* there.
        """
        with self._guard:
            self._next = described
            self._begun += 1
            if self._begun > 1:
                self._wanted = MOST_READY
            number = self._take(described)
        if not number:
            return list(fresh)
        words = (str(self._folder), str(number), "/".join(names), str(count))
        return [SHELL, "-c", CLIENT, *words, *fresh]

    @property
    def is_used(self) -> bool:
        """Whether it is known what a sandbox of the session is like."""
        return self._next is not None

    def prepare(self, described: dict[str, Any] | None = None) -> None:
        """Have sandboxes made for the next commands, as *described*, or as the latest one was.

        Those that are ready, or being made, count if they are such.
        """
        with self._guard:
            if described is None:
                self._begun = 0
            self._next = described or self._next
            if self._next is None:
                return
            self._end_others(self._next)
            while len(self._waiting) < self._wanted and self._make(self._next):
                pass

    def _make(self, described: dict[str, Any]) -> bool:
        if self._failures >= MOST_FAILURES or self._process is None or self._process.stdin is None:
            return False
        self._number += 1
        try:
            self._path(MADE).write_bytes(marshal.dumps(described))
            self._process.stdin.write(f"{self._number}\n".encode())
            self._process.stdin.flush()
        except OSError:  # the process has ended
            self._failures += 1
            return False
        self._waiting[self._number] = described
        return True

    def close(self) -> None:
        """End the process and the sandbox."""
        with self._guard:
            process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _take(self, described: dict[str, Any]) -> int:
        """Return the number of a sandbox that is ready and as *described*, now taken, or 0."""
        self._end_others(described)
        for number in sorted(self._waiting):
            if self._rename(number, READY, TAKEN):
                del self._waiting[number]
                self._failures = 0
                return number
            if self._path(FAILED, number).exists():
                del self._waiting[number]
                self._failures += 1
        return 0

    def _end_others(self, described: dict[str, Any]) -> None:
        """End the sandboxes that are not as *described*."""
        others = [number for number, its in self._waiting.items() if its != described]
        for number in others:
            del self._waiting[number]
            if not self._rename(number, MADE, UNWANTED):
                with suppress(OSError):
                    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
                    ask = os.open(self._path(ASK, number), flags)
                    os.write(ask, f"{END}\n".encode())
                    os.close(ask)

    def _path(self, name: str, number: int = 0) -> Path:
        return self._folder / f"{number or self._number}.{name}"

    def _rename(self, number: int, name: str, other: str) -> bool:
        try:
            self._path(name, number).rename(self._path(other, number))
        except OSError:
            return False
        return True
