"""The core's `nanocoder doctor`: checks of configuration and plugins that work without any plugin.

A plugin that offers a fuller `doctor` adds its own checks to `core_checks`.
"""

import argparse
import sys
from collections.abc import Iterator

from nanocoder_console import print_json, print_line, print_table
from nanocoder_schema import NanocoderError, PersonError

from nanocoder.cli.host import Host
from nanocoder.session.setup import misspelt
from nanocoder.version import VERSION

NO_TOOLS = "none installed; nanocoder plugins install set-default adds the usual ones"
COLUMNS = ("check", "status", "detail")
Check = tuple[str, str, str]
"""The subject of a check, its status ("ok", "note" or "wrong"), and a detail for a person."""


def run(arguments: argparse.Namespace, host: Host) -> int:
    """Print the core's own checks and return 1 when one of them failed."""
    clean = getattr(sys.stderr, "clean", str)  # the redactor works for standard output, too
    checks = [(*check[:2], clean(check[2])) for check in core_checks(host)]
    is_ok = all(status != "wrong" for _, status, _ in checks)
    if arguments.output == "json":
        rows = [dict(zip(COLUMNS, check, strict=True)) for check in checks]
        print_json({"ok": is_ok, "checks": rows})
    else:
        print_table(COLUMNS, checks)
        print_line("\nAll is well." if is_ok else "\nSomething is wrong, see above.")
    return 0 if is_ok else 1


def core_checks(host: Host) -> Iterator[Check]:
    """Yield the core's own checks of its installation, workspace, plugins and configuration.

    A configuration that cannot be read is the last check.
    """
    yield "nanocoder", "ok", f"{VERSION}, Python {sys.version.split()[0]}, {sys.prefix}"
    try:
        config = host.config
    except PersonError as error:
        yield from (("configuration", "wrong", line) for line in str(error).split("\n"))
        return
    if problem := config.refusal or config.warning:
        yield "workspace", "wrong" if config.refusal else "note", problem
    checks: list[Check] = []
    try:
        checks += _plugin_checks(host)
        checks += [("configuration", "wrong", line) for line in misspelt(config, host.plugins)]
    except PersonError as error:  # of a lock, a wrapper, or of two plugins with one offer
        checks.append(("plugins", "wrong", str(error)))
    # Plugins' tables are read by now, so all ignored settings are known.
    notices = "; ".join(config.notices)
    yield "configuration", "note" if notices else "ok", notices or "no complaints"
    yield from checks


def _plugin_checks(host: Host) -> Iterator[Check]:
    plugins = host.plugins
    for name in sorted({*plugins.entries, *plugins.set_aside}):
        problem = plugins.set_aside.get(name) or _loading_problem(host, name)
        version = plugins.entries[name].version if name in plugins.entries else ""
        way = f"; without it: nanocoder plugins remove {name}" if name in plugins.set_aside else ""
        yield f"plugin {name}", "wrong" if problem else "ok", f"{problem}{way}" or version
    tools = plugins.tools()
    for report in plugins.reports:
        if report.plugin not in plugins.set_aside:  # these have a line of their own
            yield "plugins", "wrong", str(report)
    yield "tools", "ok" if tools else "note", ", ".join(tools) or NO_TOOLS


def _loading_problem(host: Host, name: str) -> str:
    """Load the plugin and its settings as a session would; return the problem, or ""."""
    try:
        for hook in host.plugins.entries[name].hooks:
            host.plugins.implementations(hook)
        host.plugins.settings(name)
    except NanocoderError as error:
        return str(error)
    return host.plugins.set_aside.get(name, "")
