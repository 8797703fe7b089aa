"""A sandbox of Landlock: for systems without bubblewrap, or where users make no namespaces."""

import errno
import hashlib
import marshal
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from nanocoder import Access, SessionInfo, ToolError
from nanocoder_kit_sandbox import git_folder
from nanocoder_kit_sandbox.hidden import (
    KEPT_IN_RUN,
    hidden_places,
    is_in,
    long_outputs,
    readable_in_empty_places,
)
from nanocoder_kit_sandbox.inside import Inside
from nanocoder_kit_sandbox.limits import limits_of
from nanocoder_kit_sandbox.sandbox_files import unavailable
from nanocoder_kit_sandbox.settings import UNSET, Settings, variables
from nanocoder_kit_sandbox.survey import Surveyed

from nanocoder_sandbox_landlock import kernel
from nanocoder_sandbox_landlock.filter import asked_calls, landlock_filter
from nanocoder_sandbox_landlock.paths import NO_TMP, NOT_GIT, READ_ONLY, SHARED_FOLDER
from nanocoder_sandbox_landlock.rules import (
    DEVICES,
    Protected,
    Rule,
    SystemRules,
    mixed_folders,
    rules_of_workspace,
)

OLDEST: Final = 3
"""The version of Landlock from which on a file cannot be emptied without a right to it."""
SCOPED: Final = 6
"""The version from which on signals do not leave it."""
FULL: Final = (errno.ENOSPC, errno.EDQUOT)
NAMED: Final = 5
"""So many files are named that a command could not write."""

_START: Final = """\
import sys
for name in ("nanocoder_kit_sandbox", "nanocoder_sandbox_landlock"):
    sys.modules[name] = package = type(sys)(name)
    package.__path__ = [sys.argv.pop(1)]
del sys.argv[1]
from nanocoder_sandbox_landlock import launch
launch.main()
"""
"""Starts the program `launch` without the rest of both packages, whose folders it is given."""
_PACKAGES: Final = tuple(str(Path(file).parent) for file in (git_folder.__file__, __file__))


@cache
def problem() -> str:
    """Return the reason Landlock cannot be used here, or "" if it can."""
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


def in_force(settings: Settings) -> str:
    """Return the sandbox's name for people, with the limits of this kernel's version.

    Raises: ToolError (sandbox_unavailable).
    """
    if settings.hosts and not settings.network:
        raise unavailable("landlock", "it knows no list of hosts; leave `hosts` empty")
    if why := problem():
        raise unavailable("landlock", why)
    version = kernel.landlock_version()
    return "landlock" if version >= SCOPED else f"landlock {version}, which lets signals out"


class Landlocked:
    """The sandbox of one session; methods may be called from any thread."""

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._session, self._settings = session, settings
        self._root = str(session.cwd)
        self._inside = Inside(session, settings)
        self._hidden = hidden_places(session, settings)
        self._tmp = str(self._inside.files.tmp)
        self._rules = self._inside.files.rules
        self._notes = self._rules / "notes"
        self._notes_read = 0
        self._python = os.path.realpath(sys.executable)
        self._system = SystemRules()

    def wrap(
        self,
        argv: Sequence[str],
        ports: Sequence[int],  # noqa: ARG002
        access: Access = Access.WRITE,
    ) -> list[str]:
        """Return the argv that runs *argv* inside.

        Raises: ToolError (disk_full, sandbox_unavailable).
        """
        try:
            file = self._write(self._described(is_read_only=access is Access.READ))
        except OSError as error:
            where = error.filename or self._rules
            if error.errno in FULL:
                problem = f"no space is left for {str(where)!r}, which the sandbox needs"
                raise ToolError(problem, error_class="disk_full") from error
            raise unavailable("landlock", f"{where}: {error.strerror or error}") from error
        # Named so that a start which takes long is seen before it holds the lock.
        words = (*_PACKAGES, str(self._inside.files.lock), str(file))
        return [self._python, "-I", "-S", "-c", _START, *words, "--", *argv]

    def _write(self, described: dict[str, Any]) -> Path:
        """Write rules to a file that has the name of its content."""
        # Later formats depend on which values are the same object, and so would the file's name.
        rules = marshal.dumps(described, 2)
        file = self._rules / hashlib.sha256(rules).hexdigest()[:32]
        if not file.exists():
            self._rules.mkdir(mode=0o700, exist_ok=True)
            self._notes.touch(mode=0o600)
            beside = file.with_suffix(f".{os.urandom(4).hex()}")
            beside.write_bytes(rules)
            beside.replace(file)
        return file

    def changes(self) -> list[str]:
        """Undo what programs inside left that others outside would act by; a line for each.

        A line also says what could not be written in a workspace that is read-only.
        """
        return [*self._inside.changes(), *self._refusals()]

    def _refusals(self) -> Iterator[str]:
        try:
            with self._notes.open("rb") as file:
                file.seek(self._notes_read)
                text = os.fsdecode(file.read())
                self._notes_read = file.tell()
        except FileNotFoundError:
            return
        notes = list(dict.fromkeys(text.split("\0")))
        yield from (note.removeprefix(NOT_GIT) for note in notes if note.startswith(NOT_GIT))
        if names := _named(notes, READ_ONLY):
            yield f"the workspace is read-only in this mode; writing was refused: {names}"
        if names := _named(notes, NO_TMP):
            yield f"only $TMPDIR is writable, not /tmp; writing was refused: {names}"

    def close(self) -> None:
        """Remove the session's own files."""
        self._inside.close()

    def _described(self, *, is_read_only: bool) -> dict[str, Any]:
        """Return the rules of a command that starts now, as `launch` and `broker` read them."""
        settings, root = self._settings, self._root
        names = self._inside.names(may_write=not is_read_only)
        # Git has to list and write its folders, which no rule does around one file of them.
        objects = names.objects if is_read_only else ()
        protected = self._protected_paths(names, objects)
        elsewhere, git = self._stores(names, objects, is_read_only=is_read_only)
        writable = [self._tmp, *self._inside.writable_elsewhere()]
        workspace = list(rules_of_workspace(root, protected, 0 if is_read_only else kernel.CHANGE))
        hidden = (*self._hidden, *objects, root, str(self._inside.files.base))
        readable = [*KEPT_IN_RUN, *readable_in_empty_places(hidden), *long_outputs(self._session)]
        reads = any(path.startswith(f"{root}/") for path in protected.secret)
        changed = [path for path, rights in workspace if rights & kernel.WRITE_FILE]
        return {
            "nanocoder": os.getpid(),
            "version": kernel.landlock_version(),
            "lock": str(self._inside.files.lock),
            "notes": str(self._notes),
            "network": settings.network,
            "limits": limits_of(settings),
            "variables": self._variables(is_read_only=is_read_only),
            "filter": landlock_filter(network=settings.network, reads=reads and not is_read_only),
            "calls": asked_calls(),
            "outer": list(self._outer([*writable, *git, *([] if is_read_only else [root])])),
            "inner": [
                *self._system.rules(hidden, readable),
                *workspace,
                *elsewhere,
                *((path, kernel.READ | kernel.CHANGE) for path in writable),
            ],
            "root": root,
            "read_only": is_read_only,
            "denied": [root]
            if is_read_only
            else sorted({*protected.denied, *protected.secret} - {*git}),
            "mixed": [] if is_read_only else mixed_folders(root, protected),
            "granted": [*changed, *writable],
            "git": git,
            # For `git_folder`, when git writes an index.
            "libraries": [path for path in sys.path if path.startswith("/")] if git else [],
        }

    def _stores(
        self, names: Surveyed, objects: tuple[str, ...], *, is_read_only: bool
    ) -> tuple[list[Rule], list[str]]:
        """Return the rules to read git's folders elsewhere, and the folders that git may change."""
        stores, rules = list(names.stores), list[Rule]()
        if stores and not stores[0].startswith(f"{self._root}/"):
            # Hidden paths stay hidden: a right to read a folder covers everything in it.
            if any(is_in(path, stores) or is_in(stores[0], [path]) for path in self._hidden):
                stores = []
            for store in stores:
                rules += rules_of_workspace(store, Protected(frozenset(), frozenset(objects)), 0)
        return rules, [] if is_read_only else stores

    @staticmethod
    def _outer(folders: list[str]) -> Iterator[Rule]:
        """Yield the widest rights of commands and of the processes beside them."""
        yield from ((folder, kernel.CHANGE) for folder in (*folders, SHARED_FOLDER))
        yield from ((f"/dev/{name}", kernel.WRITE_FILE) for name in DEVICES)

    def _protected_paths(self, names: Surveyed, objects: tuple[str, ...]) -> Protected:
        denied = {f"{self._root}/{path}" for path in (*names.protected, *names.targets)}
        # A secret's name may be a link; what it leads to is as secret.
        secret = {f"{self._root}/{path}" for path in names.secret}
        secret |= {os.path.realpath(path) for path in secret}
        hidden = (*self._hidden, *objects)
        secret |= {path for path in hidden if path.startswith(f"{self._root}/")}
        return Protected(frozenset(denied - secret), frozenset(secret))

    def _variables(self, *, is_read_only: bool) -> dict[bytes, bytes | None]:
        tmp = self._tmp
        values = {
            **variables(tmp, self._settings, is_read_only=is_read_only),
            "XDG_CACHE_HOME": f"{tmp}/.cache",
            "npm_config_cache": f"{tmp}/.npm",
        }
        named = {name.encode(): os.fsencode(value) for name, value in values.items()}
        return {**named, **dict.fromkeys(map(str.encode, UNSET))}


def _named(notes: list[str], kind: str) -> str:
    names = [note.removeprefix(kind) for note in notes if note.startswith(kind)]
    return ", ".join([*names[:NAMED], *(["…"] if len(names) > NAMED else [])])
