"""The package alone: a program with settings of its own."""

import json
import subprocess
import sys

import pytest
from attrs import frozen
from nanocoder_config import ConfigFile, Layer, LayeredConfig, keys_of, setting, trust_entry
from nanocoder_schema import ConfigError, UsageError


@frozen
class Settings:
    pace: str = setting("walk", "How fast.", tighten="order", choices=("stand", "walk", "run"))
    jobs: int = setting(8, "How many at once; 0: no limit.", tighten="min", unlimited=0)
    mirror: str = setting("", "Where to fetch from.", user_only=True)


@frozen
class Shelf:
    skip: tuple[str, ...] = setting((), "What is left out.", tighten="union")


@frozen
class Plugins:
    disable: tuple[str, ...] = setting((), "Plugins that are not loaded.")


TABLES = {(): Settings, ("shelf",): Shelf, ("plugins",): Plugins}


class Config(LayeredConfig):
    tables = TABLES


@pytest.fixture
def load(tmp_path):
    """Return what writes both files and loads them; the folders stay the same."""
    home, workspace = tmp_path / "home", tmp_path / "ws"
    user = home / ".config/nanocoder/config.toml"
    project = workspace / ".nanocoder/config.toml"
    for file in (user, project):
        file.parent.mkdir(parents=True)

    def load(own="", foreign="", *, variables=None, **options):
        user.write_text(own)
        project.write_text(foreign)
        environment = {"HOME": str(home), **(variables or {})}
        return Config.load(workspace, environment=environment, **options)

    load.home, load.workspace = home, workspace
    return load


@pytest.mark.contract("M1")
def test_the_files_above_count_up_to_the_root_of_the_repository(load):
    root = load.workspace
    load("", 'pace = "stand"\n[shelf]\nskip = ["root"]\n')
    inner = root / "a/b"
    (inner / ".nanocoder").mkdir(parents=True)
    (inner / ".nanocoder/config.toml").write_text('[shelf]\nskip = ["inner"]\n')
    environment = {"HOME": str(load.home)}
    assert Config.load(inner, environment=environment).values["shelf",] == Shelf(("inner",))
    (root / ".git").mkdir()
    config = Config.load(inner, environment=environment)
    assert config.values["shelf",] == Shelf(("root", "inner"))
    assert config.values[()].pace == "stand"
    assert Config.load(root / "a", environment=environment).values["shelf",] == Shelf(("root",))


@pytest.mark.contract("M1")
def test_a_file_above_loosens_only_where_its_own_folder_is_trusted(load):
    load('pace = "walk"\n', 'pace = "run"\n')
    (load.workspace / ".git").mkdir()
    inner = load.workspace / "a"
    inner.mkdir()
    environment = {"HOME": str(load.home)}
    assert Config.load(inner, environment=environment, trusted=True).values[()].pace == "walk"
    state = load.home / ".local/state/nanocoder"
    state.mkdir(parents=True)
    trusted = {"folders": {str(load.workspace): trust_entry(load.workspace)}}
    (state / "trusted.json").write_text(json.dumps(trusted))
    (state / "trusted.json").chmod(0o600)
    assert Config.load(inner, environment=environment).values[()].pace == "run"


def test_the_strongest_layer_wins_and_each_value_knows_its_origin(load):
    config = load(
        'jobs = 4\npace = "run"\n', variables={"NANOCODER_JOBS": "3"}, flags={"pace": "stand"}
    )
    assert config.values[()] == Settings(pace="stand", jobs=3)
    assert [str(config.where(key)) for key in ("pace", "jobs", "mirror")] == [
        "--pace", "NANOCODER_JOBS", "default",
    ]  # fmt: skip
    assert str(load("\njobs = 4\n").where("jobs")).endswith("config.toml:2")


@pytest.mark.parametrize(
    ("own", "foreign", "expected"),
    [
        ("", 'pace = "stand"', Settings(pace="stand")),
        ("", 'pace = "run"', Settings()),
        ("", "jobs = 2", Settings(jobs=2)),
        ("jobs = 0", "jobs = 100", Settings(jobs=100)),
        ("", "jobs = 0", Settings()),
        ("", 'mirror = "https://elsewhere"', Settings()),
        ("", "nonsense = 1", Settings()),
    ],
)
def test_a_project_that_is_not_trusted_only_tightens(load, own, foreign, expected):
    config = load(own, foreign)
    assert config.values[()] == expected
    assert bool(config.notices) == (expected == Settings())


def test_a_folder_is_trusted_until_its_file_changes(load):
    loose = 'pace = "run"\nmirror = "https://elsewhere"'
    load("", loose)
    state = load.home / ".local/state/nanocoder"
    state.mkdir(parents=True)
    folders = {str(load.workspace): trust_entry(load.workspace)}
    (state / "trusted.json").write_text(json.dumps({"folders": folders}))
    config = load("", loose)
    assert (config.trusted, config.values[()].pace) == (True, "run")
    assert config.values[()].mirror == ""  # never a project's
    assert load("", loose + "\njobs = 9").values[()] == Settings()


def test_lists_are_added_up_and_nothing_loosens_what_is_managed(tmp_path):
    def layer(name, text):
        document = ConfigFile(tmp_path / f"{name}.toml", text.encode())
        return Layer(name, document.data, document)

    managed = layer("managed", 'jobs = 4\n[shelf]\nskip = ["a"]')
    config = Config([managed, layer("user", 'jobs = 9\n[shelf]\nskip = ["b"]')])
    assert (config.values[()].jobs, config.values["shelf",].skip) == (4, ("a", "b"))
    assert str(config.where("jobs")) == f"{tmp_path}/managed.toml:1 (managed)"
    with pytest.raises(UsageError, match=r"jobs: .*managed.* sets it"):
        config.refuse_change("jobs", 9)


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ("job = 1", r":1: job: unknown key; did you mean 'jobs'\?"),
        ('\npace = "fly"', r":2: pace: expected one of stand, walk, run, got 'fly'"),
        ("shelf = 1", r":1: shelf: expected a table, got 1"),
        ("jobs = ", r":1:8: this is not valid TOML"),
    ],
)
def test_a_mistake_is_told_with_its_line(load, own, problem):
    with pytest.raises(ConfigError, match=problem):
        load(own)


def test_plugins_have_tables_of_their_own(load):
    config = load("[plugins.shelf]\nskip = ['x']\n")
    assert config.settings("shelf", Shelf) == Shelf(("x",))
    assert config.settings("other", Shelf) == Shelf()
    (line,) = config.unknown_plugins(frozenset({"shell"}))
    assert line.endswith("there is no plugin 'shelf'; did you mean 'shell'?")
    assert [key for key, _, _ in config.items({"shelf": Shelf})] == [
        *keys_of(Settings), "shelf.skip", "plugins.disable", "plugins.shelf.skip",
    ]  # fmt: skip


def test_it_needs_nothing_of_the_agent():
    code = "import nanocoder_config.config, sys; print('nanocoder' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_all_mistakes_of_a_table_are_told_at_once_each_with_its_line(load):
    with pytest.raises(ConfigError) as caught:
        load('pace = "fly"\njobs = "many"\ncolour = 1\n')
    lines = str(caught.value).splitlines()
    file = load.home / ".config/nanocoder/config.toml"
    assert [line.partition(": ")[0] for line in lines] == [f"{file}:{n}" for n in (1, 2, 3)]


@frozen
class Picky:
    other: int = 0
    hosts: tuple[str, ...] = ()

    def __attrs_post_init__(self):
        if "bad host" in self.hosts:
            raise ValueError("hosts: 'bad host' is no host")


def test_a_fault_that_only_a_plugins_class_finds_has_file_and_line(load):
    config = load('[plugins.picky]\nother = 1\nhosts = ["bad host"]\n')
    file = load.home / ".config/nanocoder/config.toml"
    with pytest.raises(ConfigError) as caught:
        config.settings("picky", Picky)
    assert str(caught.value) == f"{file}:3: plugins.picky: hosts: 'bad host' is no host"
