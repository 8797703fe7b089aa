"""Which servers there are: the person's own, and those of a trusted folder's `.mcp.json`."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from nanocoder_mcp.project_file import ProjectFile
from nanocoder_mcp.server import Server, server_of


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
    file = ProjectFile.of(trusted_folder)
    if file.servers and not file.is_accepted:
        problem = f"{file.path} is not as it was when you trusted it: nanocoder config trust"
        return Configured(own, [*file.problems, problem])
    return Configured({**file.servers, **own}, file.problems)
