"""What a child gets of our environment; that commands really get no more is tested with them."""

import sys
from pathlib import Path

import pytest
from nanocoder_kit_process import environment, find_program, without_workspace

OURS = {"PATH": "/bin:relative::/usr/bin", "HOME": "/home/a", "LC_ALL": "C.UTF-8", "ODD": "x"}


def test_known_names_pass_and_others_do_not():
    child = environment(OURS)
    assert (child["HOME"], child["LC_ALL"]) == ("/home/a", "C.UTF-8")
    assert "ODD" not in child


def test_only_absolute_places_are_searched_for_programs():
    assert environment(OURS)["PATH"] == "/bin:/usr/bin"
    assert environment({})["PATH"].startswith("/usr/local/sbin:")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("XDG_TOKEN", "x"),
        ("HTTP_PROXY", "http://user:password@proxy.test"),
        ("GOFLAGS", "sk-abcdefghijklmnopqrst"),
        ("LD_PRELOAD", "/tmp/a.so"),
        ("PYTHONPATH", "/tmp"),
    ],
)
def test_secrets_and_what_loads_code_stay_behind(name, value):
    assert name not in environment({name: value})


def test_what_a_person_names_passes_unless_it_loads_code():
    child = environment({"DEPLOY_TOKEN": "x", "LD_PRELOAD": "y"}, ["DEPLOY_TOKEN", "LD_PRELOAD"])
    assert child["DEPLOY_TOKEN"] == "x"
    assert "LD_PRELOAD" not in child


def test_nobody_is_there_to_scroll_edit_or_answer():
    child = environment({"PAGER": "less"})
    assert (child["PAGER"], child["GIT_TERMINAL_PROMPT"]) == ("cat", "0")
    assert child["DEBIAN_FRONTEND"] == "noninteractive"


@pytest.mark.parametrize("name", ["CI", "CONTINUOUS_INTEGRATION", "BUILD_NUMBER", "GITHUB_ACTIONS"])
def test_no_variable_makes_a_version_manager_trust_the_project(name):
    assert name not in environment({name: "true"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("http_proxy", "user:PW@host:3128"),
        ("HTTPS_PROXY", "TOKEN@host"),
        ("ALL_PROXY", "socks5://user:p/w@host"),
        ("PIP_INDEX_URL", "https://TOKEN@host/simple"),
        ("UV_INDEX_URL", "https://user:@host/simple"),
        ("GOPROXY", "https://good.test,https://user:PW@host|direct"),
    ],
)
def test_an_address_with_a_user_stays_behind(name, value):
    assert name not in environment({name: value})


def test_an_address_without_a_user_passes():
    ours = {"http_proxy": "host:3128", "PIP_INDEX_URL": "https://host/simple"}
    assert ours.items() <= environment(ours).items()


@pytest.fixture
def ours():
    """An environment in which our own virtual environment comes first, as `uv run` makes it."""
    assert sys.prefix != sys.base_prefix, "run the tests in a virtual environment"
    path = f"{sys.prefix}/bin:/usr/bin"
    return {"PATH": path, "VIRTUAL_ENV": sys.prefix, "UV_RUN_RECURSION_DEPTH": "1"}


def test_our_own_virtual_environment_is_not_that_of_a_command(ours, tmp_path):
    child = environment(ours, workspace=tmp_path)
    assert (child["PATH"], child.get("VIRTUAL_ENV")) == ("/usr/bin", None)
    ours["PATH"] = f"{sys.prefix}/bin/:{sys.prefix}/lib/../bin:{tmp_path}/.venv/bin:/usr/bin"
    ours["VIRTUAL_ENV"] = str(tmp_path / ".venv")
    child = environment(ours, workspace=tmp_path)
    assert child["PATH"] == f"{tmp_path}/.venv/bin:/usr/bin"
    assert child["VIRTUAL_ENV"] == str(tmp_path / ".venv")


def test_the_virtual_environment_of_the_workspace_is(ours):
    child = environment(ours, workspace=Path(sys.prefix).parent)
    assert (child["PATH"], child["VIRTUAL_ENV"]) == (ours["PATH"], sys.prefix)
    below = Path(sys.prefix).parent / "docs"
    assert environment(ours, workspace=below)["PATH"] == ours["PATH"]


def test_no_program_of_ours_comes_from_the_workspace(tmp_path):
    workspace, elsewhere = tmp_path / "work", tmp_path / "bin"
    (workspace / ".venv/bin").mkdir(parents=True)
    elsewhere.mkdir()
    git = workspace / ".venv/bin/git"
    git.write_text("#!/bin/sh\n")
    git.chmod(0o755)
    (elsewhere / "git").symlink_to(git)
    (tmp_path / "link").symlink_to(workspace / ".venv/bin")
    (workspace / "sh").symlink_to("/bin/sh")
    path = f".:{git.parent}::{elsewhere}:{tmp_path}/link:{workspace}:/bin"
    assert find_program("git", path, workspace) in {"", "/bin/git"}
    assert find_program("git", path) == str(git)
    assert find_program("sh", path, workspace) == "/bin/sh"
    assert without_workspace(path.removeprefix(".:").replace("::", ":"), workspace) == (
        f"{elsewhere}:/bin"
    )
