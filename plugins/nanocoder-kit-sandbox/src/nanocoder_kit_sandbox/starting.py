"""What asks the process that stays, `starter`, to start a command: a shell, which is the client."""

import itertools
import os
import select
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder_kit_sandbox.limits import SHELL
from nanocoder_kit_sandbox.starter import ASK, CLAIM, REFUSAL, REQUEST_BYTES

READY_S: Final = 2.0
"""How long the process may take until it is ready; without it each command takes longer."""
END_S: Final = 1.0
# A redirection of a command that is built in replaces the shell's own streams for a moment, so what
# is taken over are copies of them. The second `read` waits until the other process has ended. An
# argument vector that is run twice finds its request claimed, or gone.
CLIENT: Final = f"""\
set -C
if {{ true >"$0/$1{CLAIM}"; }} 2>/dev/null && [ -p "$0/$1" ]; then
  exec 3<&0 4>&1 5>&2
  printf '%-{REQUEST_BYTES - 1}s\\n' "$$ $1 $2" >"$0/{ASK}"
  code=
  {{ read -r code; read -r end; }} <"$0/$1"
  [ "$code" = {REFUSAL} ] || exit "${{code:-137}}"
  exec 3<&- 4>&- 5>&-
fi
shift 2
exec "$@"
"""


class Starter:
    """The process of one session that starts its commands; methods may be called from any thread.

    *argv* runs it for *folder*, in which the rules of commands are.
    """

    def __init__(self, argv: Sequence[str], folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        self._guard = threading.Lock()
        self._is_ready = False
        os.mkfifo(folder / ASK, 0o600)
        self._process = subprocess.Popen(
            [*argv, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,  # a Ctrl-C is for us alone
        )

    def through(self, rules: str, argv: list[str]) -> list[str]:
        """Return the argument vector that has *argv*, which starts a command by *rules*, done.

        Where the process is not there, *argv* itself does it.
        """
        if not self._runs():
            return argv
        name = str(next(self._numbers))
        os.mkfifo(self._folder / name, 0o600)
        return [SHELL, "-c", CLIENT, str(self._folder), name, rules, *argv]

    def close(self) -> None:
        """End the process; commands that still run go on, and end with us."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
            return
        self._process.kill()
        self._process.wait()

    def _runs(self) -> bool:
        with self._guard:
            if not self._is_ready and self._process.stdout is not None:
                poll = select.poll()
                poll.register(self._process.stdout, select.POLLIN)
                self._is_ready = bool(poll.poll(READY_S * 1_000))
            return self._is_ready and self._process.poll() is None
