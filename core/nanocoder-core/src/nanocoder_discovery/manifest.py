"""The manifest cache of all plugins' descriptions, so that a start imports none of them."""

import json
import os
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from attrs import Factory, asdict, astuple
from nanocoder_files import open_private, replace_file
from nanocoder_schema import evolve, value

from nanocoder_discovery.installed import (
    Installed,
    find_plugins,
    fingerprint,
    mtime_of,
    package_files,
    text_of,
)

FORMAT = 11
RECORD_KEY = [1, sys.prefix]
"""The format of the record of plugins, and the environment that it is for."""
DESCRIBE_DEADLINE_S = 10.0
"""The time in seconds that one plugin may take to import before it is disabled."""


@value
class Entry(Installed):
    """One plugin in the manifest.

    *since* orders plugins by their installation, the first one lowest.
    """

    description: Mapping[str, Any] = Factory(dict)
    since: int = 0

    def still_holds(self, plugin: Installed) -> bool:
        """Return True if the entry describes this installation with unchanged files."""
        sites = self.description.get("sites")  # of one that could not be described
        return (
            vars(plugin).items() <= vars(self).items()
            and (sites is None or sites == [mtime_of(plugin.site)])
            and all(mtime_of(path) == mtime for path, mtime in self.description.get("files", ()))
        )

    @property
    def error(self) -> str:
        """The reason why the plugin is disabled, or ""."""
        return str(self.description.get("error", ""))

    @property
    def hooks(self) -> Mapping[str, Sequence[str]]:
        """The implemented hooks, each with the names of the arguments that it takes."""
        return self.description.get("hooks", {})  # type: ignore[no-any-return]

    @property
    def is_policy(self) -> bool:
        """Return True if the plugin judges calls, results or requests, and so must be loaded."""
        return bool(self.description.get("policy"))

    def rank(self, hook: str, otherwise: int) -> int:
        """Return its rank for a *hook* whose first answer wins, the lowest first."""
        rank: int = self.description.get("ranks", {}).get(hook, otherwise)
        return rank

    def offers(self, what: str) -> Sequence[Mapping[str, Any]]:
        """Return the descriptions of its offers of kind *what*, such as "tools"."""
        return self.description.get(what, ())  # type: ignore[no-any-return]


class Describer(NamedTuple):
    """The code that describes plugins, and the *version* of the program that it belongs to.

    A child process runs *code*, see `describe_in_child`. *guess* gets the source of a plugin that
    could not be described, and returns the parts that may not be left out: "policy" and "hooks".
    """

    code: str
    version: str
    guess: Callable[[str], dict[str, Any]]


class Manifest(NamedTuple):
    """All entries by name, and the names of those that are new or changed since last time."""

    entries: Mapping[str, Entry]
    fresh: tuple[str, ...] = ()


def load(
    sites: Sequence[str],
    cache: Path | None,
    describer: Describer,
    deadline_s: float = DESCRIBE_DEADLINE_S,
    refused: Mapping[str, str] | None = None,
    files: Sequence[Installed] = (),
) -> Manifest:
    """Return the manifest of the plugins in *sites*, and of *files*, plugins of one file each.

    Metadata are read only if the fingerprint of *sites* has changed, and a child process describes
    plugins that are not in the cache. An unreadable cache is rebuilt; a writable one is optional.
    *refused* maps names of disabled plugins to reasons: they are not imported.
    """
    # Another interpreter, environment or version may describe plugins differently.
    key = [FORMAT, describer.version, sys.version, sys.prefix]
    current = fingerprint(sites)
    stored = read_cache(cache, key)
    cached = {name: Entry(*row) for name, row in stored.get("plugins", {}).items()}
    if is_current := stored.get("fingerprint") == current:
        in_sites = [Installed(*row) for row in stored["installed"]]
    else:
        in_sites = find_plugins(sites)
    installed = sorted([*in_sites, *files], key=attrgetter("name", "distribution"))
    problems = {**_static_problems(installed), **(refused or {})}
    entries = _cached_entries(installed, cached, problems, describer)
    missing = [plugin for plugin in installed if plugin.name not in entries]
    if missing:
        for name, entry in _describe_missing(missing, describer, deadline_s).items():
            is_known = name in cached  # an upgrade is no new installation
            entries[name] = evolve(entry, since=cached[name].since) if is_known else entry
    # A refused plugin may be accepted later, so its entry stays in the cache.
    to_store = {name: entry for name, entry in entries.items() if name not in problems}
    to_store |= {name: cached[name] for name in problems if name in cached}
    if missing or not is_current or cached.keys() != to_store.keys():
        plugins = {name: astuple(entry, recurse=False) for name, entry in to_store.items()}
        rows = [astuple(plugin, recurse=False) for plugin in in_sites]
        data = {"key": key, "fingerprint": current, "installed": rows, "plugins": plugins}
        write_cache(cache, data)
    # At a first start all plugins are new, which is not worth a notice.
    fresh = tuple(plugin.name for plugin in missing if not entries[plugin.name].error)
    return Manifest(dict(sorted(entries.items())), fresh if cached else ())


def missed(record: Path | None, entries: Mapping[str, Entry]) -> dict[str, tuple[str, bool]]:
    """Return the plugins of this environment's last start that are gone; update *record*.

    The result maps a plugin to its package and whether it is a policy. A policy stays in *record*
    until a person agrees that it is gone.
    """
    recorded = read_cache(record, RECORD_KEY).get("plugins", {})
    now = {name: [entry.package, entry.is_policy] for name, entry in entries.items()}
    gone = {name: row for name, row in recorded.items() if name not in now}
    now |= {name: row for name, row in gone.items() if row[1]}
    if now != recorded:
        write_cache(record, {"key": RECORD_KEY, "plugins": now})
    return gone


def record_in(state: Path) -> Path:
    """Return the path of the record of this environment's plugins, compared at each start."""
    return state / f"installed-{zlib.crc32(os.fsencode(sys.prefix)):08x}.json"


def _cached_entries(
    installed: Sequence[Installed],
    cached: Mapping[str, Entry],
    problems: Mapping[str, str],
    describer: Describer,
) -> dict[str, Entry]:
    """Return the entries that need no import, by name."""
    entries: dict[str, Entry] = {}
    for plugin in installed:
        entry = cached.get(plugin.name)
        if plugin.name in problems:
            description = {"error": problems[plugin.name], **_guess_description(plugin, describer)}
            entries.setdefault(plugin.name, _entry(plugin, description))
        elif entry is not None and entry.still_holds(plugin):
            entries[plugin.name] = entry
    return entries


def _entry(plugin: Installed, description: Mapping[str, Any]) -> Entry:
    return Entry(**asdict(plugin), description=description, since=plugin.stamp)


def _static_problems(installed: Sequence[Installed]) -> dict[str, str]:
    """Return, by name, the problems of plugins that are known without an import.

    A name that two distributions claim is refused to both: a directory's order must not decide.
    """
    problems = {plugin.name: plugin.problem for plugin in installed if plugin.problem}
    for name, claims in groupby(installed, key=attrgetter("name")):
        if len(owners := list(claims)) > 1:
            both = " and ".join(sorted(plugin.package for plugin in owners))
            problems[name] = f"{both} both provide the plugin {name!r}; uninstall one"
    return problems


def _describe_missing(
    missing: Sequence[Installed], describer: Describer, deadline_s: float
) -> dict[str, Entry]:
    from nanocoder_discovery.child import describe_in_child  # most starts describe none

    pairs = [(plugin.name, plugin.module) for plugin in missing]
    answers = describe_in_child(describer.code, pairs, deadline_s)
    for plugin in missing:
        description = answers[plugin.name]
        if "error" in description:
            description |= _guess_description(plugin, describer)
            # A failed plugin is tried again after any installation, which may have added a missing
            # dependency. One that timed out is tried again only after its own change.
            if not description.get("late"):
                description["sites"] = [mtime_of(plugin.site)]
    return {plugin.name: _entry(plugin, answers[plugin.name]) for plugin in missing}


def read_cache(cache: Path | None, key: Sequence[Any]) -> dict[str, Any]:
    """Return the content of a cache with this *key*; empty if it is missing or damaged."""
    if cache is None:
        return {}
    try:
        with os.fdopen(open_private(cache), "rb") as file:
            digest, _, text = file.read().partition(b"\n")
        # One wrong bit could silently remove a policy's hook.
        if digest != _digest(text):
            return {}
        data = json.loads(text)
        return data if data["key"] == key else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _digest(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)


def write_cache(cache: Path | None, data: Mapping[str, Any]) -> None:
    """Write *data* for `read_cache`; errors are ignored."""
    if cache is not None:
        text = json.dumps(data).encode()
        with suppress(OSError):
            replace_file(cache, _digest(text) + b"\n" + text)


def _guess_description(plugin: Installed, describer: Describer) -> dict[str, Any]:
    """Guess what a plugin that was not imported does, where leaving it out is less safe."""
    # PathFinder imports nothing, but knows only what lies directly on the path.
    spec = PathFinder.find_spec(plugin.module.split(".")[0]) if plugin.module else None
    origin = plugin.module if os.path.isabs(plugin.module) else spec and spec.origin
    files = package_files(origin or "")
    guess = describer.guess("\n".join(text_of(path) for path, _ in files))
    is_policy = guess["policy"] or "policy" in plugin.name.split("-")
    # The files of a zipped one cannot be inspected.
    return {**guess, "policy": is_policy or os.path.isfile(plugin.site), "files": files}
