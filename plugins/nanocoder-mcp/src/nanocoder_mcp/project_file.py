"""The `.mcp.json` of a project: its servers are used while the file is as the user trusted it."""

import errno
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self

from attrs import field, frozen
from nanocoder import ConfigError, for_terminal, state_dir

from nanocoder_mcp.private_files import read_private, write_private
from nanocoder_mcp.project_tables import is_disabled, own_table, tables_of, unknown_keys
from nanocoder_mcp.records import project_folder
from nanocoder_mcp.server import Server, server_of

FILE: Final = ".mcp.json"
MAX_BYTES: Final = 1_048_576
ACCEPTED: Final = ".accepted"
"""File name that no server's name can equal."""


@frozen
class ProjectFile:
    """The file at *path*: its servers by name, a line for each problem, and its digest.

    *remarks* are for a person who reviews it.
    """

    path: Path
    servers: Mapping[str, Server] = field(factory=dict)
    problems: list[str] = field(factory=list)
    digest: str = ""
    remarks: list[str] = field(factory=list)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Read the file in *folder*; an invalid one yields problems, not an exception."""
        path = folder / FILE
        try:
            content = read_private(path, MAX_BYTES)  # a longer file is cut: invalid JSON
            tables = tables_of(content)
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            if error.errno == errno.EINVAL and _is_empty_folder(path):
                return cls(path)
            return cls(path, {}, [f"{path}: cannot be read: {error.strerror}"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return cls(path, {}, [f'{path}: expected {{"mcpServers": {{…}}}}: {error!s:.200}'])
        servers, problems, remarks = {}, [], []
        for name, table in tables.items():
            if is_disabled(table):
                remarks.append(f"{name} is disabled in this file")
                continue
            try:
                servers[name] = server_of(name, own_table(table, folder), folder)
            except ValueError as error:
                text = str(error)
                where = "" if text.startswith(("servers.", repr(name))) else f"servers.{name}: "
                problems.append(f"{path}: {where}{text}")
            if ignored := ", ".join(map(repr, unknown_keys(table))):
                remarks.append(f"{name}: {ignored} does not count here")
        return cls(path, servers, problems, hashlib.sha256(content).hexdigest(), remarks)

    @property
    def is_accepted(self) -> bool:
        """Return True if the person trusted the folder with the file as it is now."""
        return self.digest != "" and self._accepted == self.digest

    @property
    def was_accepted(self) -> bool:
        """Return True if the person trusted the folder with the file as it once was."""
        return self._accepted != ""

    @property
    def _accepted(self) -> str:
        try:
            digest = read_private(_accepted_file(self.path.parent), MAX_BYTES)
            return digest.decode("ascii", "replace")
        except (OSError, ConfigError):
            return ""

    def accept(self) -> None:
        """Trust the file as it is now; raises ConfigError."""
        path = _accepted_file(self.path.parent)
        try:
            write_private(path, self.digest.encode())
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}") from None


def review_of(folder: Path) -> tuple[list[str], Callable[[], None]] | None:
    """Return the review text of the file in *folder*, and the function that accepts it.

    Returns None if there is no file, or if it was accepted as it is. Raises: ConfigError for a
    file that cannot be read.
    """
    from nanocoder_mcp.review import shown_launch  # only people read it

    file = ProjectFile.of(folder)
    if file.problems and not file.digest:
        raise ConfigError(f"{for_terminal('; '.join(file.problems))}; nothing was trusted")
    if not (file.servers or file.problems) or file.is_accepted:
        return None
    lines = [line for server in file.servers.values() for line in shown_launch(server)]
    if lines:
        lines.append("Each of them starts only after nanocoder mcp review NAME.")
    others = map(for_terminal, (*file.problems, *file.remarks))
    return [f"{file.path} brings servers:", *lines, *others], file.accept


def _is_empty_folder(path: Path) -> bool:
    """Return True if *path* is only a sandbox's empty mount point while a command runs."""
    try:
        return not os.listdir(path)
    except FileNotFoundError:  # the command has ended meanwhile
        return True
    except OSError:
        return False


def _accepted_file(folder: Path) -> Path:
    return project_folder(state_dir(), folder) / ACCEPTED
