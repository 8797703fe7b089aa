"""Installed packages, by their files: the plugins, and those that run code at a start."""

import site
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import frozen

from nanocoder_kit_process.capabilities.capabilities import NONE, Capabilities
from nanocoder_kit_process.capabilities.manifest import read_manifest

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP: Final = "nanocoder"
SCRIPTS: Final = ("console_scripts", "gui_scripts")
START_MODULES: Final = frozenset({"sitecustomize", "usercustomize"})
"""The modules that Python imports at each start, if there are any."""


@frozen
class Package:
    """A distribution: *plugins* are the names of its plugins, *folders* where their modules are.

    For a module that is a single file, *folders* has that file. *start_files* are those of its
    files by which it runs code whenever Python starts, *scripts* the names of its programs. A
    library has neither *plugins* nor *folders*.
    """

    distribution: str
    version: str
    plugins: tuple[str, ...]
    folders: tuple[Path, ...]
    start_files: tuple[str, ...]
    scripts: tuple[str, ...] = ()

    @property
    def capabilities(self) -> Capabilities | None:
        """The union of its plugins' declared capabilities, or None without a manifest.

        Raises: ManifestError.
        """
        manifests = [manifest for each in self.folders if (manifest := read_manifest(each))]
        if not manifests:
            return None
        names = (manifest.capabilities.names for manifest in manifests)
        return Capabilities(NONE.names.union(*names))


def packages_in(folder: Path | None = None) -> list[Package]:
    """Return the packages with plugins in *folder*, by default those of this Python."""
    return [package for package in distributions_in(folder) if package.plugins]


def distributions_in(folder: Path | None = None) -> list[Package]:
    """Return all packages in *folder*, libraries too, by default those of this Python."""
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    paths = [*site.getsitepackages(), *user] if folder is None else [str(folder)]
    named = readable_distributions(paths)
    return [_package(named[name]) for name in sorted(named)]


def readable_distributions(paths: Sequence[str]) -> "dict[str, Distribution]":
    """Return the distributions in *paths* by their names; the first folder wins, as in an import.

    A folder that a broken or half-removed installation left without METADATA is left out.
    """
    from importlib.metadata import distributions  # slow; few commands need packages

    named: dict[str, Distribution] = {}
    for distribution in distributions(path=list(paths)):
        with suppress(OSError):  # raised by importlib_metadata, which takes over when imported
            metadata = distribution.metadata
            if "Name" in metadata:
                named.setdefault(metadata["Name"], distribution)
    return named


def start_files() -> Iterator[str]:
    """Yield a line for each file by which a plugin runs code in every start of Python.

    Such files are easily overlooked.
    """
    for package in packages_in():
        for file in package.start_files:
            yield (
                f"{package.distribution} contains {file}, which runs code whenever Python starts,"
                " with or without nanocoder; its installation already ran it: review it"
            )


def _package(distribution: "Distribution") -> Package:
    points = distribution.entry_points.select(group=GROUP)
    root = Path(str(distribution.locate_file("")))
    modules = dict.fromkeys(point.module for point in points)
    folders = filter(None, (_folder(distribution, root, module) for module in modules))
    files = [str(file) for file in distribution.files or ()]
    starting = [file for file in files if runs_at_start(root, file)]
    scripts = {
        *(point.name for each in SCRIPTS for point in distribution.entry_points.select(group=each)),
        *(Path(file).name for file in files if Path(file).parent.name in {"bin", "Scripts"}),
    }
    names = tuple(sorted(point.name for point in points))
    version = distribution.version
    return Package(
        *(distribution.name, version, names, tuple(folders)),
        *(tuple(starting), tuple(sorted(scripts))),
    )


def _folder(distribution: "Distribution", root: Path, module: str) -> Path | None:
    """Return the folder of a module, which an editable installation has elsewhere."""
    relative = module.replace(".", "/")
    roots = [root]
    for file in distribution.files or ():
        if str(file).endswith(".pth") and "/" not in str(file):
            lines = (root / str(file)).read_text("utf-8", "replace").splitlines()
            roots += [Path(line) for line in lines if line.startswith("/")]
    names = (f"{each}/{relative}{suffix}" for each in roots for suffix in ("", ".py"))
    return next((Path(name) for name in names if Path(name).exists()), None)


def runs_at_start(root: Path, file: str) -> bool:
    """Return True if Python runs code of *file*, a path in *root*, whenever it starts."""
    path = Path(file)
    if path.suffix == ".start" or START_MODULES & {path.parts[0], path.name.partition(".")[0]}:
        return True
    if path.suffix != ".pth":
        return False
    try:
        # Python splits and decodes it like this.
        lines = (root / file).read_text("utf-8-sig", "replace").splitlines()
    except OSError:
        return False
    return any(line.startswith(("import ", "import\t")) for line in lines)
