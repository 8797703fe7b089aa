"""The way from inside a sandbox to the proxy outside: a port of one's own becomes its socket.

It is run as a program, inside: `bridge.py SOCKET PORT PROGRAM …`. It imports only the standard
library, listens on the port, and turns into the program; a child carries the bytes.
"""

import os
import select
import socket
import sys
import threading

PIECE_BYTES = 65_536
BACKLOG = 64
NAME = "bwrap"
"""The name of this process; that of bubblewrap itself has the same."""


def main(path: str, port: int, argv: list[str]) -> None:
    """Listen on *port* for the socket at *path*, and run *argv* in this process."""
    server = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    if os.fork():
        server.close()
        os.execvp(argv[0], argv)  # noqa: S606 - no shell reads the words
    # It is a part of the sandbox, and ends with it: nothing that the program left running.
    with open("/proc/self/comm", "w", encoding="ascii") as name:
        name.write(NAME)
    # Output that is waited for ends with the program, not with this child.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    while True:
        client, _ = server.accept()
        threading.Thread(target=carry, args=[client, path], daemon=True).start()


def carry(client: socket.socket, path: str) -> None:
    """Copy between *client* and the socket at *path* until both have ended."""
    with client, socket.socket(socket.AF_UNIX) as proxy:
        try:
            proxy.connect(path)
            relay(client, proxy)
        except OSError:
            return


def relay(client: socket.socket, server: socket.socket, idle_s: float | None = None) -> None:
    """Copy what comes from either side to the other, until both have ended.

    Or until both are silent for *idle_s* seconds. Raises: OSError.
    """
    other = {client: server, server: client}
    reading = [client, server]
    while reading:
        ready = select.select(reading, [], [], idle_s)[0]
        if not ready:
            return
        for each in ready:
            if piece := each.recv(PIECE_BYTES):
                other[each].sendall(piece)
            else:
                reading.remove(each)
                other[each].shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
