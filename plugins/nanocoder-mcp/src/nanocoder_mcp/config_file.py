"""The servers in the user's configuration file: a table is appended or removed."""

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final

from nanocoder import Config, ConfigError, ConfigFile, Host, read_user_file, state_dir
from nanocoder_files import holding, replace_file

CONFIG_LOCK: Final = "config.lock"
"""Below the state's folder, and the same for every command that changes the file."""
TABLE: Final = ("plugins", "mcp", "servers")


def added(host: Host, name: str, table: Mapping[str, Any]) -> ConfigFile:
    """Return the file with the server *name*, or without a name with an empty table of the plugin.

    Raises: ConfigError where only a person can add it.
    """
    document = _document(host)
    key = (*TABLE, name) if name else TABLE[:2]
    header = ".".join(map(_quoted, key))
    pairs = "".join(f"{_quoted(each)} = {_toml(value)}\n" for each, value in table.items())
    gap = "\n" if document.text.strip() else ""
    text = f"{document.text.rstrip()}{gap and chr(10)}{gap}[{header}]\n{pairs}"
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        location = f"{document.path}:{document.line(TABLE)}: {'.'.join(TABLE)}"
        raise ConfigError(f"{location} is written on one line; add {name!r} by hand") from None
    return ConfigFile(document.path, text.encode())


def removed(host: Host, name: str) -> ConfigFile:
    """Return the file without the server *name*; raises ConfigError where only a person can."""
    document = _document(host)
    lines = document.text.splitlines(keepends=True)
    key, out = (*TABLE, name), set[int]()
    table: tuple[str, ...] = ()
    for statement in document.statements:
        table = statement.key if statement.is_header else table
        full = table if statement.is_header else table + statement.key
        if full[: len(key)] == key:
            out.update(range(statement.first, statement.last + 1))
    text = "".join(line for number, line in enumerate(lines, 1) if number not in out)
    changed = ConfigFile(document.path, text.encode())
    if not out or name in changed.data.get("plugins", {}).get("mcp", {}).get("servers", {}):
        line = document.line(key)
        raise ConfigError(f"{document.path}:{line}: {name!r} cannot be removed; do it by hand")
    return changed


def save(host: Host, change: Callable[[], ConfigFile]) -> None:
    """Write the configuration file that *change* returns, under the configuration's lock.

    Raises: ConfigError if the new file would be invalid; the old one stays.
    """
    try:
        with holding(state_dir() / CONFIG_LOCK):
            _save(host, change())
    except OSError as error:
        problem = f"{host.config_path} cannot be changed: {error.strerror}; nothing was changed"
        raise ConfigError(problem) from None


def _save(host: Host, changed: ConfigFile) -> None:
    try:
        Config.of_user(changed).items(host.settings_classes())
    except ConfigError as error:
        raise ConfigError(f"nothing was changed, because this would be wrong: {error}") from error
    # The path may be a symbolic link into a directory of dotfiles.
    replace_file(changed.path.resolve(), changed.text.encode())


def _document(host: Host) -> ConfigFile:
    return read_user_file(host.config_path) or ConfigFile(host.config_path, b"")


def _quoted(name: str) -> str:
    return (
        name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else _toml(name)
    )


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_quoted(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
