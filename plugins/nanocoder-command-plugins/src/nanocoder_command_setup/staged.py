"""Packages unpacked to be shown, and a check that the same was installed afterwards."""

import hashlib
import re
import sysconfig
import zipfile
from collections.abc import Collection, Iterator, Mapping
from email.parser import HeaderParser
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final

from attrs import evolve
from nanocoder import UsageError
from nanocoder_kit_process.capabilities import (
    Package,
    distributions_in,
    readable_distributions,
    runs_at_start,
)

from nanocoder_command_setup.consent import Proposal, normal, proposal_of_source

OWN_RECORDS: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
"""Metadata files that differ between two installations of the same package."""
ARCHIVES: Final = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tbz", ".txz")

REQUIREMENT: Final = re.compile(
    r"[a-z0-9][\w.-]*(?:\[[\w., -]*\])?(?:\s*[<>=!~][\w.*+!, <>=~-]*)?", re.ASCII | re.IGNORECASE
)
"""A package's name with extras and versions; pip and uv take addresses in more forms than one."""


def refuse_unseen(name: str) -> None:
    """Raise UsageError for a source that must run before it can be shown: an archive, a URL.

    A wheel that requires one is refused, too.
    """
    path = Path(re.split(r"[\[]", name, maxsplit=1)[0])
    if path.is_dir():
        return
    if path.suffix == ".whl" and path.is_file():
        _refuse_addresses(path)
    elif not REQUIREMENT.fullmatch(name) or name.endswith((".whl", *ARCHIVES)):
        raise UsageError(
            f"{name!r} is neither a wheel nor a folder here, so it cannot be shown before it runs"
            " code; download a wheel, or unpack it, and name that. Nothing was installed"
        )


def _refuse_addresses(wheel: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            named = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            texts = [archive.read(name).decode("utf-8", "replace") for name in named]
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
        raise UsageError(f"{wheel} is no wheel that can be read: {error}") from error
    for text in texts:
        for needed in HeaderParser().parsestr(text).get_all("Requires-Dist") or ():
            if "@" in needed.partition(";")[0]:
                raise UsageError(
                    f"{wheel} requires {needed!r:.200}, an address: it cannot be shown before it"
                    " runs code. Nothing was installed"
                )


def proposals_of(folder: Path, names: Collection[str], sources: Collection[str]) -> list[Proposal]:
    """Return the packages to install: those unpacked in *folder*, and those built from *sources*.

    *names* are the packages as the user named them; others are their libraries.
    """
    named = {normal(_name_of(name)) for name in names}
    now = {normal(each.distribution): each for each in distributions_in()}
    staged = [
        Proposal(each, now.get(key), is_named=key in named)
        for each in distributions_in(folder)
        for key in [normal(each.distribution)]
    ]
    building = [proposal_of_source(Path(re.split(r"[\[]", each)[0])) for each in sources]
    built = [evolve(each, now=now.get(normal(each.package.distribution))) for each in building]
    return [*staged, *_unrecorded(folder, [each.package for each in staged]), *built]


def _unrecorded(folder: Path, packages: Collection[Package]) -> list[Proposal]:
    """Return files that run at a start and that no package has in its record."""
    recorded = {file for package in packages for file in package.start_files}
    paths = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    others = sorted(path for path in paths if runs_at_start(folder, path) and path not in recorded)
    package = Package("files of no package", "", (), (), tuple(others))
    return [Proposal(package, None)] if others else []


def _name_of(name: str) -> str:
    if name.endswith(".whl"):
        return Path(name).name.partition("-")[0]
    return re.split(r"[\[<>=!~; @]", name, maxsplit=1)[0]


class Before:
    """The packages of this Python before an installation, and those in *folder* that were shown."""

    def __init__(self, folder: Path) -> None:
        self._site = sysconfig.get_path("purelib")
        self._shown = {key: _hashes(each) for key, each in _named(str(folder)).items()}
        self._marks = _marks(self._site)

    def others(self, *, is_complete: bool) -> list[str]:
        """Return the new or changed packages that differ from the shown ones.

        Their start files are removed. Unless *is_complete*, packages that were not shown at all
        are accepted.
        """
        others = []
        now = _marks(self._site)
        for key, each in _named(self._site).items():
            is_same = now[key] == self._marks.get(key)
            if is_same or (key not in self._shown and not is_complete):
                continue
            if _hashes(each) != self._shown.get(key):
                _disarm(each)
                others.append(each.name)
        return others


def _named(path: str) -> dict[str, Distribution]:
    return {normal(name): each for name, each in readable_distributions([path]).items()}


def _marks(site: str) -> dict[str, tuple[object, ...]]:
    """Return a fingerprint of the installation of each package, by name."""
    return {
        key: (each.version, each.read_text("RECORD"), *_file_marks(each))
        for key, each in _named(site).items()
    }


def _file_marks(distribution: Distribution) -> Iterator[tuple[int, int]]:
    for file in distribution.files or ():
        path = Path(str(file.locate()))
        if path.suffix != ".pyc" and path.exists():
            status = path.stat()
            yield status.st_ino, status.st_ctime_ns


def _hashes(distribution: Distribution) -> Mapping[str, str]:
    """Return the hash of each file of a distribution, from the file and not from its record.

    Programs and compiled files are left out: they differ with the folder.
    """
    hashes = {}
    for file in distribution.files or ():
        path = Path(str(file.locate()))
        is_left_out = file.name in OWN_RECORDS or path.suffix == ".pyc"
        if is_left_out or path.parent.name in {"bin", "Scripts"} or not path.is_file():
            continue
        hashes[str(file)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def _disarm(distribution: Distribution) -> None:
    """Remove the files by which a package would run code, even in the program that removes it."""
    root = Path(str(distribution.locate_file("")))
    for file in distribution.files or ():
        if runs_at_start(root, str(file)):
            (root / str(file)).unlink(missing_ok=True)
