"""Which servers there are: the person's own, and those of a trusted folder's `.mcp.json`."""

import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from nanocoder_files import open_private

from nanocoder_mcp.server import Server, server_of

FILE: Final = ".mcp.json"
MAX_BYTES: Final = 1_048_576


class ServerSettings(Protocol):
    """The settings that say which servers there are."""

    @property
    def servers(self) -> dict[str, Any]:
        """The person's own, as tables by name."""

    @property
    def project_servers(self) -> bool:
        """Whether those of a trusted folder count."""


class Configured(NamedTuple):
    """The servers by name, and a line for each thing in a project's file that cannot be used."""

    servers: dict[str, Server]
    problems: list[str]


def configured(settings: ServerSettings, trusted_folder: Path | None) -> Configured:
    """Return what is configured; of two servers of one name the person's own counts.

    A project's file that is wrong is a problem to tell of, and keeps nobody from starting.
    """
    own = {name: server_of(name, table) for name, table in settings.servers.items()}
    if trusted_folder is None or not settings.project_servers:
        return Configured(own, [])
    project = project_servers(trusted_folder)
    return Configured({**project.servers, **own}, project.problems)


def project_servers(folder: Path) -> Configured:
    """Return the servers of the `.mcp.json` in *folder*."""
    path = folder / FILE
    try:
        with os.fdopen(open_private(path), "rb") as file:
            content = file.read(MAX_BYTES)  # more than that is cut, and no JSON any more
        tables = json.loads(content)["mcpServers"]
        items: list[tuple[str, Any]] = sorted(tables.items())
    except FileNotFoundError:
        return Configured({}, [])
    except OSError as error:
        return Configured({}, [f"{path}: cannot be read: {error.strerror}"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Configured({}, [f'{path}: expected {{"mcpServers": {{…}}}}: {error!s:.200}'])
    servers, problems = {}, []
    for name, table in items:
        try:
            servers[name] = server_of(name, table, folder)
        except ValueError as error:
            problems.append(f"{path}: {error}")
    return Configured(servers, problems)
