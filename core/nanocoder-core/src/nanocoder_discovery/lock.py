"""The lock file of approved plugins and of the libraries that they share.

It has the versions and digests of plugins, of nanocoder itself and of the libraries that depend on
it. `nanocoder plugins lock` writes it, `plugins sync` compares, and `[plugins] strict = true` loads
only locked plugins.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

from attrs import asdict
from nanocoder_files import replace_file
from nanocoder_schema import ConfigError, value

from nanocoder_discovery.installed import (
    Installed,
    distribution_of,
    file_plugins,
    find_libraries,
    find_plugins,
    modules_of,
    site_paths,
)

LOCK_FORMAT = 3
UNCHECKED = b"\1\0\0\0"
"""The flags of a compiled file that Python runs without checking its source."""


@value
class Locked:
    """One plugin, or library, as it was approved.

    *record* is the SHA-256 of its distribution's RECORD file and of the files in its package: an
    edit in place does not change the RECORD.
    """

    distribution: str
    version: str
    module: str
    record: str


def installed_now(sites: Sequence[str] | None = None, files: str = "") -> dict[str, Locked]:
    """Return the locked form of every plugin and shared library, by name.

    *files* is the folder of plugins of one file.
    """
    sites = site_paths() if sites is None else sites
    installed = [*find_libraries(sites), *find_plugins(sites), *file_plugins(files)]
    return {plugin.name: _locked(plugin) for plugin in installed}


def refused_by(path: Path) -> dict[str, str]:
    """Return, by plugin, the reason why the lock at *path* does not approve it.

    Nothing is imported. Raises: ConfigError without a lock, and if a library of a locked plugin is
    gone or was changed.
    """
    locked, now = read_lock(path), installed_now(files=str(path.parent / "plugins"))
    refused = {}
    for name, difference in differences(locked, now).items():
        if name in now and now[name].module:
            refused[name] = f"strict: it {difference} (nanocoder plugins lock accepts it)"
        elif name in locked:
            raise ConfigError(f"strict: {name} {difference} (nanocoder plugins lock accepts it)")
    return refused


def write_lock(path: Path, plugins: Mapping[str, Locked]) -> None:
    """Write the lock atomically; raises ConfigError if it cannot be written."""
    rows = {name: asdict(locked) for name, locked in sorted(plugins.items())}
    text = json.dumps({"format": LOCK_FORMAT, "plugins": rows}, indent=2) + "\n"
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise ConfigError(f"the plugin lock {path} cannot be written: {error.strerror}") from error


def read_lock(path: Path) -> dict[str, Locked]:
    """Return the lock; raises ConfigError if it is missing or damaged.

    Strict mode must not fail open.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        problem = f"the plugin lock {path} has another format; rewrite it with"
        if data["format"] == LOCK_FORMAT:
            return {name: Locked(**fields) for name, fields in data["plugins"].items()}
    except OSError as error:
        problem = f"there is no plugin lock {path} ({error.strerror}); write one"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"the plugin lock {path} is damaged ({error}); rewrite it with"
    raise ConfigError(f"{problem}: nanocoder plugins lock")


def differences(locked: Mapping[str, Locked], now: Mapping[str, Locked]) -> dict[str, str]:
    """Return, by plugin, the difference between the lock and the installation."""
    changes = dict.fromkeys(now.keys() - locked.keys(), "is not in the lock")
    changes |= dict.fromkeys(locked.keys() - now.keys(), "is locked but not installed")
    for name in locked.keys() & now.keys():
        was, is_now = locked[name], now[name]
        if was.version != is_now.version:
            changes[name] = f"is {is_now.version}, locked is {was.version}"
        elif was != is_now:
            changes[name] = "has other contents than the lock"
    return dict(sorted(changes.items()))


def _locked(installed: Installed) -> Locked:
    import hashlib  # only a lock needs it

    distribution = distribution_of(installed)
    digest = hashlib.sha256(((distribution and distribution.read_text("RECORD")) or "").encode())
    if os.path.isfile(installed.site):
        digest.update(Path(installed.site).read_bytes())
    for module in sorted(modules_of(installed)):
        folder, files = _package_files(module)
        for path in [*files, *filter(_is_unchecked, _compiled_files(files))]:
            with suppress(OSError):
                content = hashlib.sha256(path.read_bytes()).digest()
                # The name, too: two files that swap names are a change.
                digest.update(content + os.fsencode(path.relative_to(folder)))
    return Locked(installed.distribution, installed.version, installed.module, digest.hexdigest())


def _compiled_files(files: Iterable[Path]) -> Iterator[Path]:
    """Yield the compiled files that this interpreter would run in place of *files*."""
    for path in files:
        if path.suffix == ".py":
            name = f"{path.stem}.{sys.implementation.cache_tag}"
            names = (f"{name}{level}.pyc" for level in ("", ".opt-1", ".opt-2"))
            yield from (path.parent / "__pycache__" / name for name in names)


def _is_unchecked(path: Path) -> bool:
    """Return True if Python would run a compiled file without checking its source."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(8)[4:] == UNCHECKED
    return False


def _package_files(module: str) -> tuple[Path, list[Path]]:
    """Return the folder of a module's package and its files, except for compiled ones."""
    if os.path.isabs(module):
        return Path(module).parent, [Path(module)]
    # Outer packages need no file of their own: several distributions can share them.
    spec, places, parts = None, None, module.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), places)
        if spec is None or spec.origin:
            break
        places = spec.submodule_search_locations
    if spec is None or not spec.origin:
        return Path(), []
    origin = Path(spec.origin)
    if origin.name != "__init__.py":
        return origin.parent, [origin]
    files = (path for path in origin.parent.rglob("*") if path.is_file())
    return origin.parent, sorted(path for path in files if path.parent.name != "__pycache__")
