"""A command in a terminal of its own, as a fork of a process with nanocoder imported."""

import codecs
import fcntl
import os
import select
import struct
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pexpect
from command_line import fork_server
from prefork import INT, request

KEYS_S = 0.05
END_S = 5.0


class ForkedTerminal:
    """Has what tests use of `pexpect.spawn`, without its pauses at the end."""

    def __init__(
        self, words: Sequence[str], cwd: str, env: dict[str, str], dimensions: tuple[int, int]
    ) -> None:
        self.cwd = cwd
        self.exitstatus: int | None = None
        self.signalstatus: int | None = None
        self.child_fd, follower = os.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", *dimensions, 0, 0))
        variables = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
        files = [follower, follower, follower, os.open(Path(cwd), os.O_RDONLY)]
        umask = os.umask(0o022)
        os.umask(umask)
        self._connection = request(fork_server(), list(words), variables, umask, files)
        self.pid = int.from_bytes(self._connection.recv(INT), "big")
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def read_nonblocking(self, size: int, timeout: float) -> str:
        """Return what was written; raises as pexpect does when nothing comes, or the end."""
        if not select.select([self.child_fd], [], [], timeout)[0]:
            raise pexpect.TIMEOUT("")
        try:
            return self._decode(os.read(self.child_fd, size))
        except OSError as error:  # nobody has the terminal open
            raise pexpect.EOF("") from error

    def send(self, text: str) -> None:
        """Type *text*, after a pause: what comes at once with the line before is a paste."""
        time.sleep(KEYS_S)
        os.write(self.child_fd, text.encode())

    def getecho(self) -> bool:
        """Return True if the terminal shows what is typed."""
        return bool(termios.tcgetattr(self.child_fd)[3] & termios.ECHO)

    def kill(self, number: int) -> None:
        """Send a signal to the command."""
        os.kill(self.pid, number)

    def wait(self) -> None:
        """Wait for the end, and keep how the command ended."""
        if self.exitstatus is self.signalstatus is None:
            status = int.from_bytes(self._connection.recv(INT), "big", signed=True)
            self.exitstatus, self.signalstatus = (None, -status) if status < 0 else (status, None)

    def close(self, *, force: bool) -> None:
        """Close the terminal, which ends the command; kill it if it goes on."""
        os.close(self.child_fd)
        self._connection.settimeout(END_S if force else None)
        with suppress(TimeoutError):
            self.wait()
        self._connection.close()  # the server kills a command that nobody waits for
