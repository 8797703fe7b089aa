"""`nanocoder plugins check`: the contract suite on one plugin, or on all."""

from argparse import Namespace
from typing import Final

from nanocoder import Host, UsageError, start_files

PREFIX: Final = "nanocoder-"
NO_SUITE: Final = (
    "checking needs the package nanocoder-testing: install it beside nanocoder, with pip, "
    "or with the command that installed nanocoder and `--with nanocoder-testing`"
)


def run(arguments: Namespace, host: Host) -> int:
    """Run the suite and return its exit code."""
    try:
        import nanocoder_testing  # an extra: it brings pytest and hypothesis along
    except ImportError as error:
        raise UsageError(NO_SUITE) from error

    plugin = arguments.name.removeprefix(PREFIX)
    if plugin and plugin not in host.plugins.entries:
        raise UsageError(f"there is no plugin {arguments.name!r}; see `nanocoder plugins list`")
    for line in start_files():
        host.say(line)
    return int(nanocoder_testing.check(plugin))
