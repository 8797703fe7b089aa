"""The command line of docker or podman for one session."""

import os
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from nanocoder import Access, SessionInfo
from nanocoder_kit_sandbox import Inside, Mount, MountAccess
from nanocoder_kit_sandbox.layers import OwnTmp

from nanocoder_sandbox_container.program import environment, find_engine
from nanocoder_sandbox_container.settings import ContainerSettings

HARDENED: Final = (
    *("--rm", "--init", "--pull", "never", "--read-only", "--cap-drop", "ALL"),
    *("--security-opt", "no-new-privileges", "--ipc", "private", "--entrypoint", ""),
)
# Variables go in by name, without those of the machine.
SCRIPT: Final = (
    "engine=$1; shift; "
    "names=$(env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'"
    " | grep -vxE 'PATH|HOME|PWD|SHLVL|OLDPWD|_|TMPDIR|TMP|TEMP|HOSTNAME|DOCKER_HOST|XDG_.*'); "
    'for name in $names; do set -- --env "$name" "$@"; done; '
    'exec "$engine" run --workdir "$PWD" "$@"'
)
_END_S: Final = 30.0
_MEGABYTE: Final = 1 << 20


class Containers:
    """The containers of one session; methods may be called from any thread."""

    def __init__(self, session: SessionInfo, settings: ContainerSettings) -> None:
        self._settings = settings
        self._root = str(session.cwd)
        self._inside = Inside(session, settings)
        self._own_tmp = OwnTmp(self._inside.files.tmp, self._root)
        self._label = f"nanocoder-session={uuid.uuid4().hex}"

    def wrap(
        self, argv: Sequence[str], ports: Sequence[int], access: Access = Access.WRITE
    ) -> list[str]:
        """Return the argv that runs *argv* in a container; raises ToolError."""
        mounts, files = self._inside.mounts(access), self._inside.files
        options = [
            *HARDENED,
            *("--label", self._label, "--user", f"{os.getuid()}:{os.getgid()}"),
            # As long as the engine's client names it, something counts as running inside.
            *("--label", f"nanocoder-lock={files.lock}"),
            *("--network", "bridge" if self._settings.network else "none"),
            *self._limits(),
            *("--env", "HOME=/tmp", "--volume", f"{files.tmp}:/tmp"),
            *("--volume", f"{self._root}:{self._root}{':ro' if access is Access.READ else ''}"),
            *_options(mounts),
        ]
        if self._settings.network:
            options += [f"--publish=127.0.0.1:{port}:{port}" for port in ports]
        engine = find_engine(self._settings.engine)
        start = ["/bin/sh", "-c", SCRIPT, "/bin/sh", engine]
        return [*start, *options, self._settings.image, *argv]

    def changes(self) -> list[str]:
        """Undo what programs inside left that others outside would act by; a line for each.

        A line also says what was written to a /tmp that only programs inside see.
        """
        return self._inside.changes() + self._own_tmp.describe_new()

    def close(self) -> None:
        """End the session's containers, those that outlived their command too."""
        engine = find_engine(self._settings.engine)
        listing = self._ask(engine, "ps", "--quiet", "--filter", f"label={self._label}")
        if outlived := listing.split():
            self._ask(engine, "rm", "--force", *outlived)
        self._inside.close()

    def _ask(self, *argv: str) -> str:
        try:
            return subprocess.run(
                argv,
                env=environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_END_S,
                check=False,
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""

    def _limits(self) -> Iterator[str]:
        settings = self._settings
        if settings.memory_mb:
            yield from ("--memory", f"{settings.memory_mb}m")
        if settings.processes:
            yield from ("--pids-limit", str(settings.processes))
        size, files = settings.file_mb * _MEGABYTE, settings.open_files
        for name, limit in (("cpu", settings.cpu_s), ("nofile", files), ("fsize", size)):
            if limit:
                yield from ("--ulimit", f"{name}={limit}:{limit}")


def _options(mounts: Iterable[Mount]) -> Iterator[str]:
    for mount in mounts:
        if mount.access is MountAccess.NOTHING:
            yield from ("--tmpfs", f"{mount.path}:ro,mode=000")
        elif mount.access is MountAccess.PASSABLE:
            yield from ("--tmpfs", f"{mount.path}:mode=111")
        else:
            end = ":ro" if mount.access is MountAccess.READ else ""
            yield from ("--volume", f"{mount.source}:{mount.path}{end}")
