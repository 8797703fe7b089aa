"""Everything works in the home directory; what a project calls a home directory does not."""

import json
import pwd

import pytest
from nanocoder.config import Config
from nanocoder_config import cache_dir, state_dir, user_config_dir
from nanocoder_schema import ConfigError

ANYWHERE = [
    ("models",),
    ("tools",),
    ("plugins", "list"),
    ("config", "show"),
    ("sessions", "list", "--all"),
    ("stats",),
    ("completion", "bash"),
]


@pytest.mark.parametrize("words", ANYWHERE, ids=" ".join)
def test_a_command_that_needs_no_workspace_works_in_the_home_directory(nanocoder, words):
    done = nanocoder(*words, cwd=nanocoder.home)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("above", ["the parent", "root"])
def test_a_command_works_above_the_home_directory(nanocoder, above):
    done = nanocoder("models", cwd="/" if above == "root" else nanocoder.home.parent)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_doctor_notes_the_home_directory_and_finds_nothing_wrong(nanocoder):
    done = nanocoder("doctor", "--output", "json", cwd=nanocoder.home)
    checks = {one["check"]: one for one in json.loads(done.stdout)["checks"]}
    assert checks["workspace"]["status"] == "note"
    assert "is your home directory" in checks["workspace"]["detail"]


def test_the_configuration_in_the_home_directory_counts_there(nanocoder):
    settings = nanocoder.home / ".config/nanocoder/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("max_turns = 7\n")
    done = nanocoder("config", "where", "max_turns", cwd=nanocoder.home)
    assert done.stdout == f"max_turns = 7 ({settings}:1)\n"


def test_a_run_in_the_home_directory_warns_once_and_keeps_its_session(nanocoder):
    model = nanocoder.script({"text": "Hello."})
    done = nanocoder("run", "--model", model, "hi", cwd=nanocoder.home)
    assert (done.returncode, done.stdout) == (0, "Hello.\n"), done.stderr
    assert done.stderr.count("is your home directory") == 1
    assert len(done.stderr.splitlines()) == 1
    assert "hi" in nanocoder("sessions", "list", cwd=nanocoder.home).stdout


@pytest.mark.parametrize(
    "path",
    [
        ".config/nanocoder/config.toml",
        ".local/state/nanocoder/trusted.json",
        ".cache/nanocoder/plugins.json",
        ".config/nanocoder/../nanocoder/new.toml",
    ],
)
def test_tools_cannot_write_nanocoders_own_files_in_the_home_directory(nanocoder, path):
    (nanocoder.home / ".config/nanocoder").mkdir(parents=True)
    arguments = json.dumps({"path": path, "content": "x"})
    done = nanocoder("--mode", "auto", "call", "write_file", arguments, cwd=nanocoder.home)
    assert done.returncode != 0
    assert not (nanocoder.home / ".config/nanocoder/new.toml").exists()


PROJECTS = {
    "settings": {"XDG_CONFIG_HOME": "{ws}/c"},
    "state": {"XDG_STATE_HOME": "{ws}/s"},
    "cache": {"XDG_CACHE_HOME": "{ws}"},
    "home below": {"HOME": "{ws}/h"},
    "home": {"HOME": "{ws}"},
}


@pytest.fixture(params=PROJECTS)
def chosen_by_project(request, nanocoder):
    """Make a checkout, and variables that point into it as a project's tooling may set them."""
    (nanocoder.cwd / ".git").mkdir()
    variables = PROJECTS[request.param]
    return {name: value.format(ws=nanocoder.cwd) for name, value in variables.items()}


@pytest.mark.rows(2)
def test_no_session_opens_where_a_project_chose_our_directories(nanocoder, chosen_by_project):
    done = nanocoder("run", "--model", nanocoder.script({"text": "x"}), "hi", env=chosen_by_project)
    assert done.returncode == 2
    assert "is inside the workspace" in done.stderr
    assert "--cwd DIR" in done.stderr


@pytest.mark.rows(2)
@pytest.mark.timeout(60)  # without a cache to trust, every plugin is described anew
def test_a_command_without_a_workspace_works_there_and_ignores_the_files(
    nanocoder, chosen_by_project
):
    for folder in ("c/nanocoder", "h/.config/nanocoder", ".config/nanocoder"):
        (nanocoder.cwd / folder).mkdir(parents=True)
        (nanocoder.cwd / folder / "config.toml").write_text("mode = 'auto'\n")
    done = nanocoder("config", "where", "mode", env=chosen_by_project)
    assert (done.returncode, done.stdout) == (0, 'mode = "ask" (default)\n')


def test_a_variable_that_points_into_a_checkout_in_the_home_directory_is_a_projects(tmp_path):
    (tmp_path / "work/.git").mkdir(parents=True)
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "work/c")}
    assert "XDG_CONFIG_HOME" in Config.load(tmp_path, environment=environment).refusal


def test_directories_through_a_link_are_found_inside(nanocoder, tmp_path):
    (tmp_path / "link").symlink_to(nanocoder.cwd)
    environment = {"HOME": str(nanocoder.home), "XDG_CONFIG_HOME": str(tmp_path / "link" / "c")}
    assert "is inside" in Config.load(nanocoder.cwd, environment=environment).refusal


@pytest.mark.rows(2)
def test_undo_and_trust_refuse_where_a_project_chose_our_directories(nanocoder, chosen_by_project):
    project = nanocoder.cwd / ".nanocoder/config.toml"
    project.parent.mkdir()
    project.write_text("mode = 'auto'\n")
    for words in (("sessions", "undo", "--yes"), ("config", "trust", "--yes")):
        done = nanocoder(*words, env=chosen_by_project)
        assert done.returncode == 2
        assert "is inside the workspace" in done.stderr
        assert not list(nanocoder.cwd.rglob("trusted.json"))


@pytest.mark.parametrize("environment", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_a_home_in_the_environment_and_in_the_system_it_is_said(monkeypatch, environment):
    """A container may run as a user without an entry in the list of users."""

    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for place in (user_config_dir, state_dir, cache_dir):
        with pytest.raises(ConfigError, match=r"there is no home directory .* set HOME or XDG_"):
            place(environment)
