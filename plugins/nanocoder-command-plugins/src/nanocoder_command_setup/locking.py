"""`nanocoder plugins sync`: compare the installed plugins with the lock file."""

from argparse import Namespace

from nanocoder import Host, user_config_dir
from nanocoder_discovery import (
    differences,
    installed_now,
    read_lock,
)

from nanocoder_command_setup.file_plugins import folder
from nanocoder_command_setup.packages import install


def sync(arguments: Namespace, host: Host) -> int:
    """Compare the installed plugins with the lock file; return 1 if they differ.

    If the person agrees, the missing packages are installed as locked.
    """
    locked, now = read_lock(user_config_dir() / "plugins.lock"), installed_now(files=str(folder()))
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
