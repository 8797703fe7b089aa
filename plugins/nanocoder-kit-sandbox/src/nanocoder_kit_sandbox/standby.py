"""Keeps a sandbox of bubblewrap ready, so that a command does not wait until one is made.

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
    """The sandbox that is ready for the next command of a session, and the process that makes it.

    *python* runs the programs; their files are in *folder*. Methods may be called from any thread.
    """

    def __init__(self, python: str, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(mode=0o700)
        self._guard = threading.Lock()
        self._number = self._failures = 0
        self._next: dict[str, Any] | None = None
        self._waiting: dict[str, Any] | None = None
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
            is_ready = self._take(described)
            number = str(self._number)
        if not is_ready:
            return list(fresh)
        words = (str(self._folder), number, "/".join(names), str(count))
        return [SHELL, "-c", CLIENT, *words, *fresh]

    def prepare(self) -> None:
        """Have a sandbox made for the next command, if none is ready or being made."""
        with self._guard:
            if self._next is None or self._waiting is not None or self._failures >= MOST_FAILURES:
                return
            if self._process is None or self._process.stdin is None:
                return
            self._number += 1
            try:
                self._path(MADE).write_bytes(marshal.dumps(self._next))
                self._process.stdin.write(f"{self._number}\n".encode())
                self._process.stdin.flush()
            except OSError:  # the process has ended
                self._failures += 1
            else:
                self._waiting = self._next

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

    def _take(self, described: dict[str, Any]) -> bool:
        """Take the sandbox, if it is ready and as *described*; have another one ended."""
        if self._waiting is None:
            return False
        if described == self._waiting:
            return self._take_ready()
        self._waiting = None
        if not self._rename(MADE, UNWANTED):
            with suppress(OSError):
                ask = os.open(self._path(ASK), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                os.write(ask, f"{END}\n".encode())
                os.close(ask)
        return False

    def _take_ready(self) -> bool:
        if self._rename(READY, TAKEN):
            self._waiting, self._failures = None, 0
            return True
        if self._path(FAILED).exists():
            self._waiting, self._failures = None, self._failures + 1
        return False

    def _path(self, name: str) -> Path:
        return self._folder / f"{self._number}.{name}"

    def _rename(self, name: str, other: str) -> bool:
        try:
            self._path(name).rename(self._path(other))
        except OSError:
            return False
        return True
