"""The manifest cache: what every plugin offers, kept so that a start imports none of them."""

import json
import os
import sys
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import field, frozen

from nanocoder.errors import PluginError
from nanocoder.hookspecs import RANK
from nanocoder.plugins.describer import describe_in_child
from nanocoder.plugins.discovery import Found, mtime_of, package_files
from nanocoder.values import EMPTY, Value
from nanocoder.version import VERSION

FORMAT = 5
DESCRIBE_DEADLINE_S = 10.0
"""How long one plugin may take to import before it is set aside."""


@frozen(eq=False, repr=False)
class Entry(Value):
    """One plugin as the manifest knows it.

    *since* is smaller than that of every plugin that came later.
    """

    name: str
    module: str
    distribution: str = ""
    version: str = ""
    description: Mapping[str, Any] = field(factory=dict)
    since: int = 0

    @property
    def error(self) -> str:
        """Why the plugin is set aside, or nothing."""
        return str(self.description.get("error", ""))

    @property
    def hooks(self) -> Mapping[str, Sequence[str]]:
        """The hooks that it implements, each with the names of the arguments that it takes."""
        return self.description.get("hooks", {})  # type: ignore[no-any-return]

    @property
    def is_policy(self) -> bool:
        """Tell whether it judges calls, results or requests, and may not be left out."""
        return bool(self.description.get("policy"))

    def rank(self, hook: str) -> int:
        """Return when it is asked where the first answer wins: the lowest number first."""
        rank: int = self.description.get("ranks", {}).get(hook, RANK)
        return rank

    def offers(self, what: str) -> Sequence[Mapping[str, Any]]:
        """Return the descriptions of its tools, or providers, or commands."""
        return self.description.get(what, ())  # type: ignore[no-any-return]


def refuse_other_gates(entry: Entry, found: Collection[str]) -> None:
    """Raise PluginError when a module judges by other hooks (*found*) than the manifest says.

    A policy that lost its hook would let everything pass, and nobody would see it.
    """
    from nanocoder.plugins.describe import GATES

    other = sorted(({*entry.hooks} ^ {*found}) & {*GATES})
    if other:
        raise PluginError(
            entry.name,
            f"its {' and '.join(other)} and the plugin manifest do not match;"
            " reinstall it to update the manifest",
        )


@frozen(eq=False, repr=False)
class Manifest(Value):
    """All entries by name, and the names of those that are new or changed since last time."""

    entries: Mapping[str, Entry]
    fresh: tuple[str, ...] = ()


def load(
    found: Sequence[Found],
    cache: Path | None,
    deadline_s: float = DESCRIBE_DEADLINE_S,
    refused: Mapping[str, str] = EMPTY,
) -> Manifest:
    """Return the manifest of *found*; a child process describes what the cache lacks.

    A cache that cannot be read is rebuilt; one that cannot be written is done without. *refused*
    says by name why some plugins are set aside: nothing of them is imported.
    """
    known = cached_records(cache)
    described: dict[str, dict[str, Any]] = {}
    missing: list[Found] = []
    for plugin in _unclashed(found, described):
        record = known.get(plugin.name)
        if plugin.name in refused:
            description = {"error": refused[plugin.name], **_guess(plugin)}
            described[plugin.name] = _record(plugin, description)
        elif record is not None and _still_holds(record, plugin):
            described[plugin.name] = record
        else:
            missing.append(plugin)
    if missing:
        described |= _described_now(missing, deadline_s)
        for name in described.keys() & known.keys():  # an upgrade does not make it a newcomer
            described[name]["since"] = known[name]["since"]
    # What is refused today may be agreed to tomorrow; until then what is known of it stays.
    cached = {name: record for name, record in described.items() if name not in refused}
    cached |= {name: known[name] for name in refused if name in known}
    if missing or known.keys() != cached.keys():
        _write(cache, cached)
    entries = {name: _entry(record) for name, record in sorted(described.items())}
    whole = [plugin.name for plugin in missing if not entries[plugin.name].error]
    fresh = tuple(whole) if known else ()
    return Manifest(entries, fresh)


def _described_now(missing: Sequence[Found], deadline_s: float) -> dict[str, dict[str, Any]]:
    answers = describe_in_child([(plugin.name, plugin.module) for plugin in missing], deadline_s)
    records = {}
    for plugin in missing:
        description = answers[plugin.name]
        if "error" in description:
            description |= _guess(plugin)
            # A failure is tried again when anything was installed: what it missed may be there
            # now. One that took too long is tried again only when it has changed itself.
            if not description.get("late"):
                description["sites"] = [mtime_of(plugin.site)]
        records[plugin.name] = _record(plugin, description)
    return records


def _unclashed(found: Sequence[Found], described: dict[str, dict[str, Any]]) -> list[Found]:
    """Set aside every plugin whose name two distributions claim.

    Neither may win by the order of a directory.
    """
    owners: dict[str, list[Found]] = {}
    for one in found:
        owners.setdefault(one.name, []).append(one)
    for name, claims in owners.items():
        if len(claims) > 1:
            both = " and ".join(sorted(f"{one.distribution} {one.version}" for one in claims))
            error = f"{both} both provide the plugin {name!r}; uninstall one"
            described[name] = _record(
                claims[0], {"error": error, "policy": "policy" in name.split("-")}
            )
    return [claims[0] for claims in owners.values() if len(claims) == 1]


def _record(one: Found, description: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": one.name,
        "module": one.module,
        "distribution": one.distribution,
        "version": one.version,
        "stamp": [one.site, one.stamp],
        "since": one.stamp,
        "description": description,
    }


def _entry(record: Mapping[str, Any]) -> Entry:
    return Entry(
        record["name"],
        record["module"],
        record["distribution"],
        record["version"],
        record["description"],
        record["since"],
    )


def _still_holds(record: Mapping[str, Any], one: Found) -> bool:
    """Tell whether a cached record is of this installation and its files are untouched."""
    description = record["description"]
    sites = [mtime_of(one.site)]
    return (
        record["module"] == one.module
        and record["version"] == one.version
        and record["stamp"] == [one.site, one.stamp]
        and description.get("sites", sites) == sites
        and all(mtime_of(path) == mtime for path, mtime in description.get("files", ()))
    )


def _key() -> list[Any]:
    return [FORMAT, VERSION, sys.version, sys.prefix]


def cached_records(cache: Path | None) -> dict[str, dict[str, Any]]:
    """Return what a cache holds of each plugin: nothing when any of its bytes is wrong."""
    if cache is None:
        return {}
    try:
        # A FIFO in its place would never end; whatever is no file is no cache.
        if not cache.is_file():
            return {}
        digest, _, text = cache.read_bytes().partition(b"\n")
        # One wrong bit could take a policy's hook away, and nobody would see it.
        if digest != _digest(text):
            return {}
        data = json.loads(text)
        return data["plugins"] if data["key"] == _key() else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _digest(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)


def _write(cache: Path | None, described: Mapping[str, Any]) -> None:
    if cache is None:
        return
    text = json.dumps({"key": _key(), "plugins": described}).encode()
    temporary = cache.with_name(f".{cache.name}.{os.getpid()}")
    try:
        cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_bytes(_digest(text) + b"\n" + text)
        os.replace(temporary, cache)
        _remove_leftovers(cache)
    except OSError:
        # Where the folder is no folder, there is nothing to remove either.
        with suppress(OSError):
            temporary.unlink()


def _remove_leftovers(cache: Path) -> None:
    """Remove what writers that were killed have left beside the cache."""
    for path in cache.parent.glob(f".{cache.name}.*"):
        with suppress(OSError, ValueError, OverflowError):
            try:
                os.kill(int(path.suffix[1:]), 0)
            except ProcessLookupError:
                path.unlink()


def _guess(one: Found) -> dict[str, Any]:
    """Say what a plugin that was not imported may be, so that leaving it out opens no gate."""
    from importlib.machinery import PathFinder

    from nanocoder.plugins.describe import GATES

    spec = PathFinder.find_spec(one.module.split(".")[0])
    files = package_files(spec.origin or "") if spec else []
    guards = any(gate in _text_of(Path(path)) for path, _ in files for gate in GATES)
    policy = guards or "policy" in one.name.split("-")
    return {"policy": policy, "files": files}


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
