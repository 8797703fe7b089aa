"""`nanocoder config`: every value, where it comes from, and what could stand there."""

import argparse
import json
import os
from typing import Any

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.config import trust, untrust
from nanocoder.config.document import project_file
from nanocoder.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Show values, say where one comes from, print the schema, or trust a folder."""
    host = Host(arguments.cwd)
    if arguments.action == "trust":
        return _trust(host)
    if arguments.action == "untrust":
        untrust(host.cwd)
        print_line(f"{host.cwd}: its configuration can only tighten.")
        return 0
    if arguments.action == "where":
        return _where(host, arguments)
    if arguments.action == "schema":
        print_json(host.config.json_schema(plugin_classes(host)))
        return 0
    return _show(host, arguments)


def _trust(host: Host) -> int:
    file = project_file(host.cwd)
    if not os.path.lexists(file):
        # To trust what is not there would say nothing about the file that comes later.
        raise UsageError(f"there is nothing to trust: {file} does not exist; nothing was changed")
    trust(host.cwd)
    print_line(f"{host.cwd}: its configuration counts in full until it changes.")
    return 0


def plugin_classes(host: Host) -> dict[str, type]:
    """Return the settings class of every plugin that has one, loading them."""
    classes = {name: host.plugins.settings_class(name) for name in list(host.plugins.entries)}
    return {name: cls for name, cls in classes.items() if cls is not None}


def _where(host: Host, arguments: argparse.Namespace) -> int:
    key, classes = arguments.key, plugin_classes(host)
    origin = host.config.where(key, classes)
    for notice in host.config.notices:
        if f": {key}: " in notice:
            host.say(notice)
    # A plugin that is not installed has keys without a value: nobody says what they mean.
    found = {name: value for name, value, _ in host.config.items(classes) if name == key}
    if arguments.output == "json":
        print_json({"key": key, "origin": str(origin), **({"value": found[key]} if found else {})})
    else:
        print_line(f"{key}{f' = {_written(found[key])}' if found else ''} ({origin})")
    return 0


def _written(value: Any) -> str:
    """Return a value nearly as config.toml has it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _show(host: Host, arguments: argparse.Namespace) -> int:
    rows: list[tuple[str, Any, str]] = [
        (key, value, str(origin)) for key, value, origin in host.config.items(plugin_classes(host))
    ]
    for notice in host.config.notices:
        host.say(notice)
    if arguments.output == "json":
        print_json([{"key": key, "value": value, "origin": origin} for key, value, origin in rows])
    else:
        print_table(
            ("key", "value", "from"),
            [(key, _written(value), origin) for key, value, origin in rows],
        )
    return 0
