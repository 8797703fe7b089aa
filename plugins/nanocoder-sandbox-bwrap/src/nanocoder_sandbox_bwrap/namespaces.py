"""The namespaces that all commands of a session share: one network, and throw-away layers.

A process holds them from the first command on. Its file system has a tmpfs of its own with an
overlay for each cache in the person's home, and for each command that must not change the
workspace. Such layers are in memory, and gone with the process.
"""

import os
import select
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from nanocoder_kit_process import SYSTEM_PATH, find_program
from nanocoder_kit_sandbox.bubblewrap import NO_NETWORK, program
from nanocoder_kit_sandbox.layers import changed_files
from nanocoder_kit_sandbox.limits import SHELL

HOLD: Final = (
    *("--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "ALL", "--unshare-pid"),
    *("--dev-bind", "/", "/"),
)
MEMORY_SHARE: Final = 4
"""Layers take at most one part in so many of the memory."""
OVERLAY: Final = '"$mount" -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w,userxattr m'
# It ends when nanocoder, which has the other end of its standard input, ends in whatever way.
# Until then it removes the layers that it is told, which their own modes cannot prevent.
HOLDER: Final = (
    'echo ready; read -r go; mount=$0; top=$1; shift; for name in "$@"; do '
    f'cd "$top/$name" && {OVERLAY} 2>/dev/null && echo "$name"; '
    'done; cd /; echo done; while read -r name; do rm -rf "$top/$name"; done; '
    # Once nanocoder has ended or closes its end; bubblewrap waits for all that is left here.
    "kill -9 -1"
)
# An absolute path: what is on PATH may be of the workspace.
IN_LAYER: Final = (
    f'mount=$0; cd "$1" && shift && echo $$ >pid && {OVERLAY} && cd "$OLDPWD" && exec "$@"'
)
TRIAL: Final = "trial"
START_S: Final = 10.0
END_S: Final = 2.0


class Layer(NamedTuple):
    """A throw-away layer over the workspace: *path* is what programs see instead of it.

    *enter* are the words that start a command with it.
    """

    path: str
    enter: tuple[str, ...]


class Namespaces:
    """The namespaces of one session's commands, with layers in *folder*.

    *workspace* and *caches* are the folders that layers are made over. *network* is whether the
    commands have the network of this machine. Methods may be called from any thread.
    """

    def __init__(
        self, folder: Path, workspace: str, caches: Sequence[str], *, network: bool
    ) -> None:
        self._folder, self._workspace, self._network = folder, workspace, network
        self._caches = list(caches)
        self._process: subprocess.Popen[bytes] | None = None
        self._init = 0
        self._is_possible = bool(_find("nsenter") and _find("unshare") and _find("mount"))
        self._works: set[str] = set()
        self._running: list[str] = []
        self._number = 0
        self._guard = threading.Lock()

    def enter(self, service: Sequence[str] = ()) -> list[str]:
        """Return the words that start a command in the namespaces, [] where that is impossible.

        *service* is an argv that runs there, too, and turns into the words after it.
        """
        with self._guard:
            self._start_anew(service)
            if not self._init:
                return []
            net = [] if self._network else ["--net"]
            target = ["--target", str(self._init), "--user", "--mount", *net]
            return [_find("nsenter"), *target, "--preserve-credentials", "--wd=."]

    def caches(self) -> list[tuple[str, str]]:
        """Return the caches that have a layer, each with what is to be seen there."""
        with self._guard:
            return [
                (path, f"{self._folder}/{number}/m")
                for number, path in enumerate(self._caches)
                if str(number) in self._works
            ]

    def add_layer(self) -> Layer | None:
        """Return a new layer over the workspace for one command; None where that is impossible."""
        with self._guard:
            if TRIAL not in self._works:
                return None
            self._number += 1
            name = f"{TRIAL}{self._number}"
            try:
                self._make(name, self._workspace)
            except OSError:
                return None
            self._running.append(name)
        folder = f"{self._folder}/{name}"
        enter = (_find("unshare"), "--mount", SHELL, "-c", IN_LAYER, _find("mount"), folder)
        return Layer(f"{folder}/m", enter)

    def ended(self) -> Iterator[list[str]]:
        """Yield for each command in a layer that has ended which files it would have changed."""
        with self._guard:
            names = [name for name in self._running if self._has_ended(name)]
            for name in names:
                self._running.remove(name)
                folder = f"{self._layers}/{name}"
                yield changed_files(f"{folder}/u")
                with suppress(OSError):  # all of it is gone with that process
                    self._tell(name)

    def close(self) -> None:
        """End the process that holds the namespaces, and with it all of them."""
        with self._guard:
            self._stop()

    @property
    def _layers(self) -> str:
        """The folder of the layers, which only that process has in its file system."""
        return f"/proc/{self._init}/root{self._folder}"

    def _start_anew(self, service: Sequence[str]) -> None:
        """Start the process if it has not been started, or has ended; once in vain is enough."""
        if not self._is_possible or (self._process and self._process.poll() is None):
            return
        self._stop()
        self._running.clear()
        with suppress(OSError, ValueError):
            self._start(service)
        self._is_possible = bool(self._init)
        if not self._is_possible:
            self._stop()

    def _start(self, service: Sequence[str]) -> None:
        """Start the process, and mount the layers that are always there; raises OSError."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        names = [*map(str, range(len(self._caches))), TRIAL]
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEMORY_SHARE
        self._process = subprocess.Popen(
            [
                *(program(), *HOLD, *(() if self._network else (NO_NETWORK,))),
                *("--size", str(size), "--tmpfs", str(self._folder), "--"),
                *(*service, SHELL, "-c", HOLDER, _find("mount"), str(self._folder), *names),
            ],
            env={"PATH": SYSTEM_PATH},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._answer("ready")
        pid = self._process.pid
        self._init = int(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii"))
        for name, lower in zip(names, (*self._caches, self._workspace), strict=True):
            self._make(name, lower)
        self._tell("go")
        self._works = set(self._answer("done").splitlines())

    def _tell(self, line: str) -> None:
        """Write a line to the process; raises OSError."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def _answer(self, last: str) -> str:
        """Return the lines of the process until *last*; "" when it ends, or is silent too long."""
        text = b""
        pipe = self._process and self._process.stdout
        while pipe and select.select([pipe], [], [], START_S)[0]:
            piece = os.read(pipe.fileno(), 4_096)
            text += piece
            if text.endswith(f"{last}\n".encode()):
                return text.decode("ascii", "replace")
            if not piece:
                break
        return ""

    def _make(self, name: str, lower: str) -> None:
        """Make the folders of a layer over *lower*; raises OSError."""
        folder = f"{self._layers}/{name}"
        for path in (folder, f"{folder}/u", f"{folder}/w", f"{folder}/m"):
            os.mkdir(path)
        # Options of a mount have no commas and colons in paths, so they name this link.
        os.symlink(lower, f"{folder}/l")

    def _has_ended(self, name: str) -> bool:
        try:
            text = Path(f"{self._layers}/{name}/pid").read_text(encoding="ascii")
            os.kill(int(text), 0)
        except ProcessLookupError:
            return True
        except (OSError, ValueError):  # it has not started
            return False
        return False

    def _stop(self) -> None:
        if self._process is None:
            return
        for pipe in filter(None, (self._process.stdin, self._process.stdout)):
            with suppress(OSError):
                pipe.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
        self._works, self._init = set(), 0


@cache
def _find(name: str) -> str:
    return find_program(name, SYSTEM_PATH, Path.cwd())
