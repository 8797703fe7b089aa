"""`nanocoder plugins hooks`: where plugins can take part, and which do."""

from argparse import Namespace

from nanocoder import STYLES, Host
from nanocoder_kit_files.table import print_table


def run(arguments: Namespace, host: Host) -> int:
    """Print each hook with its calling style and the plugins that implement it; returns 0."""
    entries = host.plugins.entries.values()
    rows = [
        {
            "hook": hook,
            "style": style,
            "plugins": {entry.name: entry.version for entry in entries if hook in entry.hooks},
        }
        for hook, style in STYLES.items()
    ]
    if arguments.output == "json":
        host.print_json(rows)
    else:
        table = [(row["hook"], row["style"], ", ".join(row["plugins"]) or "none") for row in rows]
        print_table(("hook", "style", "plugins"), table)
    return 0
