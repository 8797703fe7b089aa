"""The configuration of one server: its command or URL, and the user's settings for it."""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

NAME: Final = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
KEYS: Final = (
    *("command", "args", "cwd", "env", "environment", "url", "headers"),
    *("timeout_s", "read_only", "for_small_models", "oauth", "sampling", "sandbox"),
)
PROJECT_KEYS: Final = ("command", "args", "env", "url", "headers", "type", "timeout_s")
"""The keys that a project's file may set; only the user may set the others."""
OAUTH_KEYS: Final = (
    *("client_id", "client_secret_variable", "issuer", "redirect_port"),
    *("grant", "private_key_variable", "algorithm", "scope"),
)
GRANT: Final = "client_credentials"
"""The only grant without a person."""
PLUGIN: Final = "mcp"
SAMPLER: Final = "mcp_sample"
"""The tool that asks the model for a server."""
MAX_PORT: Final = 65_536


@frozen
class Server:
    """One server: a *command* that speaks on its standard streams, or the *url* of one that runs.

    *env* are variables for the command; *environment* names variables of ours that it inherits.
    *timeout_s* is the limit of one call in seconds (None: the session's). *read_only* names tools
    that the user declares free of side effects, *for_small_models* those offered to small models.
    *oauth* is a client that the user registered by hand, for a server at a URL. *sampling*
    allows it to request answers of the model, with the user's approval. With *sandbox* it runs
    in the session's sandbox and its network. *cwd* is the directory that it starts in (None: the
    home directory); in the sandbox it starts in the workspace. *folder* is set for a server of a
    project's `.mcp.json`, which starts there.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(factory=dict)
    environment: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(factory=dict)
    timeout_s: float | None = None
    read_only: tuple[str, ...] = ()
    for_small_models: tuple[str, ...] = ()
    oauth: Mapping[str, str] = field(factory=dict)
    sampling: bool = False
    sandbox: bool = False
    folder: Path | None = None
    cwd: Path | None = None

    @property
    def launch(self) -> dict[str, Any]:
        """Launch settings as JSON; the user's consent is bound to all of them."""
        where = {"cwd": str(self.cwd)} if self.cwd else {}
        return {
            **where,
            "command": list(self.command),
            "url": self.url,
            "env": dict(self.env),
            "environment": list(self.environment),
            "headers": dict(self.headers),
        }

    def start_folder(self, workspace: Path) -> Path:
        """Return the directory that its process starts in.

        Outside of the sandbox no file of the workspace may decide what `npx` or `uvx` runs.
        """
        if self.sandbox or self.folder is not None:
            return workspace
        home = Path(os.path.expanduser("~"))
        return self.cwd or (home if home.is_dir() else Path("/"))

    @property
    def starts_with(self) -> str:
        """The command or the address, as a person reads it."""
        where = f" (in {self.cwd})" if self.cwd else ""
        return f"{self.url or shlex.join(self.command)}{where}".replace("\n", "\\n")


def as_name(text: str) -> str:
    """Return *text* as a part of a tool's name: lower-case letters, digits and _."""
    return re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")


def has_names_like(name: str, other: str) -> bool:
    """Return True if tools of the server *name* can be called like those of the server *other*."""
    first, second = f"{as_name(name)}_", f"{as_name(other)}_"
    return first.startswith(second) or second.startswith(first)


def server_of(name: str, table: object, folder: Path | None = None) -> Server:
    """Return the server that *table* describes; raises ValueError that names the problem."""
    where = f"servers.{name}"
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name for a server; use letters, digits, - and _")
    if not isinstance(table, dict):
        problem = f"expected a table with a command or a url, got {table!r:.60}"
        raise ValueError(f"{where}: {problem}")  # noqa: TRY004 - a value of a file
    _refuse_keys(where, table, folder)
    command = _texts(where, "command", table.get("command", ())) + _texts(
        where, "args", table.get("args", ())
    )
    url = table.get("url", "")
    if bool(command) == bool(url):
        raise ValueError(f"{where}: expected either a command or a url")
    if url and not (isinstance(url, str) and re.fullmatch(r"https?://[^\s/@]+(/\S*)?", url)):
        raise ValueError(f"{where}: url: expected http:// or https:// and a host, got {url!r:.80}")
    return Server(
        name,
        command,
        str(url),
        _pairs(where, "env", table),
        _texts(where, "environment", table.get("environment", ())),
        _pairs(where, "headers", table),
        _seconds(where, table.get("timeout_s")),
        _texts(where, "read_only", table.get("read_only", ())),
        _texts(where, "for_small_models", table.get("for_small_models", ())),
        _oauth(where, table),
        _is_on(where, "sampling", table),
        _is_on(where, "sandbox", table),
        folder,
        _directory(where, table.get("cwd")),
    )


def _refuse_keys(where: str, table: Mapping[str, Any], folder: Path | None) -> None:
    """Raise ValueError for a key that *table* may not have."""
    keys = KEYS if folder is None else PROJECT_KEYS
    unknown = sorted(table.keys() - {*keys})
    if unknown and folder is not None and unknown[0] in KEYS:
        raise ValueError(
            f"{where}: a project's file may not set {unknown[0]!r}; set it for a server of your own"
        )
    if unknown:
        raise ValueError(f"{where}: unknown key {unknown[0]!r}; known here: {', '.join(keys)}")


def _texts(where: str, key: str, value: object) -> tuple[str, ...]:
    """Return a tuple of strings; a single string becomes a tuple of one."""
    items = (value,) if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(_is_text(item) for item in items):
        raise ValueError(f"{where}: {key}: expected a list of texts, got {value!r:.60}")
    return tuple(map(str, items))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _pairs(where: str, key: str, table: Mapping[str, Any]) -> dict[str, str]:
    pairs = table.get(key, {})
    is_table = isinstance(pairs, dict) and all(isinstance(value, str) for value in pairs.values())
    if not is_table or any("\0" in text or "\n" in text for pair in pairs.items() for text in pair):
        raise ValueError(f"{where}: {key}: expected a table of texts, each on one line")
    return dict(pairs)


def _oauth(where: str, table: Mapping[str, Any]) -> dict[str, str]:
    pairs = _pairs(where, "oauth", table)
    if unknown := sorted(pairs.keys() - {*OAUTH_KEYS}):
        names = ", ".join(OAUTH_KEYS)
        raise ValueError(f"{where}: oauth: unknown key {unknown[0]!r}; known here: {names}")
    if pairs.keys() - {"issuer", "redirect_port"} and "client_id" not in pairs:
        raise ValueError(f"{where}: oauth: expected a client_id")
    if pairs.get("grant", GRANT) != GRANT:
        raise ValueError(f"{where}: oauth: grant: expected {GRANT!r}, got {pairs['grant']!r:.40}")
    if "grant" in pairs and not (
        "issuer" in pairs and pairs.keys() & {"client_secret_variable", "private_key_variable"}
    ):
        needed = "an issuer, and a client_secret_variable or a private_key_variable"
        raise ValueError(f"{where}: oauth: the grant {GRANT} needs {needed}")
    port = pairs.get("redirect_port", "0")
    if not (port.isdecimal() and int(port) < MAX_PORT):
        raise ValueError(f"{where}: oauth: redirect_port: {port!r:.20} is no port")
    return pairs


def _is_on(where: str, key: str, table: Mapping[str, Any]) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{where}: {key}: expected true or false, got {value!r:.40}")  # noqa: TRY004
    return value


def _directory(where: str, value: object) -> Path | None:
    if value is None:
        return None
    if not (_is_text(value) and str(value).startswith("/")):
        raise ValueError(f"{where}: cwd: expected an absolute path, got {value!r:.60}")
    return Path(str(value))


def _seconds(where: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError(f"{where}: timeout_s: expected a number of at least 0, got {value!r:.60}")
    return float(value)
