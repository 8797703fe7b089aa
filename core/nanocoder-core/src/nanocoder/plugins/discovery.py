"""Which plugins are installed: a raw scan of the real site directories that imports nothing.

`importlib.metadata` costs 30 ms of import and searches every entry of `sys.path`, the current
directory included; a package that lies in a hostile checkout would count as installed. Here only
the interpreter's own site directories are read.
"""

import os
from collections.abc import Iterable, Iterator

from attrs import frozen

from nanocoder.values import Value

GROUP = "nanocoder"
PREFIX = "nanocoder-"
MAX_ENTRY_POINTS_BYTES = 65_536


@frozen(eq=False, repr=False)
class Found(Value):
    """An entry point of our group: the plugin's *name*, its distribution and the module behind it.

    *stamp* changes when the distribution is installed anew.
    """

    name: str
    module: str
    distribution: str
    version: str
    site: str
    stamp: int


def site_directories() -> list[str]:
    """Return the interpreter's own site directories, never the current directory or PYTHONPATH."""
    import site

    directories = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        directories.append(site.getusersitepackages())
    return [path for path in dict.fromkeys(directories) if os.path.isabs(path)]


def scan(sites: Iterable[str]) -> list[Found]:
    """Return every entry point of our group below *sites*, sorted by name.

    The first site wins like in an import.
    """
    found: list[Found] = []
    seen: set[str] = set()
    for site in sites:
        for directory, stamp in sorted(_dist_infos(site)):
            distribution, _, version = directory[: -len(".dist-info")].partition("-")
            if distribution in seen:
                continue
            points = list(_entry_points(os.path.join(site, directory, "entry_points.txt")))
            if points:
                seen.add(distribution)
            dashed = distribution.replace("_", "-")
            found += [Found(name, module, dashed, version, site, stamp) for name, module in points]
    return sorted(found, key=lambda one: (one.name, one.distribution))


def libraries(sites: Iterable[str]) -> list[Found]:
    """Return nanocoder itself and the distributions made for it that are no plugins: kits.

    Each by the name of its distribution, without a module.
    """
    found: dict[str, Found] = {}
    for site in sites:
        for directory, stamp in sorted(_dist_infos(site)):
            distribution, _, version = directory[: -len(".dist-info")].partition("-")
            name = distribution.replace("_", "-")
            info = os.path.join(site, directory)
            if name in found or not (name.startswith(PREFIX) or _is_for_us(info)):
                continue
            if not any(_entry_points(os.path.join(info, "entry_points.txt"))):
                found[name] = Found(name, "", name, version, site, stamp)
    return list(found.values())


def _is_for_us(info: str) -> bool:
    text = _text(os.path.join(info, "METADATA"))
    return f"\nRequires-Dist: {PREFIX}" in text.replace("_", "-")


def packages_of(site: str, info: str) -> set[str]:
    """Return the names of the modules that a distribution brings, one that is linked included.

    *info* is its .dist-info folder in *site*.
    """
    files = [line.partition(",")[0] for line in _text(os.path.join(info, "RECORD")).splitlines()]
    names = {file.partition("/")[0].removesuffix(".py") for file in files if file.endswith(".py")}
    for file in files:
        if file.endswith(".pth") and "/" not in file:
            for folder in _text(os.path.join(site, file)).splitlines():
                names |= _modules_in(folder)
    return {name for name in names if name.isidentifier()}


def start_files(site: str, distribution: str) -> list[str]:
    """Return the .pth files of a distribution that run code whenever Python starts."""
    prefix = f"{distribution.replace('-', '_')}-"
    infos = [name for name, _ in _dist_infos(site) if name.startswith(prefix)]
    records = (_text(os.path.join(site, name, "RECORD")) for name in infos)
    files = (line.partition(",")[0] for record in records for line in record.splitlines())
    return [file for file in files if file.endswith(".pth") and _runs(os.path.join(site, file))]


def _runs(path: str) -> bool:
    """Tell whether a .pth file has a line that Python runs, and not paths alone."""
    return any(line.startswith(("import ", "import\t")) for line in _text(path).splitlines())


def _modules_in(folder: str) -> set[str]:
    """Return the packages in *folder*; a line of a .pth file may be something else."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
        return {name for name in names if os.path.isfile(os.path.join(folder, name, "__init__.py"))}
    except (OSError, ValueError):
        return set()


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _dist_infos(site: str) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(site) as entries:
            for entry in entries:
                if entry.name.endswith(".dist-info"):
                    yield entry.name, entry.stat().st_mtime_ns
    except OSError:
        return


def _entry_points(path: str) -> Iterator[tuple[str, str]]:
    """Yield name and module of our group's lines; a file that cannot be read has none."""
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_ENTRY_POINTS_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    if f"[{GROUP}]" not in text:
        return
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.split("[")[0].split(":")[0].strip()


def package_files(origin: str) -> list[tuple[str, int]]:
    """Return the Python files beside *origin* with their mtimes, so that an edit shows."""
    if not origin:
        return []
    folder = os.path.dirname(origin)
    paths = [origin]
    if os.path.basename(origin) == "__init__.py":
        paths = [
            os.path.join(folder, name)
            for name in sorted(os.listdir(folder))
            if name.endswith(".py")
        ]
    return [(path, mtime_of(path)) for path in paths]


def mtime_of(path: str) -> int:
    """Return the mtime in nanoseconds, 0 when there is no such file."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
