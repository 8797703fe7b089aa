"""Configuration files, read safely and parsed strictly, with the lines of their keys.

A project's file counts in full if the person trusts its directory: by path, device and inode, and
by the file's content. A directory that was replaced, or whose file changed, has to be trusted
again. Trust covers the directories below, as long as they have no configuration of their own.
"""

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from nanocoder_files import closing_file, open_private
from nanocoder_schema import ConfigError, value

from nanocoder_config.places import state_dir

MAX_BYTES: Final = 1_048_576
MAX_TRUST_BYTES: Final = 16_777_216

# As text: a start without a configuration file need not compile it.
# Tokens that may contain line breaks or brackets without meaning, longest first.
TOML_TOKENS: Final = (
    r'(?s)"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\''
    r'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n'
)
LONG_KEY: Final = r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}"""
# A key of so many parts names as many tables, and tomllib stores the path to each.
KEY_PART: Final = r'\s*(?:"((?:\\.|[^"\\])*)"|\'([^\']*)\'|([A-Za-z0-9_-]+))\s*'


class UnreadableError(ConfigError):
    """An existing file must not, or cannot, be read; the message names it and the reason."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


@value(eq=False)
class Statement:
    """A setting or the header of a table, with its lines, its text and its key."""

    first: int
    last: int
    text: str
    key: tuple[str, ...]

    @property
    def is_header(self) -> bool:
        """Return True if the line is the header of a table."""
        return self.text.startswith("[")


class ConfigFile:
    """A parsed file: *data* is its content, nested like the tables."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.text = _decoded(path, content)
        self.data = _parsed(path, self.text)

    def line(self, key: tuple[str | int, ...]) -> int:
        """Return the line that sets *key*, or the nearest table around it; 0 if there is none.

        For a table that exists only in the names of others, it is the first of these. A number at
        the end of *key* is an item of a list.
        """
        around = (key[:end] for end in range(len(key), 0, -1))
        return next((self._lines[each] for each in around if each in self._lines), 0)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The settings and headers of the file, from its first line to its last."""
        return tuple(_statements(self.text))

    @cached_property
    def _lines(self) -> dict[tuple[str | int, ...], int]:
        """Map each key, and each item of a list, to its line, which tomllib does not store."""
        lines: dict[tuple[str | int, ...], int] = {}
        table: tuple[str, ...] = ()
        counts: dict[tuple[str, ...], int] = {}
        for statement in self.statements:
            if statement.is_header:
                table = statement.key
            key = table if statement.is_header else table + statement.key
            lines.setdefault(key, statement.first)
            for before in _lines_of_items(statement.text):
                number = counts[key] = counts.get(key, -1) + 1
                lines[*key, number] = statement.first + before
        # Tables that exist only in names, all in one pass: a hostile file may have many.
        for name, line in [*lines.items()]:
            for end in range(1, len(name)):
                lines.setdefault(name[:end], line)
        return lines


def read_user_file(path: Path) -> ConfigFile | None:
    """Read the user's file, None if there is none; raises ConfigError.

    It may be a link, as people store their dotfiles elsewhere. A broken link is an error: otherwise
    the rules in its target would be ignored silently.
    """
    content = _content(path, follow_link=True)
    if content is not None:
        return ConfigFile(path, content)
    for place in (path, path.parent):
        if os.path.lexists(place) and not place.is_dir():
            what = "is a broken symbolic link" if place.is_symlink() else "is not a directory"
            raise ConfigError(f"{place} {what}; fix or remove it")
    return None


def read_project_bytes(folder: Path) -> bytes | None:
    """Return the project file's bytes, None if there is none; raises UnreadableError.

    No component below *folder* may be a link: it could lead to secrets of another person or
    project.
    """
    path = project_file(folder)
    own = path.parent
    # O_NOFOLLOW refuses it as well, but with an unclear error.
    if own.is_symlink():
        raise UnreadableError(path, f"{own} is a symbolic link, which is not followed")
    try:
        directory = os.open(own, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(path, f"cannot be read: {error.strerror}") from None
    with closing_file(directory):
        return _content(path, directory, follow_link=False)


def project_file(folder: Path) -> Path:
    """Return the path of the configuration file of the project in *folder*."""
    return folder / ".nanocoder" / "config.toml"


def above(cwd: Path) -> list[Path]:
    """Return the directories above *cwd* in its repository, whose configuration also applies."""
    roots = (at for at, it in enumerate((cwd, *cwd.parents)) if os.path.lexists(it / ".git"))
    return list(cwd.parents)[: next(roots, 0)][::-1]


def is_trusted(folder: Path, *, environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if the person trusts *folder* as it is now."""
    try:
        folders = read_trusted(state_dir(environment) / "trusted.json")
        real = folder.resolve()
        if str(real) in folders:
            return bool(folders[str(real)] == trust_entry(real))
        if read_project_bytes(real) is not None:
            return False  # nobody has approved its own configuration
        listed = (above for above in real.parents if str(above) in folders)
        return any(folders[str(above)] == trust_entry(above) for above in listed)
    except (OSError, ConfigError):
        return False


def trust_entry(real: Path) -> dict[str, Any]:
    """Return the record that identifies a trusted folder; raises OSError, ConfigError."""
    import hashlib  # few folders are trusted

    status, content = real.stat(), read_project_bytes(real)
    digest = "" if content is None else hashlib.sha256(content).hexdigest()
    # The inode detects another directory at the same path.
    return {"device": status.st_dev, "inode": status.st_ino, "configuration": digest}


def read_trusted(path: Path) -> dict[str, Any]:
    """Return the trusted directories in a file; an invalid file trusts nothing."""
    try:
        with os.fdopen(open_private(path), "rb") as file:
            folders = json.loads(file.read(MAX_TRUST_BYTES))["folders"]
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return folders if isinstance(folders, dict) else {}


def _content(path: Path, directory: int | None = None, *, follow_link: bool) -> bytes | None:
    """Return the bytes of *path*, or of its name in *directory* if that is given."""
    name = path if directory is None else path.name
    try:
        descriptor = open_private(name, directory=directory, follow_link=follow_link)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        if error.errno == errno.EINVAL:
            problem = "is not a regular file"
        if error.errno == errno.ELOOP and not follow_link:
            problem = "is a symbolic link, which is not followed"
        raise UnreadableError(path, problem) from None
    with os.fdopen(descriptor, "rb") as file:
        # One byte more detects a file that is too large, without reading all of it.
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UnreadableError(path, f"is larger than {MAX_BYTES:,} bytes")
    return content


def _decoded(path: Path, content: bytes) -> str:
    try:
        # Some editors write a byte order mark, which is not TOML.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise ConfigError(f"{path}:{line}:{column}: this is not UTF-8; save it as UTF-8") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    # Without a configuration file the parser is not needed.
    import tomllib

    if re.search(LONG_KEY, text):
        raise ConfigError(f"{path}:1:1: a key has too many parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        why = str(error).replace("Invalid value", "invalid value; put quotes around text")
        problem, _, place = why.partition(" (at ")
        at = re.search(r"line (\d+), column (\d+)", place)
        # tomllib reports "at end of document" for an incomplete file.
        line, column = at.groups() if at else (text.count("\n") + 1, len(text) - text.rfind("\n"))
        raise ConfigError(f"{path}:{line}:{column}: this is not valid TOML: {problem}") from None
    except (RecursionError, ValueError):
        problem = "tables and arrays are nested too deeply, or a number has too many digits"
        raise ConfigError(f"{path}:1:1: {problem}") from None


def _statements(text: str) -> Iterator[Statement]:
    """Split a valid document into statements."""
    start, depth, line, first = 0, 0, 1, 1
    for token in re.finditer(TOML_TOKENS, text + "\n"):
        symbol = token.group()
        depth += (symbol in ("[", "{")) - (symbol in ("]", "}"))
        line += symbol.count("\n")
        if symbol == "\n" and depth == 0:
            statement = text[start : token.start()].strip()
            if statement and not statement.startswith("#"):
                key = _key_of(statement.lstrip("["))
                yield Statement(first, line - 1, statement, key)
            start, first = token.end(), line


def _lines_of_items(text: str) -> Iterator[int]:
    """Yield, for each item of a setting's list in *text*, the number of lines before it."""
    depth = line = 0
    for token in re.finditer(TOML_TOKENS, text):
        symbol = token.group()
        if depth == 1 and symbol[0] in "\"'[{":
            yield line
        depth += (symbol in ("[", "{")) - (symbol in ("]", "}"))
        line += symbol.count("\n")


def _key_of(statement: str) -> tuple[str, ...]:
    """Return the dotted key at the beginning of *statement*."""
    parts = []
    while match := re.match(KEY_PART, statement):
        parts.append(next(part for part in match.groups() if part is not None))
        statement = statement[match.end() :]
        if not statement.startswith("."):
            break
        statement = statement[1:]
    return tuple(parts)
