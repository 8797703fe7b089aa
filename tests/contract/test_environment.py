"""The sessions' environment finds the packages of the workspace at once, and as without it."""

import json
import os
import subprocess
import sys

import environment
import repository

PROGRAM = """
import json, sys
from importlib.machinery import PathFinder
from importlib.util import find_spec

def shown(spec):
    loader = str(type(spec.loader))
    return [spec.name, spec.origin, spec.cached, *spec.submodule_search_locations, loader]

names, folders = json.loads(sys.argv[1]), json.loads(sys.argv[2])
at_once = [shown(find_spec(name)) for name in names]
searched = [folder for folder in folders if folder in sys.path_importer_cache]
print(json.dumps([at_once, searched, [shown(PathFinder.find_spec(name)) for name in names]]))
"""


def start(site, *arguments):
    """Start Python with a sitecustomize.py in *site*; returns what it printed."""
    return subprocess.run(
        [sys.executable, "-c", *arguments],
        env={**os.environ, "PYTHONPATH": str(site)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_each_package_is_found_as_by_its_pth_file_and_no_folder_is_searched(tmp_path):
    site = tmp_path / "lib/python3.11/site-packages"
    site.mkdir(parents=True)
    environment.write(tmp_path)
    names = [module for package in repository.packages() for module in package.modules]
    folders = [str(package.folder / "src") for package in repository.packages()]

    printed = start(site, PROGRAM, json.dumps(names), json.dumps(folders))

    assert [file.name for file in site.iterdir() if file.is_file()] == ["sitecustomize.py"]
    at_once, searched, by_path = json.loads(printed)
    assert at_once == by_path
    assert searched == []


def test_what_stands_before_the_workspace_on_the_path_wins(tmp_path):
    site = tmp_path / "lib/python3.11/site-packages"
    site.mkdir(parents=True)
    environment.write(tmp_path)
    (site / "nanocoder.py").write_text("print('mine')\n")
    assert start(site, "import nanocoder") == "mine\n"
