"""What asks the process that stays, `starter`, to start a command: a shell, which is the client.

That process, or one that it has forked, may be killed while a client waits. All of them hold the
end of one pipe until the client has its answer open; so when the pipe ends, who still waits is told
to start its command without them.
"""

import itertools
import os
import stat
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder_kit_sandbox.limits import SHELL
from nanocoder_kit_sandbox.starter import ASK, CLAIM, NEXT, REFUSAL, REQUEST_BYTES

READY_S: Final = 2.0
"""How long the process may take until it is ready; without it each command takes longer."""
END_S: Final = 1.0
ENVIRONMENT: Final = {"LD_BIND_NOW": "1"}
"""Otherwise each process that is forked looks up once more where the functions of libraries are."""
# A redirection of a command that is built in replaces the shell's own streams for a moment, so what
# is taken over are copies of them. The shell can read until it has opened the pipe to write, too;
# it closes that as soon as the other process has the pipe open, so that it sees that one's end. An
# argument vector that is run twice finds its request claimed, or gone.
CLIENT: Final = f"""\
set -C
if {{ true >"$0/$1{CLAIM}"; }} 2>/dev/null && [ -p "$0/$1" ]; then
  exec 3<&0 4>&1 5>&2 6<>"$0/$1" 7<"$0/$1"
  printf '%-{REQUEST_BYTES - 1}s\\n' "$$ $1 $2" >"$0/{ASK}"
  read -r code <&7
  exec 6>&-
  [ "$code" = {REFUSAL} ] || {{ code=; read -r code <&7; }}
  [ "$code" = {REFUSAL} ] || exit "${{code:-137}}"
  exec 3<&- 4>&- 5>&- 7<&-
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
        self._is_ready = threading.Event()
        self._has_ended = False
        os.mkfifo(folder / ASK, 0o600)
        # As long as it is open here, a client that asks waits for its answer only.
        self._open = [os.open(folder / ASK, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)]
        self._process = subprocess.Popen(
            [*argv, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,  # a Ctrl-C is for us alone
        )
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def through(self, rules: str, argv: list[str]) -> list[str]:
        """Return the argument vector that has *argv*, which starts a command by *rules*, done.

        Where the process is not there, *argv* itself does it.
        """
        with self._guard:
            if not self._runs():
                return argv
            name = str(next(self._numbers))
            with suppress(BlockingIOError):  # it does not read
                os.write(self._open[0], f"{NEXT} {rules}".ljust(REQUEST_BYTES).encode())
            os.mkfifo(self._folder / name, 0o600)
        return [SHELL, "-c", CLIENT, str(self._folder), name, rules, *argv]

    def close(self) -> None:
        """End the process; commands that still run go on, and end with us."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._watching.join(END_S)
        with self._guard:
            for handle in self._open:
                os.close(handle)
            self._open = []

    def _runs(self) -> bool:
        self._is_ready.wait(READY_S)
        return self._is_ready.is_set() and not self._has_ended and self._process.poll() is None

    def _watch(self) -> None:
        """Wait until no process can answer any more, then answer those that still ask."""
        pipe = self._process.stdout
        if pipe is None:
            return
        with pipe:
            pipe.read(1)  # nothing, where it could not start
            self._is_ready.set()
            pipe.read()
        with self._guard, suppress(OSError):  # who removed the folder has removed what is asked
            self._has_ended = True
            for path in filter(_is_pipe, self._folder.iterdir()):
                # It stays open, and so what is in it can be read by a client that comes later.
                answer = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
                self._open.append(answer)
                os.write(answer, f"{REFUSAL}\n".encode())


def _is_pipe(path: Path) -> bool:
    return path.name.isdigit() and stat.S_ISFIFO(path.lstat().st_mode)
