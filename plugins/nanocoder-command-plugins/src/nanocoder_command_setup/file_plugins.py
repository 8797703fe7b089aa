"""Installing and removing plugins of one file, in the folder `plugins` of the configuration."""

import re
import tomllib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nanocoder import Host, UsageError, user_config_dir
from nanocoder_discovery import Installed, file_plugins
from nanocoder_files import replace_file
from nanocoder_kit_process.capabilities import Package
from nanocoder_kit_process.temporary import TemporaryFolder

from nanocoder_command_setup.consent import Proposal, is_agreed, normal
from nanocoder_command_setup.importing import NOT_INSTALLED, broken_ones
from nanocoder_command_setup.sources import refuse_name, refuse_path

HEADER: Final = re.compile(r"^# /// script((?:\n#.*)*)\n# ///$", re.MULTILINE)


def folder() -> Path:
    """Return the folder of the person's plugins of one file; raises ConfigError."""
    return user_config_dir() / "plugins"


def installed_files() -> dict[str, Path]:
    """Return the files of the person's plugins of one file, by plugin."""
    return {plugin.name: Path(plugin.module) for plugin in file_plugins(str(folder()))}


def install_file(file: Path, arguments: Namespace, host: Host) -> str:
    """Copy the plugin in *file*, once the user has agreed to what it may do; return its name.

    "" if the user has not. It replaces a file of the same name. Raises: UsageError.
    """
    refuse_path(str(file), host)
    target = folder() / file.name
    with _copied(file) as copy:
        plugin = _plugin_in(copy.parent, file)
        refuse_name(normal(plugin.name), host)
        entry = host.plugins.entries.get(plugin.name)
        if entry is not None and entry.module != str(target):
            raise UsageError(f"{file}: a plugin {plugin.name!r} is installed: {entry.package}")
        now = _package(plugin.name, target) if target.exists() else None
        if is_agreed([Proposal(_package(plugin.name, copy), now, is_named=True)], arguments, host):
            return ""
        _refuse_broken(plugin, copy)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(target, copy.read_bytes())
    return plugin.name


def _refuse_broken(plugin: Installed, copy: Path) -> None:
    """Raise UsageError if *copy* cannot be imported, with the dependencies that its header names.

    The header is that of a script (https://peps.python.org/pep-0723/).
    """
    information = copy.with_suffix(".dist-info")
    information.mkdir()
    (information / "METADATA").write_text(f"Name: {copy.stem}\nVersion: 0\n")
    (information / "entry_points.txt").write_text(f"[nanocoder]\n{plugin.name} = {copy.stem}\n")
    for name, problem in broken_ones([plugin.name], copy.parent):
        needed = _needed(copy.read_text("utf-8", "replace"))
        hint = f"; its header names {', '.join(needed)}: install these first" if needed else ""
        raise UsageError(NOT_INSTALLED.format(name=name, problem=problem) + hint)


def _needed(text: str) -> list[str]:
    """Return the dependencies in the header of a script, none if it has no valid one."""
    header = "".join(HEADER.findall(text)[:1])
    try:
        return [*map(str, tomllib.loads(header.replace("\n#", "\n"))["dependencies"])]
    except (TypeError, KeyError, tomllib.TOMLDecodeError):
        return []


@contextmanager
def _copied(file: Path) -> Iterator[Path]:
    """Yield a copy of *file*, so that what is installed is what was shown; raises UsageError."""
    temporary = TemporaryFolder("nanocoder-install-")
    try:
        copy = temporary.path / file.name
        copy.write_bytes(file.read_bytes())
        yield copy
    except OSError as error:
        raise UsageError(f"{error.filename or file}: {error.strerror}") from error
    finally:
        temporary.remove()


def _plugin_in(copies: Path, file: Path) -> Installed:
    plugins = file_plugins(str(copies))
    if not plugins:
        raise UsageError(f"{file}: name it after its plugin, as in word_count.py")
    return plugins[0]


def _package(name: str, file: Path) -> Package:
    return Package(file.name, "", (name,), (file,), ())


def remove_files(names: list[str], arguments: Namespace, host: Host) -> bool:
    """Remove the files of the plugins *names*; False if the person at the terminal declines."""
    files = [path for name, path in installed_files().items() if name in names]
    is_asked = host.is_interactive and not arguments.yes
    if is_asked and not host.agrees(f"Remove {', '.join(map(str, files))}?"):
        return False
    for path in files:
        path.unlink(missing_ok=True)
        host.print_line(f"removed {path}")
    return True
