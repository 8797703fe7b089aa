"""`nanocoder plugins check`: capabilities and the contract suite, of one plugin or of all."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen
from nanocoder import Host, UsageError
from nanocoder_kit_process.capabilities import (
    ManifestError,
    Package,
    packages_in,
    scan,
    start_files,
)

from nanocoder_command_author.importing import deeds_at_import
from nanocoder_command_author.testing import NO_KIT

PREFIX: Final = "nanocoder-"
NO_MANIFEST: Final = "there is no nanocoder-plugin.toml to declare it"


def _missing(name: str) -> str:
    folder = Path(name)
    if (folder / "pyproject.toml").is_file():
        folder_argument = shlex.quote(str(folder))
        path = str(folder) if folder.is_absolute() else f"./{folder}"
        return (
            f"{name!r} is a folder, and only installed plugins are checked by name:"
            f" `nanocoder plugins test {folder_argument}` checks it where it is,"
            f" `nanocoder plugins install {shlex.quote(path)}` installs it"
        )
    plugins = [
        plugin for each in packages_in() for plugin in each.plugins if each.distribution == name
    ]
    if plugins:
        return f"{name} has several plugins; name one: {', '.join(sorted(plugins))}"
    return f"there is no plugin {name!r}; see `nanocoder plugins list`"


def run(arguments: Namespace, host: Host) -> int:
    """Run the suite and return its exit code."""
    try:
        import nanocoder_testing  # an extra, which imports pytest and hypothesis
    except ImportError as error:
        raise UsageError(NO_KIT) from error

    plugin = arguments.name.removeprefix(PREFIX)
    if plugin and plugin not in host.plugins.entries:
        raise UsageError(_missing(arguments.name))
    for line in start_files():
        host.say(line)
    packages = [each for each in packages_in() if not plugin or plugin in each.plugins]
    undeclared_uses: list[str] = []
    for package in packages:
        at_import = done_at_import(package)
        lines = [*undeclared(package), *at_import.undeclared]
        for line in (*lines, *at_import.declared):
            host.say(line)
        undeclared_uses += lines
    code = int(nanocoder_testing.check(plugin))
    if reasons := list(_reasons(code, undeclared_uses)):
        sys.stdout.flush()  # the suite's last line may say that all passed
        host.say(f"the check failed: {'; '.join(reasons)}")
    return code or bool(undeclared_uses)


def _reasons(code: int, undeclared_uses: Sequence[str]) -> Iterator[str]:
    """Yield the reasons that the check as a whole failed."""
    if code:
        yield f"the contract suite ended with {code}, see above"
    if undeclared_uses:
        others = len(undeclared_uses) - 1
        yield undeclared_uses[0] + (f", and {others} more like it" if others else "")


def undeclared(package: Package) -> list[str]:
    """Return a line for each use in a package's source without a declared capability."""
    try:
        capabilities = package.capabilities
    except ManifestError as error:
        return [f"{package.distribution}: {error}"]
    reason = NO_MANIFEST if capabilities is None else "nanocoder-plugin.toml does not declare it"
    uses = [use for folder in package.folders for use in scan(folder)]
    return [
        f"{package.distribution}: {use}, and {reason}"
        for use in uses
        if capabilities is None or use.capability not in capabilities
    ]


@frozen
class AtImport:
    """Lines about a package's acts at its import, without and with a declared capability."""

    undeclared: list[str]
    declared: list[str]


def done_at_import(package: Package) -> AtImport:
    """Import a package in a process of its own, and return a line for each thing that it does.

    A package that declares nothing promises nothing: all that it does is in *declared*.
    """
    try:
        capabilities = package.capabilities
    except ManifestError:  # `undeclared` names it
        capabilities = None
    lines = AtImport([], [])
    for deed in deeds_at_import(package):
        if capabilities is None or deed.capability in capabilities:
            lines.declared.append(f"{package.distribution}: {deed}")
        else:
            reason = ", and nanocoder-plugin.toml does not declare it" if deed.capability else ""
            lines.undeclared.append(f"{package.distribution}: {deed}{reason}")
    return lines
