"""The command lines of sandbox-exec for one session."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from nanocoder import Access, SessionInfo
from nanocoder_files import PROTECTED_NAMES, protection_of
from nanocoder_kit_process.trees import remove_tree
from nanocoder_kit_sandbox import Settings, Survey, hidden_places, problem_of

from nanocoder_sandbox_seatbelt.profile import Boundary, profile

PROGRAM: Final = "/usr/bin/sandbox-exec"
LIMITS: Final = 'ulimit -t "$1"; ulimit -n "$2"; ulimit -u "$3"; ulimit -f "$4"'
"""Some shells have no limit of processes."""
START: Final = f'{{ {LIMITS}; }} 2>/dev/null; shift 4; exec "$@"'
UNLIMITED: Final = "unlimited"
BLOCKS_PER_MEGABYTE: Final = 2_048
TRIAL_S: Final = 10.0


class Seatbelt:
    """The sandbox of one session; methods may be called from any thread."""

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._session, self._settings = session, settings
        self._root = str(session.cwd)
        self._survey = Survey(session.cwd)
        # Seatbelt compares real paths: /tmp, and what is below /var, are links.
        self._tmp = os.path.realpath(tempfile.mkdtemp(prefix="nanocoder-"))

    def wrap(
        self,
        argv: Sequence[str],
        ports: Sequence[int],  # noqa: ARG002 - with a network, every port can be reached
        access: Access,
    ) -> list[str]:
        """Return the argv that runs *argv* inside; raises ToolError."""
        rules = profile(self.boundary(access))
        start = ["/bin/sh", "-c", START, "/bin/sh", *_limits(self._settings)]
        return [PROGRAM, "-p", rules, "/usr/bin/env", *self._variables(), *start, *argv]

    def boundary(self, access: Access) -> Boundary:
        """Return the rights of a command that starts now; raises ToolError."""
        # "writable" names paths besides the workspace, and protected ones in it.
        outside = [name for name in self._settings.writable if name[:1] in "/~"]
        released = [name for name in self._settings.writable if protection_of(name)]
        names = self._survey.look(self._session.readable.now(), frozenset(released))
        secret = [f"{self._root}/{name}" for name in names.secret]
        places = hidden_places(self._session, self._settings)
        return Boundary(
            self._root,
            is_writable=access is not Access.READ,
            writable=(self._tmp, *_real(outside)),
            protected=tuple(f"{self._root}/{name}" for name in (*names.protected, *names.targets)),
            names=PROTECTED_NAMES,
            released=tuple(f"{self._root}/{name}" for name in released if name not in outside),
            # A secret's name may be a link; its target is as secret.
            hidden=tuple(dict.fromkeys((*places, *secret, *_real(secret)))),
            has_network=self._settings.network,
        )

    def changes(self) -> list[str]:
        """Return nothing: what may not take effect outside cannot be made."""
        return []

    def close(self) -> None:
        """Remove the session's folder for temporary files."""
        with suppress(OSError):
            remove_tree(self._tmp)

    def _variables(self) -> Iterator[str]:
        yield from ("-u", "DOCKER_HOST", "-u", "SSH_AUTH_SOCK", "GIT_OPTIONAL_LOCKS=0")
        for name in ("TMPDIR", "TMP", "TEMP"):
            yield f"{name}={self._tmp}"
        yield from (f"XDG_CACHE_HOME={self._tmp}/.cache", f"npm_config_cache={self._tmp}/.npm")


@cache
def problem() -> str:
    """Return the reason Seatbelt cannot be used here, or "" if it can."""
    if not os.access(PROGRAM, os.X_OK):
        return f"there is no program {PROGRAM}"
    trial = profile(Boundary("/private/tmp", is_writable=True, names=PROTECTED_NAMES))
    return problem_of("sandbox-exec", [PROGRAM, "-p", trial, "/usr/bin/true"], {}, TRIAL_S)


def _real(paths: Sequence[str]) -> Iterator[str]:
    return (os.path.realpath(Path(path).expanduser()) for path in paths)


def _limits(settings: Settings) -> Iterator[str]:
    file_blocks = settings.file_mb * BLOCKS_PER_MEGABYTE
    limits = (settings.cpu_s, settings.open_files, settings.processes, file_blocks)
    return (str(limit or UNLIMITED) for limit in limits)
