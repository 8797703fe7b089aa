"""Find the installed plugins without importing any of them.

importlib-metadata knows the formats (wheels, eggs, editable installs, zipped sites), but its import
takes 40 ms. A start compares `fingerprint`, a raw scan, with the one in the manifest and reads the
metadata again only when something was installed, upgraded or removed.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from nanocoder_schema import evolve, problem_of, value

if TYPE_CHECKING:
    from importlib_metadata import Distribution

GROUP = "nanocoder"
PREFIX = "nanocoder-"
FILE = re.compile(r"[A-Za-z][A-Za-z0-9_]*\.py")
FILES = "nanocoder_file"
"""The package of the modules of plugins of one file, which has no file itself."""
METADATA_FOLDERS = (".dist-info", ".egg-info")


@value
class Installed:
    """An entry point of our group: the plugin's *name*, its distribution and its module.

    For a plugin of one file, distribution and module are the path of that file. *stamp* changes
    when the distribution is reinstalled. *problem* is the reason why its metadata
    cannot be used. A library has no *module*, and the *name* of its distribution.
    """

    name: str
    module: str
    distribution: str = ""
    version: str = ""
    site: str = ""
    stamp: int = 0
    problem: str = ""

    @property
    def package(self) -> str:
        """The distribution with its version."""
        return f"{self.distribution} {self.version}".rstrip()


def site_paths() -> list[str]:
    """Return the interpreter's own site directories, then the zip files on its path.

    The current directory and PYTHONPATH are not used.
    """
    import site

    directories = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        directories.append(site.getusersitepackages())
    named = {os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    archives = [path for path in sys.path if os.path.isfile(path) and path not in named]
    return [path for path in dict.fromkeys([*directories, *archives]) if os.path.isabs(path)]


def fingerprint(sites: Iterable[str]) -> str:
    """Return a fingerprint that changes when a package is installed, upgraded or removed."""
    parts = []
    for site in sites:
        parts.append(f"{site} {mtime_of(site) if os.path.isfile(site) else ''}")
        for folder, stamp in sorted(_metadata_folders(site)):
            # An edit of this file in place does not change the mtime of its folder.
            entry_points = mtime_of(os.path.join(site, folder, "entry_points.txt"))
            parts.append(f"{folder} {stamp} {entry_points}")
    return "\n".join(parts)


def find_plugins(sites: Iterable[str]) -> list[Installed]:
    """Return every entry point of our group in *sites*, sorted by name.

    The first site wins, as in an import.
    """
    plugins: dict[str, list[Installed]] = {}
    for site, folder, stamp, distribution in _distributions(sites):
        if _has_our_group(distribution):
            owner = _identified(site, folder, stamp, distribution)
            plugins.setdefault(owner.distribution, _entry_points(owner, distribution))
    installed = [plugin for entry_points in plugins.values() for plugin in entry_points]
    return sorted(installed, key=lambda plugin: (plugin.name, plugin.distribution))


def file_plugins(folder: str) -> list[Installed]:
    """Return the plugins that are Python files in *folder*; `word_count.py` is `word-count`."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = {name: os.path.join(folder, name) for name in names if FILE.fullmatch(name)}
    return [
        Installed(name[:-3].replace("_", "-"), path, path, site=folder, stamp=mtime_of(path))
        for name, path in paths.items()
    ]


def import_problem(error: BaseException, module: str) -> str:
    """Return the reason why the import of a plugin's *module* failed, with its line."""
    return f"import failed: {problem_of(error, _module_name(module))}"


def _module_name(module: str) -> str:
    return f"{FILES}.{os.path.basename(module)[:-3]}" if os.path.isabs(module) else module


def import_plugin(module: str) -> ModuleType:
    """Import the module of a plugin by its name, or by the absolute path of its file."""
    if os.path.isabs(module):
        package = sys.modules.setdefault(FILES, ModuleType(FILES))
        package.__path__ = [os.path.dirname(module)]
    return import_module(_module_name(module))


def find_libraries(sites: Iterable[str]) -> list[Installed]:
    """Return nanocoder itself and the distributions that depend on it without being plugins."""
    libraries: dict[str, Installed] = {}
    for site, folder, stamp, distribution in _distributions(sites):
        if not _has_our_group(distribution):
            library = _identified(site, folder, stamp, distribution)
            if library.name.startswith(PREFIX) or _requires_us(distribution):
                libraries.setdefault(library.name, library)
    return list(libraries.values())


def modules_of(installed: Installed) -> set[str]:
    """Return the top-level modules of a distribution, including those of an editable install."""
    names = {installed.module} - {""}
    distribution = distribution_of(installed)
    for path in map(str, (distribution and distribution.files) or ()):
        if path.endswith(".py"):
            names.add(path.partition("/")[0].removesuffix(".py"))
        elif path.endswith(".pth") and "/" not in path:
            for folder in text_of(os.path.join(installed.site, path)).splitlines():
                names |= _packages_in(folder)
    return {it for it in names if os.path.isabs(it) or it.replace(".", "_").isidentifier()}


def _normal(name: str) -> str:
    """Return the normalized name at the beginning of a distribution's name or requirement."""
    return re.sub(r"[-_.]+", "-", re.split(r"[ ;<>=!~\[(]", name, maxsplit=1)[0]).lower()


def distribution_of(installed: Installed) -> "Distribution | None":
    """Return the distribution of *installed*; None if it is gone."""
    from importlib_metadata import Distribution

    matching = Distribution.discover(name=installed.distribution, path=[installed.site])
    return next(iter(matching), None)


def _distributions(sites: Iterable[str]) -> "Iterator[tuple[str, str, int, Distribution]]":
    """Yield (site, metadata folder, mtime, distribution) of each distribution."""
    from importlib_metadata import Distribution

    for site in sites:
        for folder, stamp in sorted(_metadata_folders(site)):
            yield site, folder, stamp, Distribution.at(os.path.join(site, folder))
        if os.path.isfile(site):
            for distribution in Distribution.discover(path=[site]):
                yield site, "", mtime_of(site), distribution


def _metadata_folders(site: str) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(site) as entries:
            for entry in entries:
                if entry.name.endswith(METADATA_FOLDERS):
                    yield entry.name, entry.stat().st_mtime_ns
    except OSError:
        return


def _has_our_group(distribution: "Distribution") -> bool:
    try:
        return f"[{GROUP}]" in (distribution.read_text("entry_points.txt") or "")
    except (OSError, ValueError):
        return False


def _identified(site: str, folder: str, stamp: int, distribution: "Distribution") -> Installed:
    try:
        name, version = distribution.name, distribution.version
    except (OSError, ValueError, KeyError):  # damaged: the folder's name has the same
        name, _, version = folder.rpartition(".")[0].partition("-")
    name = _normal(name)
    return Installed(name, "", name, version, site, stamp)


def _entry_points(owner: Installed, distribution: "Distribution") -> list[Installed]:
    try:
        points = distribution.entry_points.select(group=GROUP)
        return [evolve(owner, name=point.name, module=point.module) for point in points]
    except Exception as error:  # noqa: BLE001 - a policy among them must not disappear silently
        problem = f"its entry_points.txt cannot be read: {problem_of(error)}"
        return [evolve(owner, name=owner.name.removeprefix(PREFIX), problem=problem)]


def _requires_us(distribution: "Distribution") -> bool:
    try:
        requirements = distribution.requires or ()
    except (OSError, ValueError):
        return False
    return any(_normal(requirement).startswith(PREFIX) for requirement in requirements)


def _packages_in(folder: str) -> set[str]:
    """Return the packages in *folder*, a line of a .pth file, which may be no directory."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
        return {name for name in names if os.path.isfile(os.path.join(folder, name, "__init__.py"))}
    except (OSError, ValueError):
        return set()


def parts_of(package: str) -> list[str]:
    """Return the modules of an imported package, which it may import later.

    Sub-packages are omitted: they have the code of commands.
    """
    folders = filter(os.path.isdir, getattr(sys.modules.get(package), "__path__", ()))
    names = [name for folder in folders for name in os.listdir(folder)]
    return [f"{package}.{name[:-3]}" for name in names if name.endswith(".py") and name[0] != "_"]


def text_of(path: str) -> str:
    """Return the text of a file, "" if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def package_files(origin: str) -> list[tuple[str, int]]:
    """Return the Python files beside *origin* with their mtimes in ns, to detect edits."""
    if not os.path.isfile(origin):  # built in, or in a zip file, whose own mtime counts
        return []
    folder, file = os.path.split(origin)
    names = [file]
    if file == "__init__.py":
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    return [(path, mtime_of(path)) for path in (os.path.join(folder, name) for name in names)]


def mtime_of(path: str) -> int:
    """Return the mtime in nanoseconds, 0 if there is no such file."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
