"""The shell that asks for a sandbox that is ready, and what the command in it gets from it."""

from __future__ import annotations

import os
import resource

from nanocoder_kit_sandbox import starter
from nanocoder_kit_sandbox.standby_view import variables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

LIMITS: Final = 16
STREAMS: Final = (3, 4, 5)
"""The client has its streams a second time, by these numbers."""
_NAMES_AT, _COUNT_AT = 5, 6
_OWNER: Final = (b"Uid", b"Gid", b"Groups")
_MARK: Final = resource.RLIMIT_RTTIME
"""The limit by which nanocoder tells the processes of a call from others."""


class Client(starter.Client):
    """The client with the number *process*, which asks for the sandbox *name*."""

    def request(self, limits: list[tuple[int, int]]) -> Request:
        """Return what it asks for, with what it has open; *limits* are those of this process.

        Raises: OSError or ValueError where it has something that a command here cannot have.
        """
        status, own = self._file("status"), starter.read("/proc/self/status")
        if any(_fact(status, name) != _fact(own, name) for name in _OWNER):
            raise PermissionError("another user's")
        its = [resource.prlimit(self._process, kind) for kind in range(LIMITS)]
        nice = os.getpriority(os.PRIO_PROCESS, self._process)
        mark, its[_MARK] = its[_MARK], limits[_MARK]
        if its != limits or nice != os.getpriority(os.PRIO_PROCESS, 0):
            raise ValueError("limits of its own")
        words = self._command_line
        entries = (entry.partition(b"=") for entry in self._file("environ").split(b"\0"))
        return Request(
            names=[name for name in os.fsdecode(words[_NAMES_AT]).split("/") if name],
            argv=words[len(words) - int(words[_COUNT_AT]) :],
            streams=[self._keep(self._descriptor(number)) for number in STREAMS],
            environment={name: value for name, sign, value in entries if name and sign},
            folder=os.fsencode(os.readlink(f"/proc/{self._process}/cwd")),
            umask=int(_fact(status, b"Umask"), 8),
            limits={_MARK: mark},
            watched=(self._handle, os.pidfd_open(int(_fact(status, b"PPid")))),
        )


class Request:
    """One command, and what its client has."""

    def __init__(
        self,
        *,
        names: list[str],
        argv: list[bytes],
        streams: list[int],
        environment: dict[bytes, bytes],
        folder: bytes,
        umask: int,
        limits: dict[int, tuple[int, int]],
        watched: tuple[int, ...],
    ) -> None:
        self.names = names
        self.streams = streams
        self.watched = watched
        self._argv = argv
        self._environment = environment
        self._limits = limits
        self._place = {"folder": folder, "umask": umask}

    def words(self, described: dict[str, Any]) -> dict[str, Any]:
        """Return what the program inside needs to start the command, by what is *described*."""
        variables = {**self._environment, **variables_of(described["options"])}
        limits = {kind: (limit, limit) for kind, limit in described["limits"].items()}
        return {
            **self._place,
            "argv": [*map(os.fsencode, described["bridge"]), *self._argv],
            "environment": {name: text for name, text in variables.items() if text is not None},
            "limits": {**self._limits, **limits},
            "note": described["note"],
            "sandbox": described["sandbox"],
        }


def _fact(status: bytes, name: bytes) -> bytes:
    """Return a value from what the system says about a process; raises ValueError."""
    _, sign, after = status.partition(b"\n%b:\t" % name)
    if not sign:
        raise ValueError(name)
    return after.partition(b"\n")[0]
