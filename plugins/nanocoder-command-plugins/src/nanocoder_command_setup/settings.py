"""Change of one value in the user's configuration file, and report of the effective value."""

import json
import re
import tomllib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from nanocoder import (
    Config,
    ConfigError,
    ConfigFile,
    Host,
    NanocoderError,
    UsageError,
    find_offer,
    misspelt,
    read_user_file,
    state_dir,
)
from nanocoder_files import holding, replace_file

from nanocoder_command_setup.editing import with_value, without_value

OFFERED_BY: Final = {"sandbox": "sandboxes", "dialect": "dialects", "store": "stores"}
"""The keys whose value is the name of something that a plugin offers, as the core calls those."""
CONFIG_LOCK: Final = "config.lock"
NOTHING: Final = (None, "", "none")


def set_value(arguments: Namespace, host: Host) -> int:
    """Set a value; returns the exit code."""
    key = tuple(arguments.key.split("."))
    value = _value(_current(host, key), arguments.value)
    with _alone(host):
        file = _file(host)
        code = _save(host, key, with_value(file, key, value))
    old: Any = file.data
    for name in key:
        old = old.get(name) if isinstance(old, dict) else None
    if isinstance(old, list | dict) and as_json(old) != as_json(value):
        host.say(f"it was {as_json(old)}")  # who meant to add to it has the old entries here
    return code


def unset(arguments: Namespace, host: Host) -> int:
    """Remove a value; returns the exit code."""
    key = tuple(arguments.key.split("."))
    with _alone(host):
        return _save(host, key, without_value(_file(host), key))


def as_json(value: Any) -> str:
    """Return a value nearly as config.toml has it."""
    return json.dumps(value, ensure_ascii=False, default=str)


@contextmanager
def _alone(host: Host) -> Iterator[None]:
    """Lock the configuration file between reading and writing it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(holding(state_dir() / CONFIG_LOCK))
        except OSError as error:
            problem = f"{host.config_path} cannot be locked: {error.strerror}; nothing was changed"
            raise ConfigError(problem) from None
        yield


def _file(host: Host) -> ConfigFile:
    """Return the user's configuration file, or an empty one."""
    return read_user_file(host.config_path) or ConfigFile(host.config_path, b"")


def _save(host: Host, key: tuple[str, ...], changed: ConfigFile) -> int:
    """Write the file, unless it would be invalid, and print the effective value."""
    try:
        Config.of_user(changed).items(host.settings_classes())
    except ConfigError as error:
        # The line of the new value is in no file.
        path_pattern, name = re.escape(str(changed.path)), re.escape(".".join(key))
        text = re.sub(rf"^{path_pattern}:\d+: (?={name}:)", "", str(error))
        raise ConfigError(f"nothing was changed, because this would be wrong: {text}") from error
    _check_choice(host, key[0], changed.data.get(key[0]))
    _refuse_new_slips(host, changed)
    path = changed.path.resolve()  # it may be a link into a directory of dotfiles
    try:
        replace_file(path, changed.text.encode())
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}; nothing was changed") from None
    name = ".".join(key)
    config = host.config.reread()
    values = {
        each: (value, origin) for each, value, origin in config.items(host.settings_classes())
    }
    if name not in values:
        host.print_line(f"{changed.path} is changed.")
        return 0
    value, origin = values[name]
    host.print_line(f"{name} = {as_json(value)} ({origin})")
    if origin.layer not in {"user", "default"}:
        host.say(f"{changed.path} is changed, but {origin} overrides it here")
    return 0


def _check_choice(host: Host, key: str, name: Any) -> None:
    """Raise ConfigError for a name that no plugin offers."""
    is_choice = (key, name) == ("sandbox", "auto")
    if key in OFFERED_BY and name not in NOTHING and not is_choice:
        try:
            find_offer(host.plugins, OFFERED_BY[key], key, name)
        except UsageError as error:
            raise ConfigError(f"nothing was changed: {error}") from error


def _refuse_new_slips(host: Host, changed: ConfigFile) -> None:
    """Raise ConfigError for a probable slip, which would prevent every run.

    A slip that is already in the file does not prevent the removal of another.
    """
    old = _slips(host, _file(host))
    if new := [line for line in _slips(host, changed) if line not in old]:
        raise ConfigError(f"nothing was changed, because this would be wrong: {new[0]}")


def _slips(host: Host, document: ConfigFile) -> list[str]:
    """Return a line for each name in *document* that was probably meant otherwise."""
    try:
        config = Config.of_user(document)
        host.plugins.renew_settings(config.settings)
        lines = misspelt(config, host.plugins)
    except NanocoderError:  # the file that is there may be wrong in other ways
        return []
    finally:
        host.plugins.renew_settings(host.config.settings)
    return [re.sub(rf"^{re.escape(str(document.path))}(:\d+)?: ", "", line) for line in lines]


def _current(host: Host, key: tuple[str, ...]) -> Any:
    """Return the value of *key*, or of an entry's kind in a table of entries."""
    values = {name: value for name, value, _ in host.config.items(host.settings_classes())}
    name = ".".join(key)
    if name in values:
        return values[name]
    if isinstance(values.get(".".join(key[:-1])), dict):
        return None
    host.config.where(name, host.settings_classes())  # raises, and names the nearest key
    raise UsageError(f"there is no configuration key {name!r}")  # although the file has it


def _value(current: Any, text: str) -> Any:
    """Parse *text* as the value of a key with the type of *current*."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text
    if isinstance(current, str) and not isinstance(value, str):
        return text  # the name of a model may be 1
    is_list = isinstance(current, tuple | list | set | frozenset)
    return [value] if is_list and not isinstance(value, list) else value
