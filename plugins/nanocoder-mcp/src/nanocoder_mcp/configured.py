"""Which servers there are: the person's own, and those of a trusted folder's `.mcp.json`."""

from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from nanocoder import one_line

from nanocoder_mcp.project_file import ProjectFile
from nanocoder_mcp.server import Server, has_names_like, server_of


class ServerSettings(Protocol):
    """The settings that say which servers there are."""

    @property
    def servers(self) -> dict[str, Any]:
        """The person's own, as tables by name."""

    @property
    def project_servers(self) -> bool:
        """Whether those of a trusted folder count."""


NAMES_CHARS: Final = 80
TRUST: Final = "nanocoder config trust"


class Configured(NamedTuple):
    """The servers by name, and a line for each thing in a project's file that cannot be used.

    *waiting* are servers of a project's file that do not count yet, and *why* that is so.
    """

    servers: dict[str, Server]
    problems: list[str]
    waiting: dict[str, Server] = {}  # noqa: RUF012 - never changed
    why: str = ""

    @property
    def remarks(self) -> list[str]:
        """All that a person should know of the project's file."""
        return [*self.problems, *filter(None, [self.why])]


def configured(
    settings: ServerSettings, trusted_folder: Path | None, cwd: Path | None = None
) -> Configured:
    """Return what is configured; of two servers of one name the person's own counts.

    A project's file that is wrong is a problem to tell of, and stops no start. That of
    *cwd* is looked for where the folder is not trusted: its servers wait.
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
        # A rule for the tools of a person's own server is none for a project's.
        if like := next((each for each in own if name != each and has_names_like(name, each)), ""):
            text = f"tools of {name!r} could be taken for those of your server {like!r}"
            problems.append(f"{file.path}: {text}, so it does not count; rename one of them")
        else:
            servers.setdefault(name, server)
    return Configured(servers, problems)
