"""A sandbox of Landlock: for systems without bubblewrap, or where users make no namespaces."""

import hashlib
import marshal
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from nanocoder import Access, SessionInfo

from nanocoder_kit_sandbox import kernel, launch
from nanocoder_kit_sandbox.hidden import environments_on_path, hidden_places
from nanocoder_kit_sandbox.inside import Inside
from nanocoder_kit_sandbox.landlock_calls import asked_calls
from nanocoder_kit_sandbox.landlock_filter import landlock_filter
from nanocoder_kit_sandbox.landlock_rules import (
    DEVICES,
    Protected,
    Rule,
    SystemRules,
    mixed_folders,
    rules_of_workspace,
)
from nanocoder_kit_sandbox.limits import limits_of
from nanocoder_kit_sandbox.programs import program_of
from nanocoder_kit_sandbox.settings import Settings
from nanocoder_kit_sandbox.survey import GIT

OLDEST: Final = 3
"""The version of Landlock from which on a file cannot be emptied without a right to it."""
SCOPED: Final = 6
"""The version from which on signals do not leave it."""
KEPT_IN_RUN: Final = ("/run/current-system", "/run/wrappers", "/run/systemd/resolve")


@cache
def problem() -> str:
    """Return why Landlock cannot be used here, or ""."""
    if sys.platform != "linux":
        return "this system is not Linux"
    version = kernel.landlock_version()
    if not version:
        return "the kernel has no Landlock, or it is switched off"
    if version < OLDEST:
        return f"the kernel has version {version} of Landlock; {OLDEST} is the oldest that will do"
    if not asked_calls():
        return f"the processor {os.uname().machine} is not known"
    return ""


def in_force() -> str:
    """Return what processes run in, for people: what this kernel's version lacks is said."""
    version = kernel.landlock_version()
    return "landlock" if version >= SCOPED else f"landlock {version}, which lets signals out"


class Landlocked:
    """The sandbox of one session; methods may be called from any thread."""

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._settings = settings
        self._root = str(session.cwd)
        self._inside = Inside(session, settings)
        self._hidden = hidden_places(session, settings)
        self._rules = self._inside.files.tmp.with_suffix(".rules")
        self._rules.mkdir(mode=0o700)
        self._python = os.path.realpath(sys.executable)
        self._version = kernel.landlock_version()
        self._system = SystemRules()
        self._latest: dict[str, Any] | None = None
        self._file = self._rules
        self._starting = threading.Lock()

    def wrap(
        self,
        argv: Sequence[str],
        ports: Sequence[int],  # noqa: ARG002
        access: Access = Access.WRITE,  # noqa: ARG002
    ) -> list[str]:
        """Return the argument vector that runs *argv* inside; raises ToolError."""
        described = self._described()
        with self._starting:
            if described != self._latest or not self._file.exists():
                self._latest, self._file = described, self._write(described)
            file = self._file
        return [*program_of(self._python, launch), str(file), "--", *argv]

    def _write(self, described: dict[str, Any]) -> Path:
        """Write down rules in a file that has the name of its content."""
        # Later formats depend on which values are the same object, and so would the file's name.
        rules = marshal.dumps(described, 2)
        file = self._rules / hashlib.sha256(rules).hexdigest()[:32]
        if not file.exists():
            beside = file.with_suffix(".new")
            beside.write_bytes(rules)
            beside.replace(file)
        return file

    def changes(self) -> list[str]:
        """Undo what programs inside left that others outside would act by; a line for each."""
        return self._inside.changes()

    def close(self) -> None:
        """Remove the session's own files."""
        self._inside.close()

    def _described(self) -> dict[str, Any]:
        """Return the rules of a command that starts now, as `launch` and `broker` read them."""
        settings, tmp = self._settings, str(self._inside.files.tmp)
        protected = self._protected_paths()
        outer = self._outer()
        writable = [tmp, *self._writable()]
        workspace = list(rules_of_workspace(self._root, protected))
        granted = [(path, kernel.READ | kernel.CHANGE) for path in writable]
        hidden = (*self._hidden, self._root, os.path.dirname(tmp))
        environments = environments_on_path(hidden)
        reads = any(path.startswith(f"{self._root}/") for path in protected.secret)
        changed = [path for path, rights in workspace if rights & kernel.WRITE_FILE]
        return {
            "version": self._version,
            "lock": str(self._inside.files.lock),
            "network": settings.network,
            "limits": limits_of(settings),
            "variables": self._variables(tmp),
            "filter": landlock_filter(network=settings.network, reads=reads),
            "calls": asked_calls(),
            "outer": outer,
            "inner": [
                *self._system.rules(hidden, (*KEPT_IN_RUN, *environments)),
                *workspace,
                *granted,
            ],
            "denied": sorted(protected.denied | protected.secret),
            "mixed": mixed_folders(self._root, protected),
            "granted": [*changed, *writable],
        }

    def _outer(self) -> list[Rule]:
        """Return what commands, and the processes beside them, may change at most."""
        folders = (self._root, str(self._inside.files.tmp), *self._writable())
        devices = [(f"/dev/{name}", kernel.WRITE_FILE) for name in DEVICES]
        return [*((folder, kernel.CHANGE) for folder in folders), *devices]

    def _protected_paths(self) -> Protected:
        names = self._inside.names()
        denied = {
            f"{self._root}/{path}" for path in (*names.protected, *names.missing, *names.targets)
        }
        if names.git and GIT not in self._settings.writable:
            denied.add(f"{self._root}/{GIT}")
        # A secret's name may be a link; what it leads to is as secret.
        secret = {f"{self._root}/{path}" for path in names.secret}
        secret |= {os.path.realpath(path) for path in secret}
        secret |= {path for path in self._hidden if path.startswith(f"{self._root}/")}
        return Protected(frozenset(denied - secret), frozenset(secret))

    def _writable(self) -> Iterator[str]:
        for name in self._settings.writable:
            path = os.path.realpath(Path(name).expanduser()) if name[:1] in "/~" else ""
            if path and not self._root.startswith(f"{path}/") and os.path.exists(path):
                yield path

    @staticmethod
    def _variables(tmp: str) -> dict[str, str | None]:
        own = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), tmp)
        # Git refreshes its index when it only reads, where it may.
        caches = {"XDG_CACHE_HOME": f"{tmp}/.cache", "npm_config_cache": f"{tmp}/.npm"}
        gone = dict.fromkeys(("XDG_RUNTIME_DIR", "DOCKER_HOST"))
        return {**own, **caches, **gone, "GIT_OPTIONAL_LOCKS": "0"}
