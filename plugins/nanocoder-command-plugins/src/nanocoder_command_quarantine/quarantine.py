"""The list of plugins that stay out until a person restores them; nanocoder reads it at a start."""

import json
import os
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder import Host, UsageError, did_you_mean, one_line, state_dir
from nanocoder_files import holding, private_directory, replace_file

FILE: Final = "quarantine.json"
LOCK: Final = "quarantine.lock"
REASON_CHARS: Final = 300


def add(failed: Mapping[str, str]) -> None:
    """Put plugins on the list, each with the reason; raises OSError or ConfigError."""
    if failed:
        reasons = {name: one_line(why, REASON_CHARS) for name, why in failed.items()}
        with holding(state_dir() / LOCK):
            write(state_dir(), {**read(state_dir()), **reasons})


def read(folder: Path) -> dict[str, str]:
    """Return the list; a damaged one is as good as none, since it only leaves plugins out."""
    try:
        rows = json.loads((folder / FILE).read_bytes())
        return {str(name): str(why) for name, why in rows.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def write(folder: Path, rows: Mapping[str, str]) -> None:
    """Replace the list in one step; raises OSError."""
    private_directory(folder)
    text = json.dumps(dict(sorted(rows.items())), indent=2) + "\n"
    replace_file(folder / FILE, os.fsencode(text))


def restore(arguments: Namespace, host: Host) -> int:
    """Take plugins off the list, or print it; returns the exit code."""
    rows = read(state_dir())
    if not arguments.names:
        for name, why in sorted(rows.items()):
            host.print_line(f"{name}: {why}")
        if not rows:
            host.print_line("No plugin waits to be restored.")
        for name, why in sorted(host.plugins.set_aside.items()):
            if name not in rows:
                host.print_line(f"{name}, which needs no restoring once it works: {why}")
        return 0
    for name in arguments.names:
        if name not in rows and (reason := host.plugins.set_aside.get(name)):
            raise UsageError(f"{name!r} is disabled at each start, until it works: {reason}")
        if name not in rows:
            raise UsageError(f"{name!r} is not quarantined{did_you_mean(name, rows)}")
    with holding(state_dir() / LOCK):
        rows = read(state_dir())
        write(state_dir(), {name: why for name, why in rows.items() if name not in arguments.names})
    host.print_line(f"Loaded again from the next start: {', '.join(arguments.names)}")
    return 0
