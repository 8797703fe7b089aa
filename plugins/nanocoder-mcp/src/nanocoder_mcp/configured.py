"""The configured servers: the user's own, and those of a trusted folder's `.mcp.json`."""

from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from nanocoder import one_line

from nanocoder_mcp.project_file import ProjectFile
from nanocoder_mcp.server import Server, has_names_like, server_of


class ServerSettings(Protocol):
    """The settings that configure servers."""

    @property
    def servers(self) -> dict[str, Any]:
        """Tables of the user's own servers, by name."""

    @property
    def project_servers(self) -> bool:
        """Return True if the servers of a trusted folder are used."""


NAMES_CHARS: Final = 80
TRUST: Final = "nanocoder config trust"


class Configured(NamedTuple):
    """The servers by name, and one line for each problem of a project's file.

    *waiting* are the servers of a project's file that is not trusted yet; *why* is the reason.
    """

    servers: dict[str, Server]
    problems: list[str]
    waiting: dict[str, Server] = {}  # noqa: RUF012 - never changed
    why: str = ""

    @property
    def remarks(self) -> list[str]:
        """Problems of the project's file, and the reason its servers are not used."""
        return [*self.problems, *filter(None, [self.why])]


def configured(
    settings: ServerSettings, trusted_folder: Path | None, cwd: Path | None = None
) -> Configured:
    """Return the configured servers; the user's own wins over a project's of the same name.

    An invalid project file is reported as a problem and does not prevent the start. Without a
    trusted folder the file in *cwd* is read, and its servers are `waiting`.
    """
    own = {name: server_of(name, table) for name, table in settings.servers.items()}
    folder = trusted_folder or cwd
    if folder is None or not settings.project_servers:
        return Configured(own, [])
    file = ProjectFile.of(folder)
    if file.servers and not (trusted_folder and file.is_accepted):
        names = one_line(", ".join(file.servers), NAMES_CHARS)
        why = f"{file.path} names servers that do not count until you trust them"
        if file.was_accepted:
            why = f"{file.path} is not as it was when you trusted it"
        return Configured(own, file.problems, dict(file.servers), f"{why} ({names}): {TRUST}")
    servers, problems = dict(own), [*file.problems]
    for name, server in file.servers.items():
        # A rule for the tools of the user's own server must not match a project's tools.
        if like := next((each for each in own if name != each and has_names_like(name, each)), ""):
            text = f"tools of {name!r} could be taken for those of your server {like!r}"
            problems.append(f"{file.path}: {text}, so it is ignored; rename one of them")
        else:
            servers.setdefault(name, server)
    return Configured(servers, problems)
