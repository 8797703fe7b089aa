"""A watchdog process that kills the running commands when this process is killed.

A shell reads from a pipe whose write end only this process has. Each line names the process groups
of all running commands; at the end of the pipe it kills the groups of the last line. It cannot kill
a process that has left its group, and it does nothing if it is killed itself.
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
    """Knows the process groups that must end with this process."""

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
            self._send()

    def remove(self, group: int) -> None:
        """Leave *group* alone: it has ended, and its number may become another's."""
        with self._lock:
            self._groups.discard(group)
            self._send()

    def _send(self) -> None:
        with suppress(OSError):  # the watchdog was killed
            os.write(self._write, f"{' '.join(map(str, self._groups))}\n".encode())


@cache
def watchdog() -> Watchdog:
    """Return the watchdog of this process, which starts at the first call."""
    return Watchdog()
