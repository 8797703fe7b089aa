"""Installing and removing packages of plugins, with pip or uv."""

import re
import sys
from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanocoder import (
    Host,
    UsageError,
    cache_dir,
    did_you_mean,
    known_packages,
    nearest,
    state_dir,
)
from nanocoder_discovery import RECORD_KEY, read_cache, record_in, write_cache
from nanocoder_kit_process.capabilities import first_links, readable_distributions, start_files
from nanocoder_kit_process.temporary import TemporaryFolder

from nanocoder_command_setup.consent import NEEDS_PERSON, is_agreed, normal
from nanocoder_command_setup.file_plugins import install_file, installed_files, remove_files
from nanocoder_command_setup.importing import NOT_INSTALLED, broken_ones
from nanocoder_command_setup.installer import Ended, find_installer, is_path, run_installer
from nanocoder_command_setup.publisher import lines_about
from nanocoder_command_setup.sources import refuse_name, refuse_packages, refuse_path, settings_of
from nanocoder_command_setup.staged import Before, proposals_of, refuse_unseen

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP: Final = "nanocoder"
PREFIX: Final = "nanocoder-"
KINDS: Final = ("tool-", "policy-", "provider-", "ui-")
SET: Final = "set-"
FIRST_USE: Final = "installed; the next command reads {} for the first time, and names {} as new"
BROKEN: Final = (
    "{name} is installed but cannot be imported, so nothing of it works: {problem}."
    " Remove it: nanocoder plugins remove {name}, or install a version that works, and what it"
    " requires: nanocoder plugins install"
)
LARGE_BYTES: Final = 100_000_000
LEFT_BEHIND: Final = (
    "{folder} has {size} GB that plugins have downloaded or computed ({parts}); a plugin that needs"
    " it downloads it again, so you may delete it: rm -r {folder}"
)
SURE: Final = 0.75
"""Least similarity of a name, behind its kind, that is refused as a slip of a known one."""
ALIKE: Final = 0.92
"""Least similarity of a whole name that is refused so."""


def install(arguments: Namespace, host: Host) -> int:
    """Install packages, once the user has agreed to their capabilities; returns the exit code.

    Their code does not run before: they are unpacked and read in a temporary folder. A name that
    looks like a slip is refused.
    """
    files = [Path(name) for name in arguments.names if name.endswith(".py")]
    installed = [install_file(file, arguments, host) for file in files]
    if not all(installed):
        return NEEDS_PERSON if not host.is_interactive else 1
    packages = [_package(name) for name in arguments.names if not name.endswith(".py")]
    if not packages:
        return _report(installed, host)
    index = settings_of(host).index
    for package in packages:
        _refuse(package, host)
        for line in _lines_about(package, index):
            host.print_line(line)
    sources = [name for name in packages if _is_source(name)]
    with _unpacked([name for name in packages if name not in sources], index) as unpacked:
        proposals = [] if unpacked.code else proposals_of(unpacked.folder, packages, sources)
        refuse_packages(proposals, host)
        code = unpacked.code or is_agreed(proposals, arguments, host)
        if code and not unpacked.code:
            return code
        names = [name for proposal in proposals for name in proposal.package.plugins]
        if not code and (broken := _broken_before(names, unpacked.folder, sources)):
            for name, problem in broken.items():
                host.say(NOT_INSTALLED.format(name=name, problem=problem))
            return 1
        before = Before(unpacked.folder)
        options = ["--offline"] if unpacked.is_offline else []
        ended = (
            unpacked
            if code
            else run_installer("install" if sources else "take", *options, *packages, index=index)
        )
        if ended.code:
            return _failure(packages, ended, host)
        _refuse_others(before, is_complete=not sources)
    for line in start_files():
        host.say(line)
    return _report(names, host)


def _broken_before(plugins: list[str], folder: Path, sources: list[str]) -> dict[str, str]:
    """Return the import error of each of *plugins* that fails in *folder* or *sources*, by name.

    They are tried before they replace the installed ones. The requirements of folders of sources
    are installed later, so a missing module is no error there.
    """
    with _temporary_folder() as built:
        if sources and run_installer("build", "--no-deps", "--target", str(built), *sources).code:
            return {}  # the installation reports the error
        broken = dict(broken_ones(plugins, built, folder))
    missing = ModuleNotFoundError.__name__
    return {name: why for name, why in broken.items() if not (sources and why.startswith(missing))}


def _report(plugins: list[str], host: Host) -> int:
    """Report the installed plugins, and those that cannot be imported; returns the exit code."""
    broken = dict(broken_ones(plugins))
    if usable := [name for name in plugins if name not in broken]:
        host.say(FIRST_USE.format(", ".join(usable), "them" if usable[1:] else "it"))
    for name, problem in broken.items():
        host.say(BROKEN.format(name=name, problem=problem))
    return 1 if broken else 0


def _failure(packages: Iterable[str], ended: "Ended", host: Host) -> int:
    if ended.is_offline:
        host.say(
            f"{' '.join(packages)} could not be installed: no network, the package index cannot be"
            f" reached ({ended.cause}). To install without it, name a folder or a wheel, as in"
            f" nanocoder plugins install ./PATH, or set {ended.tool.upper()}_FIND_LINKS to a folder"
            " that has the wheels of the package and of all that it requires"
        )
        return 1
    host.say(
        f"{' '.join(packages)} could not be installed: {ended.tool} ended with {ended.code}, see"
        " above. If the package is not on your index, name a folder or a wheel, as in nanocoder"
        f" plugins install ./PATH, or set {ended.tool.upper()}_FIND_LINKS to a folder of wheels. A"
        " package without a wheel is built, which runs code of it: unpack it and name its folder"
    )
    return 1


def _is_source(name: str) -> bool:
    """Return True if *name* is the path of a folder; a name without a slash is a package."""
    path = name.partition("[")[0]
    return (path in {".", ".."} or "/" in path) and Path(path).is_dir()


@contextmanager
def _unpacked(packages: list[str], index: str = "") -> Iterator[Ended]:
    """Unpack the wheels of *packages* and their requirements in a folder, without running code.

    The folder is removed afterwards, by the next installation if this one is killed.
    """
    with _temporary_folder() as folder:
        ended = _unpack(folder, packages, index) if packages else Ended()
        yield ended._replace(folder=folder)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    folder = TemporaryFolder("nanocoder-install-")
    try:
        yield folder.path
    finally:
        folder.remove()


def _unpack(folder: Path, packages: list[str], index: str = "") -> Ended:
    """Unpack wheels into *folder*; without a network, those on this machine."""
    words = ("--target", str(folder), *packages)
    ended = run_installer("unpack", *words, index=index)
    if ended.is_offline and ended.tool == "uv" and first_links() and not index:
        again = run_installer("unpack", "--offline", *words)
        return ended if again.code else again._replace(is_offline=True)
    return ended


def _refuse_others(before: Before, *, is_complete: bool) -> None:
    """Remove packages that differ from those shown to the user; raises UsageError for them.

    Unless *is_complete*, a folder of sources was built, which may have installed further packages.
    """
    others = before.others(is_complete=is_complete)
    if others:
        run_installer("uninstall", *others)
        raise UsageError(
            f"{', '.join(others)}: removed, because what was installed is not what was shown;"
            " the index gave two different packages"
        )


def remove(arguments: Namespace, host: Host) -> int:
    """Uninstall the packages of plugins; returns the exit code.

    A person at a terminal is asked before.
    """
    packages, gone = installed_packages(), host.plugins.gone
    names = [_normal(name) for name in arguments.names]
    if unknown := [name for name in names if name not in {*packages, *gone, *installed_files()}]:
        raise UsageError(_not_installed(unknown[0], packages))
    if of_files := [name for name in names if name in installed_files()]:
        if not remove_files(of_files, arguments, host):
            host.print_line("Nothing was removed.")
            return 1
        _agree_to_absence(of_files)
        names = [name for name in names if name not in of_files]
    leaving = list(dict.fromkeys(packages[name] for name in names if name in packages))
    others = [name for name in packages if packages[name] in leaving and name not in names]
    others = [name for name in others if name != _normal(packages[name])]
    also = f", and with it {', '.join(others)}" if others else ""
    is_asked = leaving and host.is_interactive and not arguments.yes
    if is_asked and not host.agrees(f"Uninstall {', '.join(leaving)}{also}?"):
        host.print_line("Nothing was removed.")
        return 1
    if also and not is_asked:
        host.say(f"uninstalling {', '.join(leaving)}{also}")
    ended = run_installer("uninstall", *leaving) if leaving else Ended()
    if ended.code:
        host.say(f"nothing was removed: {ended.tool} ended with {ended.code}, see above")
        return 1
    if named := sorted({*names} & gone.keys()):
        host.print_line(f"{', '.join(named)}: gone already; sessions start without it.")
    _agree_to_absence({*names, *(name for name in packages if packages[name] in leaving)})
    _tell_downloads(host)
    return 0


def _not_installed(name: str, packages: Collection[str]) -> str:
    # People leave out the kind, as in "skill" for tool-skill.
    short = sorted(each for each in packages if each.endswith(f"-{name}"))
    hint = did_you_mean(short[0] if short else name, packages, ";", cutoff=SURE)
    return (
        f"no plugin {name!r} is installed{hint}"
        " `nanocoder plugins list` names them. Nothing was removed"
    )


def _tell_downloads(host: Host) -> None:
    """Name the folder of what plugins have downloaded, if it is large."""
    folder = cache_dir()
    size = sum(path.lstat().st_size for path in folder.rglob("*"))
    if size >= LARGE_BYTES:
        parts = ", ".join(sorted(path.name for path in folder.iterdir()))
        host.say(LEFT_BEHIND.format(size=f"{size / 1e9:.1f}", folder=folder, parts=parts))


def _agree_to_absence(names: Collection[str]) -> None:
    """Have the next start of this environment not miss the plugins *names*."""
    record = record_in(state_dir())
    recorded = read_cache(record, RECORD_KEY).get("plugins", {})
    remaining = {name: row for name, row in recorded.items() if name not in names}
    write_cache(record, {"key": RECORD_KEY, "plugins": remaining})


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


def is_set(package: str) -> bool:
    """Return True if *package* is a set: a list of plugins."""
    return _normal(package).startswith(SET)


def missing_requirements() -> Iterator[tuple[str, list[str]]]:
    """Yield each installed plugin or set with missing requirements, and these.

    Requirements with a marker (an extra, a Python, a system) are left out.
    """
    packages = {*installed_packages().values()}
    distributions = _distributions()
    present = {_index_name(each.name) for each in distributions}
    for each in distributions:
        if each.name not in packages:
            continue
        plain = [line for line in each.requires or () if ";" not in line]
        names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in plain]
        missing = [name for name in names if _index_name(name) not in present]
        if missing:
            yield each.name, missing


def _index_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _distributions() -> "list[Distribution]":
    """Return the distributions whose metadata can be read, sorted by name."""
    named = readable_distributions(sys.path)
    return [named[name] for name in sorted(named)]


def _package(name: str) -> str:
    """Return the package of a plugin, with the extras and version that follow its name.

    A package of ours may have several plugins, and the prefix may be missing before a kind of
    `plugins new`, as in "tool-NAME"; any other name is that of the package.
    """
    if is_path(name):
        return name
    plugin = re.split(r"[^\w.-]", name, maxsplit=1)[0]
    if package := known_packages().get(_normal(plugin)):
        return package + name.removeprefix(plugin)
    return PREFIX + name if plugin.lower().replace("_", "-").startswith(KINDS) else name


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix(PREFIX)


def _refuse(package: str, host: Host) -> None:
    """Raise UsageError for a package whose source or name is refused before it is shown."""
    if is_path(package.partition("[")[0]):
        refuse_path(package, host)
    else:
        refuse_name(normal(_own_name(package)), host)
    _refuse_slip(package)
    refuse_unseen(package)


def _refuse_slip(package: str) -> None:
    """Raise UsageError for a name that resembles one of ours: anyone may own that package."""
    name = _own_name(package)
    if _is_ours(name) or name in installed_packages().values():
        return
    own = name.removeprefix(PREFIX)
    kind, _, rest = own.partition("-")
    start, packages = f"{kind}-", known_packages()
    others = [other.removeprefix(start) for other in packages if other.startswith(start)]
    close = [packages[start + other] for other in nearest(rest, others, limit=1, cutoff=SURE)]
    ours = {f"{PREFIX}{name}": package for name, package in packages.items()}
    ours |= {package: package for package in packages.values()}
    for word in (name, PREFIX + own):
        close += [ours[each] for each in nearest(word, ours, limit=1, cutoff=ALIKE)]
    if close:
        hint = did_you_mean(name, close[:1], cutoff=0.0)
        raise UsageError(f"{name!r} is not a package of nanocoder{hint} Nothing was installed")


def _own_name(package: str) -> str:
    """Return the name in a requirement, without extras and versions."""
    return re.split(r"[\[<>=!~; @]", package, maxsplit=1)[0].lower().replace("_", "-")


def _is_ours(name: str) -> bool:
    return name in known_packages().values() or name in known_packages()


def _lines_about(package: str, index: str = "") -> Iterator[str]:
    """Yield lines about the publisher of a package by name that is not ours."""
    name = _own_name(package)
    if not (is_path(package.partition("[")[0]) or _is_ours(name)):
        yield from lines_about(name, index or find_installer().address())
