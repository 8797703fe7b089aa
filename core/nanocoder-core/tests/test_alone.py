"""The package alone: a program whose plugins are described by a function of its own."""

import os
import subprocess
import sys

import pytest
from nanocoder_discovery import (
    DESCRIBE_DEADLINE_S,
    Describer,
    differences,
    find_plugins,
    installed_now,
    load,
    read_lock,
    site_paths,
    write_lock,
)
from nanocoder_schema import ConfigError

DESCRIBE = """
import importlib, time
from nanocoder_discovery import serve

def describe(name, module):
    return {"says": importlib.import_module(module).SAYS}

serve(describe)
"""
DESCRIBER = Describer(DESCRIBE, "1", lambda text: {"policy": "guards_the_gate" in text})


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Return a folder of installed packages, which children import from, too."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    return folder


def install(site, name, text):
    (site / f"{name}.py").write_text(text)
    metadata = site / f"{name}-1.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[nanocoder]\n{name} = {name}\n")


def test_a_plugin_is_described_once_and_again_when_it_has_changed(site, tmp_path):
    cache = tmp_path / "cache.json"
    install(site, "greeter", "SAYS = 'hello'\n")
    assert [plugin.name for plugin in find_plugins([str(site)])] == ["greeter"]
    first = load([str(site)], cache, DESCRIBER)
    assert first.entries["greeter"].description["says"] == "hello"
    refuses = Describer("raise SystemExit('nothing is described twice')", "1", dict)
    again = load([str(site)], cache, refuses)
    assert again.entries["greeter"].description == first.entries["greeter"].description
    os.utime(site / "greeter-1.dist-info", ns=(1, 1))  # as an upgrade leaves it
    (site / "greeter.py").write_text("SAYS = 'good evening'\n")
    changed = load([str(site)], cache, DESCRIBER)
    assert changed.entries["greeter"].description["says"] == "good evening"
    assert changed.fresh == ("greeter",)


@pytest.mark.parametrize(
    ("text", "problem", "deadline_s"),
    [
        ("import os; os._exit(3)", "the import ended the process", DESCRIBE_DEADLINE_S),
        ("import time; time.sleep(60)", "its import took over 1 s", 1),
    ],
)
def test_one_that_ends_or_hangs_the_child_is_named_and_harms_no_other(
    site, text, problem, deadline_s
):
    install(site, "broken", f"# guards_the_gate\n{text}\n")
    install(site, "greeter", "SAYS = 'hello'\n")
    entries = load([str(site)], None, DESCRIBER, deadline_s).entries
    assert entries["broken"].error == problem
    assert entries["broken"].is_policy  # by the name in its file: it may not be left out
    assert entries["greeter"].description["says"] == "hello"


def test_no_plugin_has_a_name_that_two_claim(site):
    install(site, "first", "SAYS = 1\n")
    install(site, "second", "SAYS = 2\n")
    (site / "second-1.dist-info/entry_points.txt").write_text("[nanocoder]\nfirst = second\n")
    entries = load([str(site)], None, DESCRIBER).entries
    assert (
        entries["first"].error
        == "first 1 and second 1 both provide the plugin 'first'; uninstall one"
    )


def test_a_lock_tells_what_has_other_contents(site, tmp_path):
    install(site, "greeter", "SAYS = 'hello'\n")
    lock = tmp_path / "lock.json"
    with pytest.raises(ConfigError, match="there is no plugin lock"):
        read_lock(lock)
    write_lock(lock, installed_now([str(site)]))
    assert differences(read_lock(lock), installed_now([str(site)])) == {}
    (site / "greeter.py").write_text("SAYS = 'boo'\n")
    changes = differences(read_lock(lock), installed_now([str(site)]))
    assert changes == {"greeter": "has other contents than the lock"}


def test_it_needs_nothing_of_the_agent():
    code = "import nanocoder_discovery.lock, nanocoder_discovery.manifest, sys; "
    code += "print('nanocoder' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
    assert all(map(os.path.isabs, site_paths()))
