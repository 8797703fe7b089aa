"""A plugin that is gone since the last start: a tool is named, a policy stops the start."""

import shutil
import subprocess
import zipfile

import pytest
from place import Place

POLICY = """
from nanocoder import Decision, Verdict, hookimpl


@hookimpl
def nanocoder_before_execute(call):
    return Verdict(Decision.DENY, "acme says no")
"""
TOOL = """
from nanocoder import hookimpl, tool


@tool(risk="safe", effects={"read"})
def greet() -> str:
    '''Say hello, for tests.'''
    return "hello"


@hookimpl
def nanocoder_tools():
    return [greet]
"""
pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def place(tmp_path):
    """Return an installation with a tool and a policy that denies it, after its first start."""
    place = Place(tmp_path)
    for name in ("kit-files", "kit-process", "command-plugins"):
        place.bring(f"nanocoder-{name}")
    place.install("nanocoder-tool-acme", {"nanocoder_tool_acme.py": TOOL}, "tool-acme")
    place.install("nanocoder-policy-acme", {"nanocoder_policy_acme.py": POLICY}, "policy-acme")
    assert "acme says no" in place.greet().stderr
    return place


def uninstall(place, name):
    """Take a package away without telling nanocoder, as an upgrade of the environment does."""
    module = name.replace("-", "_")
    (place.site / f"{module}.py").unlink()
    shutil.rmtree(place.site / f"{module}-1.0.dist-info")


def test_a_policy_that_is_gone_stops_every_start(place):
    uninstall(place, "nanocoder-policy-acme")
    for _ in range(2):
        done = place.greet()
        assert done.returncode == 2
        assert "'policy-acme': it was installed at the last start and is gone" in done.stderr
        assert "nanocoder plugins install nanocoder-policy-acme" in done.stderr
        assert done.stdout == ""
    assert "policy-acme" in place.run("doctor").stdout


@pytest.mark.parametrize(
    "agreed", [("plugins", "remove", "policy-acme"), ("plugins", "lock")], ids=" ".join
)
def test_a_person_agrees_that_a_policy_is_gone(place, agreed):
    uninstall(place, "nanocoder-policy-acme")
    assert place.greet().returncode == 2
    assert place.run(*agreed).returncode == 0
    assert place.greet().stdout == "hello\n"


def test_a_policy_that_comes_back_counts_again(place):
    uninstall(place, "nanocoder-policy-acme")
    assert place.greet().returncode == 2
    place.install("nanocoder-policy-acme", {"nanocoder_policy_acme.py": POLICY}, "policy-acme")
    done = place.greet()
    assert (done.returncode, done.stderr.splitlines()[-1]) == (6, "nanocoder: denied: acme says no")


def test_a_policy_that_is_switched_off_is_not_missed(place):
    config = place.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins]\ndisable = ["policy-acme"]\n')
    uninstall(place, "nanocoder-policy-acme")
    assert place.greet().stdout == "hello\n"


def test_a_tool_that_is_gone_is_named_once(place):
    uninstall(place, "nanocoder-tool-acme")
    said = "plugins that are gone since the last start: tool-acme"
    assert said in place.run("tools").stderr
    assert said not in place.run("tools").stderr


def test_the_comparison_with_the_lock_names_what_is_gone(place):
    assert place.run("plugins", "lock").returncode == 0
    uninstall(place, "nanocoder-policy-acme")
    done = place.run("plugins", "sync")
    assert done.returncode == 1
    assert done.stdout == "policy-acme is locked but not installed\n"


def write_wheel(folder):
    """Write a wheel of the policy into *folder*."""
    info = "nanocoder_policy_acme-1.0.dist-info"
    files = {
        "nanocoder_policy_acme.py": POLICY,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: nanocoder-policy-acme\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[nanocoder]\npolicy-acme = nanocoder_policy_acme\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in files)
    with zipfile.ZipFile(folder / "nanocoder_policy_acme-1.0-py3-none-any.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


@pytest.mark.contract("W4")
def test_a_lock_brings_back_what_is_gone(place, tmp_path):
    assert place.run("plugins", "lock").returncode == 0
    uninstall(place, "nanocoder-policy-acme")
    write_wheel(tmp_path)
    python = str(place.venv / "bin/python")
    subprocess.run([python, "-m", "ensurepip"], check=True, capture_output=True)
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    assert place.run("plugins", "sync", "--yes", **index).returncode == 0
    assert place.greet().returncode == 6
