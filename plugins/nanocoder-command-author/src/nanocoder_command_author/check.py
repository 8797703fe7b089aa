"""`nanocoder plugins check`: capabilities and the contract suite, of one plugin or of all."""

from argparse import Namespace
from typing import Final

from nanocoder import Host, UsageError
from nanocoder_kit_capabilities import ManifestError, Package, packages_in, scan, start_files

PREFIX: Final = "nanocoder-"
NO_SUITE: Final = (
    "checking needs the package nanocoder-testing: `nanocoder plugins install testing` installs it"
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
    packages = [each for each in packages_in() if not plugin or plugin in each.plugins]
    problems = [line for package in packages for line in undeclared(package)]
    for line in problems:
        host.say(line)
    return int(nanocoder_testing.check(plugin)) or bool(problems)


def undeclared(package: Package) -> list[str]:
    """Return a line for each place in a package's source that it declares no capability for."""
    try:
        capabilities = package.capabilities
    except ManifestError as error:
        return [f"{package.distribution}: {error}"]
    if capabilities is None:
        return []
    uses = [use for folder in package.folders for use in scan(folder)]
    return [
        f"{package.distribution}: {use}, and nanocoder-plugin.toml does not declare it"
        for use in uses
        if use.capability not in capabilities
    ]
