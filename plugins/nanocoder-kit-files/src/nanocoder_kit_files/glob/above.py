"""Git's ignore rules for a workspace from files outside of it.

This starts no git and reads no setting of a repository: `core.excludesFile` is used only from the
user's or the machine's configuration.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nanocoder_kit_files.glob.ignore_file import Rules, read_rules

EXCLUDED: Final = ".git/info/exclude"
MAX_FOLDERS: Final = 40
MAX_SETTINGS_BYTES: Final = 1_000_000
_FILE: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_SECTION: Final = r"\s*\[\s*([^\]\s]*)\s*\](.*)"
_LIST: Final = r"(?i)\s*excludesfile\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^#;]*)"


def rules_above(workspace: Path, most_bytes: int) -> Iterator[tuple[Rules, bytes]]:
    """Yield the rules that apply to *workspace*, the weakest first; of each file *most_bytes*.

    Each comes with the path of the workspace below the folder of the rules, in bytes, with a
    trailing slash; b"" for the workspace itself.
    """
    own = _read(_own_list(), most_bytes, follow=True)
    yield read_rules(own), b""
    for number in range(_folders_around(workspace), 0, -1):
        folder = workspace.parents[number - 1]
        below = os.fsencode(workspace.relative_to(folder)) + b"/"
        names = (EXCLUDED, ".gitignore") if os.path.lexists(folder / ".git") else (".gitignore",)
        for name in names:
            yield read_rules(_read(f"{folder}/{name}", most_bytes)), below


def _folders_around(workspace: Path) -> int:
    """Return the number of folders between *workspace* and the top of its repository."""
    folder = str(workspace)
    for number in range(MAX_FOLDERS):
        if os.path.lexists(f"{folder}/.git"):
            return number
        if folder == "/":
            break
        folder = os.path.dirname(folder)
    return 0


def _own_list() -> str:
    """Return the path in `core.excludesFile`, or git's default."""
    home = os.environ.get("HOME") or "/"
    folder = f"{os.environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git"
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    files = ["/etc/gitconfig", *([own] if own else [f"{folder}/config", f"{home}/.gitconfig"])]
    texts = (_read(file, MAX_SETTINGS_BYTES, follow=True) for file in files)
    named = [name for text in texts if text for name in _lists_in(os.fsdecode(text))]
    # An empty value means no list.
    name = named[-1] if named else f"{folder}/ignore"
    return os.path.join(home, name.removeprefix("~/")) if name else os.devnull


def _lists_in(settings: str) -> Iterator[str]:
    """Yield each value of `core.excludesFile` in a file of git's settings."""
    section = ""
    for line in settings.splitlines():
        header = re.match(_SECTION, line)
        if header:
            section, line = header[1].lower(), header[2]  # noqa: PLW2901 - a setting may follow
        if section == "core" and (match := re.match(_LIST, line)):
            value = match[1].strip()
            is_quoted = value.startswith('"')
            yield re.sub(r"\\(.)", r"\1", value[1:-1]) if is_quoted else value


def _read(path: str, most_bytes: int, *, follow: bool = False) -> bytes:
    """Return the beginning of a regular file, or b""; git follows no link to its rules."""
    try:
        fd = os.open(path, _FILE if follow else _FILE | os.O_NOFOLLOW)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        # Opened so that a named pipe does not block.
        return file.read(most_bytes) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
