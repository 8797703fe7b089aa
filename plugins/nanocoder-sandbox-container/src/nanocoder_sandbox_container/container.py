"""The command line of docker or podman for one session."""

import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from typing import Final

from nanocoder import SessionInfo
from nanocoder_kit_sandbox import Place, Survey, Surveyed
from nanocoder_kit_sandbox.place import COMMONDIR
from nanocoder_kit_sandbox.survey import ancestors

from nanocoder_sandbox_container.program import environment, find_engine
from nanocoder_sandbox_container.settings import ContainerSettings

HARDENED: Final = (
    *("--rm", "--init", "--pull", "never", "--read-only", "--cap-drop", "ALL"),
    *("--security-opt", "no-new-privileges", "--ipc", "private", "--entrypoint", ""),
)
# The lock is held by the engine's client. Variables go in by name, without those of the machine.
SCRIPT: Final = (
    'lock=$1; engine=$2; shift 2; exec 9<"$lock"; flock -s 9 || exit 125; '
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
        self._session = session
        self._settings = settings
        self._root = str(session.cwd)
        self._place = Place(session)
        self._survey = Survey(session.cwd)
        self._label = f"nanocoder-session={uuid.uuid4().hex}"

    def wrap(self, argv: Sequence[str], ports: Sequence[int]) -> list[str]:
        """Return the argument vector that runs *argv* in a container; raises ToolError."""
        writable = frozenset(self._settings.writable)
        names = self._survey.look(self._session.readable.now(), writable)
        names = self._place.without_held(names)
        self._place.hold(names.missing, git=names.git)
        options = [
            *HARDENED,
            *("--label", self._label, "--user", f"{os.getuid()}:{os.getgid()}"),
            *("--network", "bridge" if self._settings.network else "none"),
            *self._limits(),
            *("--env", "HOME=/tmp", "--volume", f"{self._place.tmp}:/tmp"),
            *("--volume", f"{self._root}:{self._root}"),
            *self._mounts(names),
        ]
        if self._settings.network:
            options += [f"--publish=127.0.0.1:{port}:{port}" for port in ports]
        engine = find_engine(self._settings.engine)
        start = ["/bin/sh", "-c", SCRIPT, "/bin/sh", str(self._place.lock), engine]
        return [*start, *options, self._settings.image, *argv]

    def close(self) -> None:
        """End the session's containers, those that outlived their command too."""
        engine = find_engine(self._settings.engine)
        listing = self._ask(engine, "ps", "--quiet", "--filter", f"label={self._label}")
        if outlived := listing.split():
            self._ask(engine, "rm", "--force", *outlived)
        self._place.close()

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

    def _mounts(self, names: Surveyed) -> Iterator[str]:
        def at(path: str) -> str:
            return f"{self._root}/{path}"

        for folder in ancestors((*names.protected, *names.missing)):
            yield from ("--volume", f"{at(folder)}:{at(folder)}")
        for path in names.protected:
            if not os.path.islink(at(path)):
                yield from ("--volume", f"{at(path)}:{at(path)}:ro")
        if names.git:
            yield from ("--volume", f"{self._place.commondir}:{at(COMMONDIR)}:ro")
        for path in names.missing:
            yield from ("--tmpfs", f"{at(path)}:ro,mode=555")
        for secret in (os.path.realpath(at(path)) for path in names.secret):
            if os.path.isdir(secret):
                yield from ("--tmpfs", f"{secret}:ro,mode=000")
            elif os.path.lexists(secret):
                yield from ("--volume", f"{self._place.nothing}:{secret}:ro")
