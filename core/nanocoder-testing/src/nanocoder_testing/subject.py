"""The plugin under test of the contract suite, found from the test's folder, imported once."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import frozen
from nanocoder.hooks.dispatch import Implementation
from nanocoder.plugins import Plugins
from nanocoder.plugins.introspect import describe
from nanocoder.provider import ProviderSpec
from nanocoder.tools.tool import ANY_TOOL, Tool
from nanocoder_discovery import GROUP, find_plugins, site_paths


@frozen(slots=False)
class Subject:
    """One plugin under test. *folder* is that of its project, if known."""

    name: str
    module_name: str
    folder: Path | None = None

    @cached_property
    def module(self) -> ModuleType:
        """The plugin's module; raises what its import raises."""
        return import_module(self.module_name)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The plugin's description for the manifest; raises PluginError."""
        return describe(self.module, self.name)

    @property
    def is_whole(self) -> bool:
        """Return True if the plugin loads; the test that loads it reports an error."""
        try:
            return bool(self.description)
        except BaseException:  # noqa: BLE001 - sys.exit in a plugin is a failure, too
            return False

    def offers(self, what: str) -> list[str]:
        """Return the names of the tools, providers … that it offers."""
        return [entry["name"] for entry in self.description.get(what, ())] if self.is_whole else []

    def implements(self, hook: str) -> bool:
        """Return True if the plugin implements *hook*."""
        return self.is_whole and hook in self.description["hooks"]

    def alone(self) -> Plugins:
        """Return the plugin with only the plugins whose tools it declares to call."""
        plugins = Plugins()
        plugins.add(self.module, self.name)
        steps = {name for tool in self.description.get("tools", ()) for name in tool["composed_of"]}
        for entry, offer in installed().offers("tools") if steps else ():
            if (offer["name"] in steps or ANY_TOOL in steps) and entry.name not in plugins.entries:
                plugins.add(import_module(entry.module), entry.name)
        return plugins

    def tool(self, name: str) -> Tool[..., Any]:
        """Return one of its tools, with its handler."""
        return self.alone().tools()[name].real()

    def implementation(self, hook: str) -> Implementation:
        """Return its function for *hook*, wrapped as by the core."""
        (implementation,) = [
            candidate
            for candidate in self.alone().implementations(hook)
            if candidate.plugin == self.name
        ]
        return implementation

    def spec(self, name: str) -> ProviderSpec:
        """Return one of its providers."""
        offer = self.alone().offered("providers", name)
        if offer is None:
            raise LookupError(f"{self.name} offers no provider {name!r}")
        spec: ProviderSpec = offer[1]
        return spec


@cache
def installed() -> Plugins:
    """Return all installed plugins, described once per test run."""
    return Plugins.installed(None)


@cache
def subjects(start: str, plugin_name: str) -> tuple[Subject, ...]:
    """Return the plugins to test: *plugin_name*, else the one of the project around *start*.

    Without either, every installed plugin. Raises LookupError for a name that is not installed.
    """
    project = None if plugin_name else _project_around(Path(start))
    if project is not None:
        return _of_project(project)
    installed = tuple(Subject(plugin.name, plugin.module) for plugin in find_plugins(site_paths()))
    chosen = tuple(subject for subject in installed if plugin_name in {subject.name, ""})
    if plugin_name and not chosen:
        have = ", ".join(subject.name for subject in installed) or "none"
        raise LookupError(f"--nanocoder-plugin={plugin_name}: no such plugin; installed: {have}")
    return chosen


def _project_around(path: Path) -> Path | None:
    """Return the plugin's project that contains *path*; None for installed files."""
    if any(path.is_relative_to(site) for site in site_paths()):
        return None
    for folder in path.parents:
        if (folder / "pyproject.toml").is_file():
            return folder if _entry_points(folder) else None
    return None


def _entry_points(folder: Path) -> dict[str, str]:
    with (folder / "pyproject.toml").open("rb") as file:
        groups = tomllib.load(file).get("project", {}).get("entry-points", {})
    return dict(groups.get(GROUP, {}))


def _of_project(folder: Path) -> tuple[Subject, ...]:
    return tuple(
        Subject(name, value.split("[")[0].split(":")[0].strip(), folder)
        for name, value in _entry_points(folder).items()
    )


def loaded_by(module: str, slow: Sequence[str]) -> list[str]:
    """Return the modules of *slow* that importing *module* loads in a bare interpreter.

    Empty if *module* cannot be imported: the test that loads the plugin reports that.
    """
    code = (
        f"import sys, nanocoder\nfrom nanocoder import hookimpl, tool\nbefore = set(sys.modules)\n"
        f"import {module}\nprint(*[name for name in {list(slow)!r}"
        " if name in sys.modules and name not in before])"
    )
    paths = os.pathsep.join(filter(os.path.isabs, sys.path))
    environment = {"PATH": os.defpath, "PYTHONPATH": paths}
    command = [sys.executable, "-c", code]
    process = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return process.stdout.splitlines()[-1].split() if process.stdout.strip() else []
