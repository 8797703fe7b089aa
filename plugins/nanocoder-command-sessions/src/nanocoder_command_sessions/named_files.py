"""The present content of the files that a call names, runs or reads."""

import glob
import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from nanocoder import ToolError

MAX_BYTES: Final = 20_000_000
"""Size limit of a hashed file; a larger one is identified by its size and time."""
MAX_FILES: Final = 1_000
MAX_PATHS: Final = 100_000
"""Limit of the paths that are examined."""
_CHUNK: Final = 1_048_576
_GAPS: Final = re.compile(r"[\s;&|<>(){}=,:'\"`$]+")
# A star matches every expansion of these by a shell.
_WILDCARDS: Final = re.compile(r"\[[^/]*\]|\{[^/]*\}|[?*]+")
_NO_COMMANDS: Final = frozenset({"content", "old_string", "new_string", "text", "patch"})
"""Arguments that no shell expands: a star in them names no file."""
# Programs that run the content of a file of this name without naming it.
_READ_BY: Final = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json",)),
    "just": ("justfile", "Justfile"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "pytest": ("conftest.py", "pyproject.toml"),
}


class TooManyFiles(ToolError):
    """A call names more files than a decision can be about."""

    def __init__(self) -> None:
        super().__init__(
            f"it may name more than {MAX_FILES:,} files, too many to tell whether all of them stay"
            " as they are; ask for a call that names fewer"
        )


def digests(arguments: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the name and the digest of each file that text in *arguments* names, in order.

    Raises: TooManyFiles.
    """
    words = dict.fromkeys(word for text in _texts(arguments) for word in _words(text))
    commands = {key: text for key, text in arguments.items() if key not in _NO_COMMANDS}
    named = [word for text in _texts(commands) for word in _words(text)]
    words |= dict.fromkeys(_matches(named, [folder]))
    folders = [folder, *(folder / word for word in words if os.path.isdir(folder / word))]
    words |= dict.fromkeys(_matches(named, folders[1:]))
    if len(folders) * len(words) > MAX_PATHS:
        raise TooManyFiles
    paths = dict.fromkeys(
        os.path.join(base, name) for base in folders for word in words for name in _names(word)
    )
    files = [path for path in paths if os.path.isfile(path)]
    if len(files) > MAX_FILES:
        raise TooManyFiles
    return [f"{path} {_digest(path)}" for path in files]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _words(text: str) -> Iterator[str]:
    """Yield the words of a command, and the parts of each that could be a path."""
    with suppress(ValueError):  # a quote without its end; its parts follow
        yield from shlex.split(text)
    yield from filter(None, _GAPS.split(text))


def _matches(words: Iterable[str], folders: Sequence[Path]) -> list[str]:
    """Return the matches of the wildcards of *words* in *folders*; raises TooManyFiles."""
    stars = dict.fromkeys(_WILDCARDS.sub("*", os.path.expanduser(word)) for word in words)
    patterns = [each for each in stars if "*" in each and "\0" not in each]
    all_matches = chain.from_iterable(
        glob.iglob(pattern, root_dir=folder, include_hidden=True)
        for folder in folders
        for pattern in patterns
    )
    matches = list(islice(all_matches, MAX_FILES + 1))
    if len(matches) > MAX_FILES:
        raise TooManyFiles
    return sorted(set(matches))


def _names(word: str) -> Iterator[str]:
    """Yield the files that *word* may name: itself, a Python module, files the program reads."""
    if "\0" in word:
        return
    yield os.path.expanduser(word)
    yield from _READ_BY.get(os.path.basename(word), ())
    if re.fullmatch(r"[A-Za-z_][\w.]*", word):
        path = word.replace(".", "/")
        yield from (f"{path}.py", f"{path}/__main__.py")


def _digest(path: str) -> str:
    """Return the SHA-256 of a file's content in hexadecimal, or its problem."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return str(error.strerror)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return "no file"
        if status.st_size > MAX_BYTES:
            return f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
        digest = hashlib.sha256()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        return digest.hexdigest()
