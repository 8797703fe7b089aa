"""`nanocoder config`: every value and its origin, changing one, and trusting a folder."""

import argparse
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder.cli.command_host import CommandHost
from nanocoder.cli.inside import refuse_in_a_call
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.cli.question import NEEDS_PERSON, is_agreed
from nanocoder.config.config import Config
from nanocoder.config.document import UnreadableError, project_file, read_project_bytes
from nanocoder.config.layers import hint
from nanocoder.config.places import user_config_dir
from nanocoder.config.trust import is_trusted, trust, untrust
from nanocoder.errors import ConfigError, PersonError, UsageError

NOT_CONFIRMED: Final = "Not trusted: no terminal to confirm on. Pass --yes to trust it anyway."


def run(arguments: argparse.Namespace) -> int:
    """Do the action that was named."""
    host = CommandHost(arguments.cwd)
    return ACTIONS[arguments.action](host, arguments)


def plugin_classes(host: CommandHost) -> dict[str, type]:
    """Return the settings class of every plugin that has one, loading them."""
    classes = {name: host.plugins.settings_class(name) for name in list(host.plugins.entries)}
    return {name: cls for name, cls in classes.items() if cls is not None}


def _show(host: CommandHost, arguments: argparse.Namespace) -> int:
    rows: list[tuple[str, Any, str]] = [
        (key, value, str(origin)) for key, value, origin in host.config.items(plugin_classes(host))
    ]
    for notice in host.config.notices:
        host.say(notice)
    if arguments.output == "json":
        print_json([{"key": key, "value": value, "origin": origin} for key, value, origin in rows])
        return 0
    print_table(
        ("key", "value", "from"), [(key, _written(value), origin) for key, value, origin in rows]
    )
    print_line()
    print_table(("file", "path", "status"), _files(host))
    return 0


def _files(host: CommandHost) -> list[tuple[str, str, str]]:
    """Return which files count here, and where those that are missing would be."""
    try:
        user = str(_user_file(host))
        mine = "read" if os.path.lexists(user) else "none yet; `nanocoder config set` creates it"
    except PersonError as error:
        user, mine = "none", str(error)
    project = project_file(host.cwd)
    state = "trusted" if host.config.trusted else "not trusted: it can only tighten"
    theirs = state if os.path.lexists(project) else "none"
    return [("yours", user, mine), ("this project's", str(project), theirs)]


def _where(host: CommandHost, arguments: argparse.Namespace) -> int:
    key, classes = arguments.key, plugin_classes(host)
    origin = host.config.where(key, classes)
    for notice in host.config.notices:
        if f": {key}: " in notice:
            host.say(notice)
    # The keys of a plugin that is not installed have no value: only the plugin knows its defaults.
    values = {name: value for name, value, _ in host.config.items(classes) if name == key}
    if arguments.output == "json":
        print_json(
            {"key": key, "origin": str(origin), **({"value": values[key]} if values else {})}
        )
    else:
        print_line(f"{key}{f' = {_written(values[key])}' if values else ''} ({origin})")
    return 0


def _path(host: CommandHost, arguments: argparse.Namespace) -> int:
    print_line(str(project_file(host.cwd) if arguments.project else _user_file(host)))
    return 0


def _schema(host: CommandHost, _: argparse.Namespace) -> int:
    print_json(host.config.json_schema(plugin_classes(host)))
    return 0


def _set(host: CommandHost, arguments: argparse.Namespace) -> int:
    from nanocoder.config.editing import with_value  # most commands change nothing

    classes = plugin_classes(host)
    key = tuple(arguments.key.split("."))
    value = _value(_current(host, classes, key), arguments.value)
    return _change(host, classes, key, lambda document: with_value(document, key, value))


def _unset(host: CommandHost, arguments: argparse.Namespace) -> int:
    from nanocoder.config.editing import without_value  # as above

    key = tuple(arguments.key.split("."))
    return _change(host, plugin_classes(host), key, lambda document: without_value(document, key))


def _change(
    host: CommandHost, classes: Mapping[str, type], key: tuple[str, ...], change: Callable[..., Any]
) -> int:
    """Change the person's file, unless that would make it wrong, and say what counts now."""
    from nanocoder.config.document import Document, read_user_file
    from nanocoder.config.editing import save

    refuse_in_a_call()
    host.refuse_foreign_places()
    path = _user_file(host)
    changed = change(read_user_file(path) or Document(path, b""))
    try:
        Config.of_user(changed).check(classes)
    except ConfigError as error:
        raise ConfigError(f"nothing was changed, because this would be wrong: {error}") from error
    save(changed)
    name = ".".join(key)
    config = Config.load(host.cwd)
    values = {each: (value, origin) for each, value, origin in config.items(classes)}
    if name not in values:
        print_line(f"{path} is changed.")
        return 0
    value, origin = values[name]
    print_line(f"{name} = {_written(value)} ({origin})")
    if origin.layer not in {"user", "default"}:
        host.say(f"{path} is changed, but {origin} overrides it here")
    return 0


def _current(host: CommandHost, classes: Mapping[str, type], key: tuple[str, ...]) -> Any:
    """Return the value of *key*, or of an entry's kind in a table of entries."""
    values = {name: value for name, value, _ in host.config.items(classes)}
    name = ".".join(key)
    if name in values:
        return values[name]
    table = values.get(".".join(key[:-1]))
    if isinstance(table, dict):
        return None
    raise UsageError(f"unknown configuration key {name!r}{hint(name, list(values))}")


def _value(current: Any, text: str) -> Any:
    """Return what *text* means for a key whose value is like *current*."""
    import tomllib

    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text
    if isinstance(current, str) and not isinstance(value, str):
        return text  # a model called 1 is no number
    is_list = isinstance(current, tuple | list | set | frozenset)
    return [value] if is_list and not isinstance(value, list) else value


def _trust(host: CommandHost, arguments: argparse.Namespace) -> int:
    file = project_file(host.cwd)
    if not os.path.lexists(file):
        # To trust what is not there would say nothing about the file that comes later.
        raise UsageError(f"nothing to trust: {file} does not exist")
    refuse_in_a_call()
    host.refuse_foreign_places()
    if is_trusted(host.cwd):
        print_line(f"{host.cwd} is trusted already.")
        return 0
    try:
        content = read_project_bytes(host.cwd)
    except UnreadableError as error:
        raise ConfigError(f"{file}: {error}") from None
    for line in _loosened(host):
        print_line(line)
    if not arguments.yes:
        if not host.is_interactive:
            host.say(NOT_CONFIRMED)
            return NEEDS_PERSON
        if not is_agreed("Trust these settings?"):
            print_line("Not trusted.")
            return 0
    trust(host.cwd, reviewed=content)
    print_line("Trusted. Its settings now apply; a change to the file revokes this.")
    return 0


def _loosened(host: CommandHost) -> list[str]:
    """Say what the project's file changes as soon as it is trusted."""
    classes = plugin_classes(host)
    # A variable of this shell may hide a setting today; the file will be trusted tomorrow, too.
    lasting = {key: text for key, text in os.environ.items() if not key.startswith("NANOCODER_")}
    before = Config.load(host.cwd, trusted=False, environment=lasting)
    now = {key: value for key, value, _ in before.items(classes)}
    then = Config.load(host.cwd, trusted=True, environment=lasting)
    rows = [(key, value, now.get(key)) for key, value, _ in then.items(classes)]
    notices = [f"  ignored: {notice}" for notice in then.notices]
    lines = [
        f"  {key} = {_written(value)}" + ("" if before is None else f"  (now {_written(before)})")
        for key, value, before in rows
        if value != before
    ]
    file = project_file(host.cwd)
    if not lines:
        return [f"{file} sets nothing that needs trust.", *notices]
    return [f"Once it is trusted, {file} sets:", *lines, *notices]


def _untrust(host: CommandHost, _: argparse.Namespace) -> int:
    untrust(host.cwd)
    print_line(f"{host.cwd} is not trusted: its settings can only tighten.")
    return 0


def _user_file(host: CommandHost) -> Path:
    host.refuse_foreign_places()
    return user_config_dir() / "config.toml"


def _written(value: Any) -> str:
    """Return a value nearly as config.toml has it."""
    return json.dumps(value, ensure_ascii=False, default=str)


ACTIONS: Final[Mapping[str, Callable[[CommandHost, argparse.Namespace], int]]] = {
    "show": _show,
    "where": _where,
    "path": _path,
    "set": _set,
    "unset": _unset,
    "schema": _schema,
    "trust": _trust,
    "untrust": _untrust,
}
