"""Hand a command line to a server that forks for it: `python -I -S prefork.py SOCKET WORD…`.

To who started it, this process looks like the command: files, directory, environment variables and
exit code are the same. It imports as little as possible, since it starts thousands of times.
"""

import _signal
import _socket
import marshal
import os
import sys

INT = 4
"""Bytes of a number: the size of a request, the fork's process id, its exit code."""


def request(
    address: str, words: list[str], variables: dict[bytes, bytes], umask: int, files: list[int]
) -> _socket.socket:
    """Ask for a fork that has *files*: the standard streams and the working directory.

    Returns the connection, which brings the process id, and the exit code at the end.
    """
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(address)
    text = marshal.dumps((words, variables, umask))
    rights = b"".join(file.to_bytes(INT, sys.byteorder) for file in files)
    ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)]
    connection.sendmsg([len(text).to_bytes(INT, "big")], ancillary)
    connection.sendall(text)
    for file in set(files):
        os.close(file)  # so that a pipe ends when the command closes it
    return connection


def main(address: str, words: list[str]) -> None:
    """Send what makes up this process, then end as the command does."""
    variables = dict(os.environb.items())
    files = [0, 1, 2, os.open(".", os.O_RDONLY)]
    connection = request(address, words, variables, os.umask(0), files)
    connection.recv(INT)
    status = int.from_bytes(connection.recv(INT), "big", signed=True)
    if status < 0:
        _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
