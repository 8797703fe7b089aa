"""Hand a command line to a server that forks for it: `python -I -S prefork.py SOCKET WORD…`.

To who started it, this process looks like the command: files, directory, environment variables and
exit code are the same. It imports as little as possible, since it starts thousands of times.
"""

import _signal
import _socket
import marshal
import os
import sys


def main(address: str, words: list[str]) -> None:
    """Send what makes up this process, then end as the command does."""
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(address)
    text = marshal.dumps((words, dict(os.environb.items()), os.umask(0)))
    files = [0, 1, 2, os.open(".", os.O_RDONLY)]
    rights = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    head = len(text).to_bytes(4, "big")
    connection.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    connection.sendall(text)
    for file in files:
        os.close(file)  # so that a pipe ends when the command closes it
    status = int(connection.recv(16))
    if status < 0:
        _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
