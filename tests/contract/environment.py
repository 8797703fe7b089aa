"""Lets Python find the packages of the workspace without a search of 120 folders.

Each editable package puts its folder on the path, and Python looks through all of them for an
import. Knowing the folders saves a seventh of each of the thousands of starts in a run of tests.
"""

import os
from pathlib import Path

import repository

SOURCE = """\
# Written by `nox`: the packages of the workspace, found as their .pth files would have them found.
import sys
from _frozen_importlib_external import PathFinder, spec_from_file_location

FOLDERS = {folders!r}
SOURCES = {{folder.rpartition("/")[0] for folder in FOLDERS.values()}}


class Workspace:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if folder := FOLDERS.get(name):
            # What stands before the workspace on the path, as PYTHONPATH does, still wins.
            ours = next((n for n, entry in enumerate(sys.path) if entry in SOURCES), 0)
            return PathFinder.find_spec(name, sys.path[:ours]) or spec_from_file_location(
                name, folder + "/__init__.py", submodule_search_locations=[folder]
            )
        return None


# Before the search of the path, which is the last.
sys.meta_path.insert(-1, Workspace)
"""


def write(environment: Path) -> None:
    """Write the sitecustomize.py of an environment; a process may be reading the old one."""
    for site in environment.glob("lib/python*/site-packages"):
        new = site / f"sitecustomize.{os.getpid()}"
        new.write_text(source(), encoding="utf-8")
        new.replace(site / "sitecustomize.py")


def source() -> str:
    """Return the module that tells Python where the packages are."""
    files = (
        file
        for package in repository.packages()
        for file in sorted(package.folder.glob("src/*/__init__.py"))
    )
    return SOURCE.format(folders={file.parent.name: str(file.parent) for file in files})
