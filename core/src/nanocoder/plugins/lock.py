"""The plugin lock: which plugins, versions and contents a person has agreed to.

`nanocoder plugins lock` writes it, `plugins sync` compares, and `[plugins] strict = true` loads
only what it names.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import asdict, frozen

from nanocoder.errors import ConfigError
from nanocoder.plugins.discovery import Found

FORMAT = 2


@frozen
class Locked:
    """One plugin as it was agreed to.

    *record* is the SHA-256 of its distribution's RECORD file and of what lies in its package: an
    edit in place leaves the RECORD as it was.
    """

    distribution: str
    version: str
    module: str
    record: str


def locked_now(found: Sequence[Found]) -> dict[str, Locked]:
    """Return what is installed at this moment, ready to be locked."""
    return {one.name: _locked(one) for one in found}


def write_lock(path: Path, plugins: Mapping[str, Locked]) -> None:
    """Write the lock in one step; raises ConfigError when it cannot be written."""
    data = {
        "format": FORMAT,
        "plugins": {name: asdict(one) for name, one in sorted(plugins.items())},
    }
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise ConfigError(f"the plugin lock {path} cannot be written: {error.strerror}") from error


def read_lock(path: Path) -> dict[str, Locked]:
    """Return the lock; raises ConfigError when it is missing or damaged.

    Strict mode must not fall open.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ConfigError(
                f"the plugin lock {path} has another format; write it anew: nanocoder plugins lock"
            )
        return {name: Locked(**one) for name, one in data["plugins"].items()}
    except OSError as error:
        raise ConfigError(
            f"there is no plugin lock {path} ({error.strerror}); write one: nanocoder plugins lock"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the plugin lock {path} is damaged ({error}); write it anew: nanocoder plugins lock"
        ) from error


def differences(locked: Mapping[str, Locked], now: Mapping[str, Locked]) -> dict[str, str]:
    """Return, by plugin, how what is installed differs from what was locked."""
    found = dict.fromkeys(now.keys() - locked.keys(), "is not in the lock")
    found |= dict.fromkeys(locked.keys() - now.keys(), "is locked but not installed")
    for name in locked.keys() & now.keys():
        was, is_now = locked[name], now[name]
        if was.version != is_now.version:
            found[name] = f"is {is_now.version}, locked is {was.version}"
        elif was != is_now:
            found[name] = "has other contents than were locked"
    return dict(sorted(found.items()))


def _locked(one: Found) -> Locked:
    info = f"{one.distribution.replace('-', '_')}-{one.version}.dist-info"
    try:
        record = (Path(one.site) / info / "RECORD").read_bytes()
    except OSError:
        record = b""
    digest = hashlib.sha256(record)
    folder, files = _package(one.module)
    for path in files:
        with suppress(OSError):
            content = hashlib.sha256(path.read_bytes()).digest()
            digest.update(content + os.fsencode(path.relative_to(folder)))
    return Locked(one.distribution, one.version, one.module, digest.hexdigest())


def _package(module: str) -> tuple[Path, list[Path]]:
    """Return the folder of a module's package and its files, without what the interpreter makes."""
    from importlib.machinery import PathFinder  # only a lock needs it

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
