"""`nanocoder --help`: its text is kept for as long as nothing that it is made of has changed.

Listing the commands of plugins takes the configuration and the manifest, which cost more than the
rest of a help.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nanocoder.config.places import cache_dir, refusal
from nanocoder.errors import ConfigError
from nanocoder.version import VERSION

if TYPE_CHECKING:
    from nanocoder.cli.command_host import CommandHost

VARIABLES = ("COLUMNS", "FORCE_COLOR", "HOME", "NO_COLOR", "PYTHON_COLORS", "TERM")
END = "="
"""The line between the sources of a text and the text."""


def print_help() -> int:
    """Print the text; returns the exit code."""
    file, state = _file(), _state()
    sys.stdout.write((_kept(file, state) if file else "") or _new(file, state))
    return 0


def _file() -> Path | None:
    """Return where the text is kept; None where that may be a project's place."""
    try:
        return None if refusal(Path.cwd(), os.environ) else cache_dir() / "help.txt"
    except (ConfigError, OSError):
        return None


def _state() -> str:
    """Return, on one line, what a text depends on besides files."""
    size = ""
    with suppress(OSError, ValueError, AttributeError):
        size = str(os.get_terminal_size(sys.__stdout__.fileno()))  # type: ignore[union-attr]
    names = sorted(name for name in os.environ if name.startswith(("NANOCODER_", "XDG_")))
    variables = [(name, os.environ.get(name)) for name in (*VARIABLES, *names)]
    return repr((VERSION, sys.version, sys.prefix, os.getcwd(), size, variables))


def _kept(file: Path, state: str) -> str:
    """Return the kept text, or nothing where one of its sources is another by now."""
    try:
        head, _, text = file.read_text(encoding="utf-8").partition(f"\n{END}\n")
        first, *stamps = head.split("\n")
        is_current = first == state and all(line == _stamp(line[21:]) for line in stamps)
    except (OSError, ValueError):
        return ""
    return text if is_current else ""


def _stamp(path: str) -> str:
    try:
        return f"{os.stat(path).st_mtime_ns:20} {path}"
    except OSError:
        return f"{0:20} {path}"


def _new(file: Path | None, state: str) -> str:
    """Make the text and keep it."""
    from nanocoder.cli.command_host import CommandHost
    from nanocoder.cli.offered import known_commands
    from nanocoder.cli.parser import build

    host = CommandHost()
    commands, problem = known_commands(host)
    text = build(commands, ()).format_help()
    if file is not None and problem is None:
        from nanocoder_files import replace_file

        stamps = map(_stamp, _sources(host, file.with_name("plugins.json")))
        with suppress(OSError):
            replace_file(file, "\n".join([state, *stamps, END, text]).encode())
    return text


def _sources(host: "CommandHost", manifest: Path) -> Iterator[str]:
    """Yield the files and folders that decide which commands there are."""
    from nanocoder.config.document import project_file
    from nanocoder.config.places import user_config_dir
    from nanocoder.plugins.discovery import site_paths

    yield from site_paths()
    settings = user_config_dir()
    for path in (manifest, settings / "config.toml", settings / "plugins.lock"):
        yield str(path)
    yield str(project_file(host.cwd))
    for entry in host.plugins.entries.values():
        yield from (path for path, _ in entry.description.get("files", ()))
