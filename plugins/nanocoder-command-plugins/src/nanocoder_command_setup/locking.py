"""`nanocoder plugins lock` and `plugins sync`: the lock file of approved plugins."""

import json
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from attrs import asdict
from nanocoder import ConfigError, Host, state_dir, user_config_dir
from nanocoder_discovery import (
    LOCK_FORMAT,
    Locked,
    differences,
    installed_now,
    read_lock,
    record_in,
)
from nanocoder_files import replace_file

from nanocoder_command_setup.file_plugins import folder
from nanocoder_command_setup.packages import install


def write_lock(path: Path, plugins: Mapping[str, Locked]) -> None:
    """Write the lock atomically; raises ConfigError if it cannot be written."""
    rows = {name: asdict(locked) for name, locked in sorted(plugins.items())}
    text = json.dumps({"format": LOCK_FORMAT, "plugins": rows}, indent=2) + "\n"
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise ConfigError(f"the plugin lock {path} cannot be written: {error.strerror}") from error


def lock_path() -> Path:
    """Return the path of the lock file; raises ConfigError."""
    return user_config_dir() / "plugins.lock"


def lock(_: Namespace, host: Host) -> int:
    """Write the lock file of all installed plugins."""
    now = installed_now(files=str(folder()))
    write_lock(lock_path(), now)
    record_in(state_dir()).unlink(missing_ok=True)  # missing policies are approved, too
    count = sum(bool(locked.module) for locked in now.values())
    libraries = len(now) - count
    host.print_line(
        f"{lock_path()}: {count} plugins and {libraries} of their libraries are locked."
    )
    return 0


def sync(arguments: Namespace, host: Host) -> int:
    """Compare the installed plugins with the lock file; return 1 if they differ.

    If the person agrees, the missing packages are installed as locked.
    """
    locked, now = read_lock(lock_path()), installed_now(files=str(folder()))
    changed = differences(locked, now)
    for name, difference in changed.items():
        host.print_line(f"{name} {difference}")
    if not changed:
        host.print_line("Everything installed matches the lock.")
    missing = [locked[name] for name in sorted(locked.keys() - now)]
    names = dict.fromkeys(f"{it.distribution}=={it.version}" for it in missing if it.version)
    if names and (arguments.yes or host.is_interactive):
        return install(Namespace(yes=arguments.yes, names=[*names]), host)
    return 1 if changed else 0
