"""Plugin folders look alike, and nothing outside a plugin's folder names it."""

import fnmatch
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
import repository
from repository import KINDS, KINDS_WITHOUT_ENTRY_POINT, Package

PLUGINS = pytest.mark.parametrize("package", repository.plugins(), ids=lambda package: package.name)
# Kits are made to be named by those who use them; a set is what the workspace's root installs.
KIT_PAGE_WORDS = 250
NAMED_FREELY = ("kit", "set")


@PLUGINS
def test_a_plugin_has_one_name_everywhere(package):
    kind = package.kind
    assert package.folder.name == package.name
    assert f"{package.name}-".startswith(f"nanocoder-{kind}-")
    assert kind in KINDS
    names = [package.name.removeprefix("nanocoder-")]
    if len(package.entry_points) > 1:  # plugins of one subject, each of them a package
        names = sorted(package.entry_points)
        assert {name.split("-")[0] for name in names} <= {*KINDS}
    modules = ["nanocoder_" + name.replace("-", "_") for name in names]
    assert sorted(path.name for path in (package.folder / "src").iterdir()) == modules
    has_plugins = kind not in KINDS_WITHOUT_ENTRY_POINT
    expected = dict(zip(names, modules, strict=True)) if has_plugins else {}
    assert package.entry_points == expected


@PLUGINS
def test_a_plugin_folder_has_what_every_plugin_folder_has(package):
    folder = package.folder
    assert (folder / "README.md").read_text(encoding="utf-8").startswith(f"# {package.name}\n")
    assert all((source / "py.typed").is_file() for source in package.sources)
    if package.kind != "set":
        assert list((folder / "tests").rglob("test_*.py")), "it has no tests"
    if package.kind not in KINDS_WITHOUT_ENTRY_POINT:
        assert (folder / "tests/test_contract.py").is_file(), "nothing holds it to the contract"


@PLUGINS
def test_the_page_of_a_library_is_short_and_has_an_example(package):
    if package.kind == "kit":
        text = (package.folder / "README.md").read_text(encoding="utf-8")
        assert len(text.split()) <= KIT_PAGE_WORDS, "say what it is for; docstrings say the rest"
        assert "```python\n" in text


@PLUGINS
def test_a_plugin_says_what_it_is_and_is_built_like_the_others(package):
    project = package.project["project"]
    assert project["license"] == "Apache-2.0"
    assert project["requires-python"] == ">=3.11"
    assert project["description"].endswith(".")
    assert package.project["build-system"]["build-backend"] == "uv_build"
    built = package.project["tool"]["uv"]["build-backend"]["module-name"]
    assert sorted([built] if isinstance(built, str) else built) == list(package.modules)


def test_the_core_and_the_workspace_have_the_version_that_the_command_prints():
    core = repository.core()
    version = core.project["project"]["version"]
    with (repository.ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == version
    text = (core.source / "version.py").read_text(encoding="utf-8")
    assert f'VERSION = "{version}"' in text


def mentions(package: Package) -> list[str]:
    """Return the files outside a plugin's folder that name its distribution or its module."""
    # The name of one plugin may be the beginning of another's.
    modules = "|".join(package.modules)
    name = re.compile(rf"\b{re.escape(package.name)}\b(?!-\w)|\b(?:{modules})\b")
    return [
        repository.shown(path)
        for path in repository.tracked()
        if not path.is_relative_to(package.folder) and is_named(package, path, name)
    ]


def is_named(package: Package, path: Path, name: re.Pattern[str]) -> bool:
    text = text_of(path)
    # Looking for plain text first is thirty times faster, and nearly always enough.
    is_likely = any(word in text for word in (package.name, *package.modules))
    return is_likely and bool(name.search(text))


@cache
def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_nothing_outside_a_plugins_folder_names_it():
    globs = [entry["files"] for entry in repository.exceptions("named")]
    found = {
        package.name: mentions(package)
        for package in repository.plugins()
        if package.kind not in NAMED_FREELY
    }
    strangers = {
        name: outside
        for name, files in found.items()
        if (outside := [file for file in files if not matches(file, globs)])
    }
    assert strangers == {}
    everywhere = {file for files in found.values() for file in files}
    unused = [glob for glob in globs if not fnmatch.filter(everywhere, glob)]
    assert unused == [], "an exception is no longer needed: drop it"


def matches(file: str, globs: list[str]) -> bool:
    return any(fnmatch.fnmatch(file, glob) for glob in globs)
