"""Whether a question for an interpreter's version starts what is installed, and nothing else."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from nanocoder_policy_rules import workspace_programs
from nanocoder_policy_rules.shell import compile_once

if TYPE_CHECKING:
    from nanocoder import SessionInfo

# These print their version before they read any file. Others look into the workspace first, such
# as pytest (its settings name plugins), go and rustc (a file there chooses which one runs).
_QUESTION = (
    r"(?:python(?:[23](?:\.\d{1,2})?)?|pypy3) (?:--version|-V)|(?:node|ruby|perl) (?:--version|-v)"
)
_BINARY: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xbe\xba\xfe\xca")
_SHIM = r'(?s)#!/usr/bin/env bash\n.*\nexec "(/[^"\n]+/libexec/pyenv)" exec "\$program" "\$@"\n*'
_VERSION_FILE: Final = ".python-version"
_VERSIONS = r"(?:[A-Za-z0-9][\w.+-]*|#.*)?(?:\s+(?:[A-Za-z0-9][\w.+-]*|#.*))*\s*"
_MAX_BYTES: Final = 4_096


def asks_version(words: Sequence[str]) -> bool:
    """Tell whether a command asks a known interpreter for its version, and nothing more."""
    return len(words) == 2 and compile_once(_QUESTION).fullmatch(" ".join(words)) is not None  # noqa: PLR2004


def is_installed(name: str, session: "SessionInfo", folder: str) -> bool:
    """Tell whether *name*, started in *folder*, is a program outside of the workspace.

    A shim of pyenv is one if the files there that choose a version name it, and no path.
    """
    programs = list(_on_path(name))
    # A shim may pass on to a later one.
    if not programs or any(workspace_programs.is_inside(each, session) for each in programs):
        return False
    content = _beginning(programs[0])
    if content.startswith(_BINARY):
        return True
    shim = compile_once(_SHIM).fullmatch(content.decode(errors="replace"))
    if shim is None or workspace_programs.is_inside(shim[1], session):
        return False
    return all(map(_names_versions, _above(folder)))


def _on_path(name: str) -> Iterator[str]:
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        program = f"{folder}/{name}"
        if folder[:1] == "/" and os.access(program, os.X_OK) and os.path.isfile(program):
            yield program


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""


def _names_versions(folder: str) -> bool:
    """Tell whether a folder's choice of a version has names alone: older shims follow a path."""
    path = os.path.join(folder, _VERSION_FILE)
    if not os.path.lexists(path):
        return True
    text = _beginning(path).decode(errors="replace") if os.path.isfile(path) else "/"
    return len(text) < _MAX_BYTES and compile_once(_VERSIONS).fullmatch(text) is not None


def _above(folder: str) -> Iterator[str]:
    """Yield *folder*, its real place, and all that are above them."""
    for start in dict.fromkeys((folder, os.path.realpath(folder))):
        place = os.path.normpath(start)
        while place not in {"/", ""}:
            yield place
            place = os.path.dirname(place)
