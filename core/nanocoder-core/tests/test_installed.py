"""Which plugins count as installed: every format of metadata, and only in real sites."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from nanocoder import PluginError, Plugins
from nanocoder_discovery import (
    differences,
    find_libraries,
    find_plugins,
    installed_now,
    site_paths,
)
from nanocoder_discovery.installed import fingerprint, modules_of

MODULE = """
from nanocoder import hookimpl, tool

@tool(risk="safe", effects={"read"})
def fine() -> str:
    '''Say that all is well, for tests.'''
    return "well"

@hookimpl
def nanocoder_tools():
    return [fine]
"""


def install(site: Path, folder: str, points: str, **files: str) -> Path:
    """Write a metadata folder with *files* by name and what it says of entry points."""
    info = site / folder
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(points)
    for name, text in files.items():
        (info / name.replace("PKG_INFO", "PKG-INFO")).write_text(text)
    return info


def metadata(name: str, version: str, *requirements: str) -> str:
    lines = [f"Requires-Dist: {requirement}" for requirement in requirements]
    return "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, ""])


POINTS = "[console_scripts]\nother = other:main\n\n[nanocoder]\ntool-fine = fine_plugin [extra]\n"


def test_a_wheel_counts_by_the_name_in_its_metadata(tmp_path):
    text = metadata("Nanocoder.Tool_Fine", "1.5")
    install(tmp_path, "nanocoder_tool_fine-1.5.dist-info", POINTS, METADATA=text)
    (plugin,) = find_plugins([str(tmp_path)])
    assert (plugin.name, plugin.module) == ("tool-fine", "fine_plugin")
    assert (plugin.distribution, plugin.version) == ("nanocoder-tool-fine", "1.5")


@pytest.mark.parametrize("folder", ["fine_plugin.egg-info", "fine_plugin-2.0-py3.11.egg-info"])
def test_an_egg_counts_and_its_plugin_works(tmp_path, monkeypatch, folder):
    sources = {"SOURCES.txt": "fine_plugin.py\n", "top_level.txt": "fine_plugin\n"}
    install(tmp_path, folder, POINTS, PKG_INFO=metadata("fine-plugin", "2.0"), **sources)
    (tmp_path / "fine_plugin.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins = Plugins.installed(sites=[str(tmp_path)])
    assert plugins.entries["tool-fine"].version == "2.0"
    assert set(plugins.tools()) == {"fine"}
    (installed,) = find_plugins([str(tmp_path)])
    assert "fine_plugin" in modules_of(installed)


@pytest.fixture
def archive(tmp_path):
    """Return a zipped site with a plugin and a library."""
    path = tmp_path / "plugins.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("zipped_plugin/__init__.py", MODULE)
        info = "nanocoder_tool_fine-1.0.dist-info"
        file.writestr(f"{info}/METADATA", metadata("nanocoder-tool-fine", "1.0"))
        file.writestr(f"{info}/entry_points.txt", "[nanocoder]\ntool-fine = zipped_plugin\n")
        file.writestr(f"{info}/RECORD", "zipped_plugin/__init__.py,,\n")
        text = metadata("acme-tools", "3", "nanocoder-core>=0.1")
        file.writestr("acme_tools-3.dist-info/METADATA", text)
    return path


def test_a_zipped_site_counts_and_its_plugin_works(archive, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(archive))
    monkeypatch.syspath_prepend(str(archive))
    plugins = Plugins.installed(sites=[str(archive)])
    assert plugins.set_aside == {}
    assert plugins.tools()["fine"].real()() == "well"
    assert [library.name for library in find_libraries([str(archive)])] == ["acme-tools"]


def test_the_lock_notices_a_zipped_site_that_changed(archive):
    before = installed_now([str(archive)])
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("zipped_plugin/other.py", "")
    found = differences(before, installed_now([str(archive)]))
    assert found["tool-fine"] == "has other contents than the lock"


def test_a_plugin_of_a_zipped_site_that_does_not_load_may_be_a_policy(archive):
    plugins = Plugins.installed(sites=[str(archive)])  # nothing puts it on the path
    assert "No module named 'zipped_plugin'" in plugins.set_aside["tool-fine"]
    with pytest.raises(PluginError, match="tool-fine"):
        plugins.require_policies()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("named_by", ["a .pth file", "PYTHONPATH"])
def test_an_archive_is_a_site_only_if_an_installation_says_so(archive, tmp_path, named_by):
    environment = {"HOME": str(tmp_path), "PATH": os.defpath}
    code = "from nanocoder_discovery import site_paths; print(*site_paths(), sep='\\n')"
    if named_by == "PYTHONPATH":
        environment["PYTHONPATH"] = str(archive)
    else:
        site = tmp_path / "site"
        site.mkdir()
        (site / "archive.pth").write_text(f"{archive}\n")
        code = f"import site; site.addsitedir({str(site)!r}); {code}"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (str(archive) in done.stdout.splitlines()) is (named_by == "a .pth file")


def test_an_editable_install_counts_and_the_modules_it_links_are_known(tmp_path):
    source, site = tmp_path / "checkout/src", tmp_path / "site"
    (source / "fine_plugin").mkdir(parents=True)
    (source / "fine_plugin/__init__.py").write_text(MODULE)
    # An egg-info that lies in the checkout names a plugin that nobody installed.
    install(source, "evil.egg-info", "[nanocoder]\nevil = evil\n", PKG_INFO=metadata("evil", "1"))
    folder = "nanocoder_tool_fine-1.0.dist-info"
    direct = json.dumps({"url": source.parent.as_uri(), "dir_info": {"editable": True}})
    install(
        site,
        folder,
        "[nanocoder]\ntool-fine = fine_plugin\n",
        METADATA=metadata("nanocoder-tool-fine", "1.0"),
        RECORD=f"_fine.pth,,\n{folder}/METADATA,,\n",
        **{"direct_url.json": direct},
    )
    (site / "_fine.pth").write_text(f"{source}\n")
    (plugin,) = find_plugins([str(site)])
    assert plugin.name == "tool-fine"
    assert modules_of(plugin) == {"fine_plugin"}


def test_the_editable_plugins_of_this_environment_are_found():
    from importlib.metadata import entry_points

    plugins = {plugin.name: plugin.module for plugin in find_plugins(site_paths())}
    expected = {point.name: point.module for point in entry_points(group="nanocoder")}
    assert plugins == expected != {}
    assert "nanocoder-core" in {library.name for library in find_libraries(site_paths())}


@pytest.mark.parametrize(
    "points", ["[nanocoder]\nstray line\n", "[nanocoder]\nguard = not-a-name\n"]
)
def test_entry_points_that_cannot_be_read_are_reported(tmp_path, points):
    install(tmp_path, "nanocoder_policy_guard-1.0.dist-info", points)
    plugins = Plugins.installed(sites=[str(tmp_path)])
    assert "entry_points.txt cannot be read" in plugins.set_aside["policy-guard"]
    with pytest.raises(PluginError, match="policy-guard"):
        plugins.require_policies()


def test_a_library_that_is_damaged_harms_no_plugin(tmp_path):
    install(tmp_path, "broken-1.0.dist-info", "[other]\nstray")
    (tmp_path / "broken-1.0.dist-info/METADATA").write_bytes(b"\xff\xfe")
    (tmp_path / "odd.egg-info").write_text("")
    install(tmp_path, "nanocoder_tool_fine-1.0.dist-info", POINTS)
    assert [plugin.name for plugin in find_plugins([str(tmp_path)])] == ["tool-fine"]
    assert find_libraries([str(tmp_path)]) == []


CHANGES = {
    "a distribution is added": lambda site: (site / "other-1.dist-info").mkdir(),
    "its entry points are edited": lambda site: os.utime(
        site / "nanocoder_tool_fine-1.0.dist-info/entry_points.txt", ns=(1, 1)
    ),
    "it is installed again": lambda site: os.utime(
        site / "nanocoder_tool_fine-1.0.dist-info", ns=(1, 1)
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_changes_when(tmp_path, change):
    install(tmp_path, "nanocoder_tool_fine-1.0.dist-info", POINTS)
    before = fingerprint([str(tmp_path)])
    (tmp_path / "unrelated.py").write_text("")
    assert fingerprint([str(tmp_path)]) == before
    CHANGES[change](tmp_path)
    assert fingerprint([str(tmp_path)]) != before


def test_metadata_are_read_only_when_something_was_installed(tmp_path, monkeypatch):
    reads: list[list[str]] = []
    monkeypatch.setattr(
        "nanocoder_discovery.manifest.find_plugins",
        lambda sites: reads.append(list(sites)) or find_plugins(sites),
    )
    site, cache = tmp_path / "site", tmp_path / "plugins.json"
    install(site, "nanocoder_tool_fine-1.0.dist-info", POINTS)
    for _ in range(3):
        Plugins.installed(cache, sites=[str(site)])
    assert len(reads) == 1
    install(site, "other-1.0.dist-info", "")
    Plugins.installed(cache, sites=[str(site)])
    assert len(reads) == 2
