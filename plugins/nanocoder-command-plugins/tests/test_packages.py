"""Installing and removing packages."""

import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

import pexpect
import pytest
from nanocoder import Host, UsageError, known_packages
from nanocoder_command_setup import installer, packages, sets

pytestmark = pytest.mark.timeout(60)
NO_INDEX = {"UV_OFFLINE": "1", "UV_NO_CACHE": "1", "PIP_NO_INDEX": "1"}


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("command-author[check]", "nanocoder-command-plugins[check]"),
        ("nanocoder-command-setup==0.1", "nanocoder-command-plugins==0.1"),
        ("tool-acme>1", "nanocoder-tool-acme>1"),
        ("./command-setup", "./command-setup"),
    ],
)
def test_a_plugin_is_installed_with_the_package_that_has_it(name, package):
    assert packages._package(name) == package


def test_an_installation_that_fails_says_what_to_do_without_an_index(nanocoder):
    done = nanocoder("plugins", "install", "tool-nowhere", env=NO_INDEX)
    assert done.returncode == 1
    assert "nanocoder-tool-nowhere could not be installed: " in done.stderr
    assert "nanocoder plugins install ./PATH" in done.stderr
    assert "_FIND_LINKS to a folder of wheels" in done.stderr


def test_a_folder_that_is_called_like_a_package_is_not_taken_for_it(nanocoder):
    folder = nanocoder.cwd / "nanocoder-tool-nowhere"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "nanocoder-tool-nowhere"\n')
    done = nanocoder("plugins", "install", "tool-nowhere", "--yes", env=NO_INDEX)
    assert done.returncode == 1
    assert "nanocoder-tool-nowhere could not be installed: " in done.stderr
    assert not (folder / "build").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tool-gerp", "no plugin 'tool-gerp' is installed; did you mean 'tool-grep'?"),
        ("grep", "no plugin 'grep' is installed; did you mean 'tool-grep'?"),
        ("xyz", "no plugin 'xyz' is installed; `nanocoder plugins list`"),
    ],
)
def test_what_is_not_installed_cannot_be_removed(nanocoder, name, said):
    done = nanocoder("plugins", "remove", name)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Nothing was removed" in done.stderr


def test_a_removal_asks_at_a_terminal_and_a_no_removes_nothing(nanocoder):
    talk = pexpect.spawn(
        str(Path(sys.executable).with_name("nanocoder")),
        ["plugins", "remove", "command-setup"],
        cwd=str(nanocoder.cwd),
        env=nanocoder.environment,
        encoding="utf-8",
        timeout=40,
    )
    talk.expect_exact(
        "Uninstall nanocoder-command-plugins, and with it command-author, command-completion,"
        " command-quarantine? [y/N]"
    )
    talk.sendline("n")
    talk.expect_exact("Nothing was removed.")
    talk.expect(pexpect.EOF)
    assert "command-setup" in nanocoder("plugins", "list").stdout


def test_a_removal_with_yes_does_not_ask(nanocoder):
    done = nanocoder("plugins", "remove", "--yes", "xyz")
    assert "no plugin 'xyz' is installed" in done.stderr


def test_the_name_of_a_package_stands_for_its_plugins(nanocoder):
    listed = nanocoder("plugins", "list", "nanocoder-command-plugins").stdout
    for plugin in ("command-author", "command-completion", "command-quarantine", "command-setup"):
        assert f"{plugin} " in listed
    done = nanocoder("plugins", "check", "nanocoder-command-plugins")
    assert done.returncode == 2
    assert (
        "nanocoder-command-plugins has several plugins; name one: command-author, " in done.stderr
    )


def test_a_missing_network_is_called_that(nanocoder):
    index = "http://127.0.0.1:9/simple"  # nobody listens there
    variables = {"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index, "PIP_RETRIES": "0"}
    variables |= {"UV_HTTP_RETRIES": "0", "UV_NO_CACHE": "1"}
    done = nanocoder("plugins", "install", "tool-nowhere", "--yes", env=variables)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "could not be installed: no network, the package index cannot be reached" in line
    assert "onnection refused" in line
    assert "is not on your index" not in line


def test_without_a_network_the_remembered_wheels_are_enough(tmp_path, monkeypatch):
    calls = []

    def run(command, **_):
        calls.append(command)
        is_offline = "--offline" in command
        cause = b"error: x\n  cause: dns error\n"
        return subprocess.CompletedProcess(command, 0 if is_offline else 2, b"", cause)

    monkeypatch.setattr(installer.subprocess, "run", run)
    links = ["--find-links", "/wheels"]
    monkeypatch.setattr(installer, "first_links", lambda: links)
    monkeypatch.setattr(packages, "first_links", lambda: links)
    monkeypatch.setattr(installer.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(installer.shutil, "which", lambda _: "uv")
    ended = packages._unpack(tmp_path, ["nanocoder-tool-acme"])
    assert (ended.code, ended.is_offline, len(calls)) == (0, True, 2)


def test_a_slip_is_not_recommended_past_the_review(nanocoder):
    done = nanocoder("plugins", "install", "command-setpu", "--yes")
    assert done.returncode == 2
    assert "did you mean 'nanocoder-command-plugins'?" in done.stderr
    assert "pip install" not in done.stderr


@pytest.mark.parametrize(("size", "is_told"), [(200_000_000, True), (1_000, False)])
def test_a_removal_says_what_stays_in_the_cache(tmp_path, monkeypatch, capsys, size, is_told):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "nanocoder/models").mkdir(parents=True)
    with (tmp_path / "nanocoder/models/a.gguf").open("wb") as file:
        file.truncate(size)
    # A real removal would take the package from the environment of the tests.
    monkeypatch.setattr(packages, "run_installer", lambda *_: installer.Ended())
    arguments = Namespace(names=["command-setup"], yes=True)
    assert packages.remove(arguments, Host(str(tmp_path))) == 0
    told = "has 0.2 GB that plugins have downloaded or computed" in capsys.readouterr().err
    assert told == is_told


def test_an_installation_removes_what_a_killed_one_left(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "nanocoder-install-killed"
    (left / "package").mkdir(parents=True)
    with packages._unpacked([]) as first, packages._unpacked([]) as second:
        assert not left.exists()
        assert first.folder.is_dir()
        assert second.folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_set_of_ours_that_is_not_installed_is_named_with_its_command(tmp_path, monkeypatch):
    monkeypatch.setattr(sets, "site_paths", lambda: [str(tmp_path)])
    with pytest.raises(UsageError, match="nanocoder plugins install nanocoder-set-minimal brings"):
        sets.Sets().members("minimal")


@pytest.mark.contract("I35")
@pytest.mark.parametrize("package", sorted({*known_packages().values()}))
@pytest.mark.parametrize("place", [4, -2])
def test_a_slip_anywhere_in_a_name_of_ours_is_refused(package, place):
    slip = package[:place] + package[place + 1 :]
    with pytest.raises(UsageError, match="is not a package of nanocoder; did you mean"):
        packages._refuse_slip(slip)


@pytest.mark.parametrize("name", ["acme-thing", "nanocoder-tool-wordcount", "mcp-server-time"])
def test_a_name_of_its_own_is_no_slip(name):
    assert packages._refuse_slip(name) is None


@pytest.mark.parametrize("path", [".", "./acme", "acme-1.0-py3-none-any.whl", "acme-1.0.tar.gz"])
def test_no_index_is_asked_about_a_path(path, monkeypatch):
    monkeypatch.setattr(packages, "lines_about", lambda *_: pytest.fail("an index was asked"))
    assert list(packages._lines_about(path)) == []
