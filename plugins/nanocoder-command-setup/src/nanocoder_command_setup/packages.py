"""Installing and removing packages of plugins, with pip or uv."""

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from typing import Final

from nanocoder import Host, UsageError, did_you_mean, known_packages, nearest, start_files

GROUP: Final = "nanocoder"
PREFIX: Final = "nanocoder-"
SET: Final = "set-"
SURE: Final = 0.75
"""How alike two names must be: anybody may own a package, and some names differ by little."""


def install(arguments: Namespace, host: Host) -> int:
    """Install packages, unless a name looks like a slip; returns the exit code."""
    packages = [_package(name) for name in arguments.names]
    for package in packages:
        _refuse_slip(package)
    tool, code = _pip("install", *packages)
    if not code:
        for line in start_files():
            host.say(line)
        return 0
    host.say(
        f"{' '.join(packages)} could not be installed: {tool} ended with {code}, see above."
        " If the package is not on your index, name a folder or a wheel, as in nanocoder plugins"
        f" install ./PATH, or set {tool.upper()}_FIND_LINKS to a folder of wheels"
    )
    return 1


def remove(arguments: Namespace, host: Host) -> int:
    """Uninstall the packages of plugins; returns the exit code."""
    packages = installed_packages()
    gone = [name for name in arguments.names if _normal(name) not in packages]
    if gone:
        hint = did_you_mean(_normal(gone[0]), packages, ";", cutoff=SURE)
        raise UsageError(
            f"no plugin {gone[0]!r} is installed{hint}"
            " `nanocoder plugins list` names them. Nothing was removed"
        )
    tool, code = _pip("uninstall", *{packages[_normal(name)]: "" for name in arguments.names})
    if code:
        host.say(f"nothing was removed: {tool} ended with {code}, see above")
    return 1 if code else 0


def installed_packages() -> dict[str, str]:
    """Return the packages of the installed plugins and sets, by each name that they go by."""
    packages: dict[str, str] = {}
    for distribution in _distributions():
        own = _normal(distribution.name)
        points = distribution.entry_points.select(group=GROUP)
        names = [point.name for point in points]
        if names or own.startswith(SET):
            packages |= dict.fromkeys([own, *names], distribution.name)
    return packages


def _distributions() -> list[importlib.metadata.Distribution]:
    """Return the distributions whose metadata can be read, sorted by name."""
    named = {each.metadata["Name"]: each for each in importlib.metadata.distributions()}
    return [named[name] for name in sorted(filter(None, named))]


def _package(name: str) -> str:
    """Return the package of a plugin that may be named without its prefix: tool-grep."""
    is_place = name in {".", ".."} or "/" in name or name.endswith((".whl", ".tar.gz"))
    is_whole = name.lower().replace("_", "-").startswith(PREFIX)
    return name if is_place or is_whole else PREFIX + name


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix(PREFIX)


def _refuse_slip(package: str) -> None:
    """Raise UsageError for a name that is nearly one of ours: anybody may own that package."""
    name = re.split(r"[\[<>=!~; @]", package, maxsplit=1)[0].lower().replace("_", "-")
    packages = known_packages()
    kind, _, rest = name.removeprefix(PREFIX).partition("-")
    start = f"{PREFIX}{kind}-"
    others = [other.removeprefix(start) for other in packages if other.startswith(start)]
    close = nearest(rest, others, limit=1, cutoff=SURE)
    is_known = name in packages or name in installed_packages().values()
    if name.startswith(PREFIX) and not is_known and close:
        hint = did_you_mean(name, [start + close[0]])
        raise UsageError(
            f"{name!r} is not a package of nanocoder{hint} Nothing was installed; to install it"
            f" anyway: pip install {name}"
        )


def _pip(action: str, *packages: str) -> tuple[str, int]:
    """Run pip, or uv where there is none, on this environment; returns which and its exit code."""
    yes = ["-y"] if action == "uninstall" else []
    tool = "pip" if importlib.util.find_spec("pip") else "uv"
    if tool == "pip":
        command = [sys.executable, "-P", "-m", "pip", action, *yes, *packages]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", action, "--python", sys.executable, *packages]
    else:
        raise UsageError(
            f"neither pip nor uv is available to {action} {' '.join(packages)} in {sys.prefix}:"
            " install one of them first"
        )
    return tool, subprocess.run(command, check=False).returncode
