"""`nanocoder config show`, `where` and `path`: effective values, their origins, and the files."""

import os
from argparse import Namespace
from collections.abc import Sequence

from nanocoder import Host, PersonError, project_file
from nanocoder_kit_files.table import print_table

from nanocoder_command_setup.settings import as_json


def show(arguments: Namespace, host: Host) -> int:
    """Print every value and where it comes from."""
    rows = [
        (key, value, str(origin))
        for key, value, origin in host.config.items(host.settings_classes())
    ]
    for notice in host.config.notices:
        host.say(notice)
    if arguments.output == "json":
        names = ("key", "value", "origin")
        host.print_json([dict(zip(names, row, strict=True)) for row in rows])
        return 0
    table = [(key, as_json(value), origin) for key, value, origin in rows]
    print_table(("key", "value", "from"), table)
    host.print_line()
    print_table(("file", "path", "status"), _files(host))
    return 0


def where(arguments: Namespace, host: Host) -> int:
    """Print where one value comes from."""
    key, classes = arguments.key, host.settings_classes()
    origin = host.config.where(key, classes)
    for notice in host.config.notices:
        if f": {key}: " in notice:
            host.say(notice)
    # The keys of a plugin that is not installed have no value: only the plugin knows its defaults.
    values = {name: value for name, value, _ in host.config.items(classes) if name == key}
    if arguments.output == "json":
        value = {"value": values[key]} if values else {}
        host.print_json({"key": key, "origin": str(origin), **value})
    else:
        host.print_line(f"{key}{f' = {as_json(values[key])}' if values else ''} ({origin})")
    return 0


def path(arguments: Namespace, host: Host) -> int:
    """Print the path of the user's file, or of the project's."""
    host.print_line(str(project_file(host.cwd) if arguments.project else host.config_path))
    return 0


def _files(host: Host) -> Sequence[tuple[str, str, str]]:
    """Return (owner, path, state) of each configuration file that applies or could be created."""
    try:
        user = str(host.config_path)
        mine = "read" if os.path.lexists(user) else "none yet; `nanocoder config set` creates it"
    except PersonError as error:
        user, mine = "none", str(error)
    project = project_file(host.cwd)
    state = "trusted" if host.config.trusted else "not trusted: it can only tighten"
    theirs = state if os.path.lexists(project) else "none"
    return [("yours", user, mine), ("this project's", str(project), theirs)]
