"""Changes of references in a repository outside, by git itself."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from nanocoder_kit_process.git import git

from nanocoder_kit_sandbox.git_files import SYMBOLIC
from nanocoder_kit_sandbox.git_folder import PACKED

_SETTINGS: Final = """\
[core]
repositoryFormatVersion = 1
logAllRefUpdates = false
filesRefLockTimeout = 2000
packedRefsTimeout = 2000
[extensions]
objectFormat = {}
"""
_SHA256_CHARS: Final = 64

Values = Mapping[str, bytes | None]
"""The contents of references, by their names; None for a reference that is missing."""


def update_references(store: str, folder: Path, workspace: Path, old: Values, new: Values) -> None:
    """Give references their *new* values, all or none, if they have the *old* ones until then.

    Git does it, with its locks, in a *folder* of ours that leads to the references and objects of
    *store*, but to no settings, hooks and logs. Raises: ToolError (git_failed), OSError.
    """
    if not new:
        return
    length = max(len(value) for value in (*old.values(), *new.values()) if value is not None)
    folder.mkdir(exist_ok=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    settings = _SETTINGS.format("sha256" if length == _SHA256_CHARS else "sha1")
    (folder / "config").write_text(settings, encoding="ascii")
    for name in ("refs", PACKED):
        with suppress(FileExistsError):
            (folder / name).symlink_to(f"{store}/{name}")
    variables = {"GIT_DIR": str(folder), "GIT_OBJECT_DIRECTORY": f"{store}/objects"}
    run = partial(git, folder, workspace=workspace, variables=variables)
    run("update-ref", "--no-deref", "--stdin", "-z", feed=b"".join(_transactions(old, new)))
    for name, value in new.items():
        if value is not None and value.startswith(SYMBOLIC):
            run("symbolic-ref", name, os.fsdecode(value.removeprefix(SYMBOLIC)))


def _transactions(old: Values, new: Values) -> Iterator[bytes]:
    """Yield the words for git; first, in a transaction of its own, what is in the way of others."""
    targets = {name for name, value in new.items() if value is not None}
    above = {str(folder) for name in targets for folder in PurePosixPath(name).parents}
    blocking = {
        name
        for name in new.keys() - targets
        if name in above or not targets.isdisjoint(map(str, PurePosixPath(name).parents))
    }
    for names in filter(None, (blocking, new.keys() - blocking)):
        yield b"start\0"
        for name in sorted(names):
            yield _command(os.fsencode(name), old.get(name), new[name])
        yield b"commit\0"


def _command(name: bytes, old: bytes | None, new: bytes | None) -> bytes:
    """Return the words that change one reference; those of a symbolic one are not compared."""
    if new is not None and new.startswith(SYMBOLIC):
        return b""
    is_compared = old is None or not old.startswith(SYMBOLIC)
    if new is None:
        return b"delete %b\0%b\0" % (name, old if old is not None and is_compared else b"")
    before = (b"0" * len(new) if old is None else old) if is_compared else b""
    return b"update %b\0%b\0%b\0" % (name, new, before)
