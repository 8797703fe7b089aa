"""Records of the tools that a user accepted of each server, in nanocoder's own state.

A record is bound to the launch: a server with a new command or URL needs a new review.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import asdict, evolve, field, frozen
from nanocoder import ConfigError, state_dir
from nanocoder_schema import canonical_json

from nanocoder_mcp.private_files import read_json, write_json
from nanocoder_mcp.server import Server

FORMAT: Final = 1
MAX_BYTES: Final = 16_777_216


@frozen
class Record:
    """The review of one server: its *tools*, and the reasons that others are *left_out*.

    *launch* is the digest of its launch settings. *pending* are later, unreviewed tools, or None
    without a change. *resources* and *prompts* are its lists of those. *problem* is the last
    error, *at* the time of the last change, in seconds since the epoch.
    """

    launch: str = ""
    tools: tuple[dict[str, Any], ...] = ()
    left_out: Mapping[str, str] = field(factory=dict)
    resources: tuple[dict[str, Any], ...] = ()
    prompts: tuple[dict[str, Any], ...] = ()
    info: Mapping[str, Any] = field(factory=dict)
    pending: tuple[dict[str, Any], ...] | None = None
    problem: str = ""
    at: float = 0.0

    def agrees_to(self, server: Server) -> bool:
        """Return True if *server* still starts the way it did when a person accepted it."""
        return self.launch == launch_digest(server)

    def tool(self, original: str) -> dict[str, Any] | None:
        """Return the accepted definition of the server's tool *original*."""
        return next((tool for tool in self.tools if tool["original"] == original), None)


def launch_digest(server: Server) -> str:
    """Return the hash that binds the user's consent to the launch settings."""
    folder = "" if server.folder is None else str(server.folder)
    return hashlib.sha256(canonical_json([server.launch, folder]).encode()).hexdigest()


def read(server: Server) -> Record:
    """Return the record of *server*, or an empty one if none can be read."""
    try:
        data = read_json(path_of(server), MAX_BYTES, FORMAT)
        lists = {
            key: tuple(data[key] or ()) if key != "pending" or data[key] is not None else None
            for key in ("tools", "resources", "prompts", "pending")
        }
        return Record(**{**data, **lists})
    except (OSError, ConfigError, ValueError, KeyError, TypeError, AttributeError):
        return Record()


def write(server: Server, record: Record) -> None:
    """Write the *record* of *server*; raises ToolError."""
    write_json(path_of(server), {**asdict(record), "at": time.time()}, FORMAT)


def note(server: Server, problem: str) -> None:
    """Record the last *problem* of *server*, "" for none."""
    record = read(server)
    if record.launch and record.problem != problem:
        write(server, evolve(record, problem=problem))


def forget(server: Server) -> None:
    """Remove the record of *server*."""
    path_of(server).unlink(missing_ok=True)


def changes(record: Record, tools: tuple[dict[str, Any], ...]) -> Iterator[tuple[str, str]]:
    """Yield the name of each new or changed tool of *tools*, and the reason."""
    accepted = {tool["original"]: tool["digest"] for tool in record.tools}
    for tool in tools:
        before = accepted.get(tool["original"])
        if before != tool["digest"]:
            yield tool["original"], "is new" if before is None else "has changed"


def project_folder(state: Path, project: Path) -> Path:
    """Return the directory with the accepted state of the project at *project*."""
    return state / "mcp" / "projects" / hashlib.sha256(bytes(project)).hexdigest()[:32]


def path_of(server: Server) -> Path:
    """Return the path of the record of *server*."""
    folder = state_dir() / "mcp"
    if server.folder is not None:
        folder = project_folder(state_dir(), server.folder)
    return folder / f"{server.name}.json"
