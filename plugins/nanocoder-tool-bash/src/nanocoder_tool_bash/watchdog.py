"""What ends the running commands when this process is killed and cannot do it itself.

A shell waits at the end of a pipe that only this process holds. Each line that it reads names the
groups of all running commands; when the pipe ends without an empty one before, it kills them. What
left its group by then, and a watchdog that was killed itself, are beyond it.
"""

import os
import threading
from contextlib import suppress
from functools import cache
from typing import Final

SHELL: Final = "/bin/sh"
SCRIPT: Final = """
while read -r line; do groups=$line; done
for group in $groups; do kill -KILL "-$group"; done
"""


class Watchdog:
    """Knows the groups that are to die with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        read, self._write = os.pipe()
        try:
            os.posix_spawn(
                SHELL,
                [SHELL, "-c", SCRIPT],
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, read, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setpgroup=0,  # a Ctrl-C is for us alone
            )
        finally:
            os.close(read)

    def add(self, group: int) -> None:
        """End *group* with this process."""
        with self._lock:
            self._groups.add(group)
            self._tell()

    def remove(self, group: int) -> None:
        """Leave *group* alone: it has ended, and its number may become another's."""
        with self._lock:
            self._groups.discard(group)
            self._tell()

    def _tell(self) -> None:
        with suppress(OSError):  # somebody killed it
            os.write(self._write, f"{' '.join(map(str, self._groups))}\n".encode())


@cache
def watchdog() -> Watchdog:
    """Return the one of this process, starting it."""
    return Watchdog()
