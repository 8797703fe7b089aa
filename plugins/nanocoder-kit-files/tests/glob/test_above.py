"""Rules from outside of the workspace: of the repository around it, and of the person."""

import pytest
from nanocoder import Workspace
from nanocoder_kit_files.glob.git_ignore import GitIgnore, list_files


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    (tmp_path / "home/.config/git").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def repository(tmp_path):
    top = tmp_path / "top"
    (top / ".git/info").mkdir(parents=True)
    for path in ("packages/web/src/a.js", "packages/web/src/a.min.js", "packages/web/out/b.js"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).touch()
    return top


def files(folder):
    with Workspace(folder) as workspace:
        return [batch.path(name) for batch in list_files(workspace) for name in batch.names]


def test_the_rules_of_every_folder_from_the_root_of_the_repository_count(home, repository):
    web = repository / "packages/web"
    assert files(web) == ["out/b.js", "src/a.js", "src/a.min.js"]
    (repository / ".gitignore").write_text("*.js\n/packages/web/out/\n")
    (repository / "packages/.gitignore").write_text("!*.js\n/web/src/*.min.js\n")
    assert files(web) == ["src/a.js"]
    (web / ".gitignore").write_text("!*.min.js\n")
    assert files(web) == [".gitignore", "src/a.js", "src/a.min.js"]
    with Workspace(web) as workspace:
        assert GitIgnore(workspace).ignores("out/new")


def test_the_exclude_file_of_a_repository_around_the_workspace_counts(home, repository):
    (repository / ".git/info/exclude").write_text("a.js\nout\n")
    assert files(repository / "packages/web") == ["src/a.min.js"]


def test_rules_above_the_repository_do_not_count_nor_links(home, repository):
    web = repository / "packages/web"
    (repository.parent / ".gitignore").write_text("*\n")
    (repository / "rules").write_text("*\n")
    (repository / ".gitignore").symlink_to("rules")
    assert len(files(web)) == 3
    (web / ".git").mkdir()
    (repository / "packages/.gitignore").write_text("*\n")
    assert len(files(web)) == 3


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ("[core]\n\texcludesFile = ~/own\n", ["src/a.js"]),
        ('[core]excludesfile="~/own" # mine\n', ["src/a.js"]),
        ("[CORE]\nexcludesFile=/nowhere\n[core]\nEXCLUDESFILE = ~/own ; mine\n", ["src/a.js"]),
        ("[core]\nexcludesFile =\n", ["out/b.js", "src/a.js", "src/a.min.js"]),
        ('[core "x"]\nexcludesFile = ~/own\n', ["out/b.js", "src/a.js"]),
        ("[user]\nexcludesFile = ~/own\n", ["out/b.js", "src/a.js"]),
        ("", ["out/b.js", "src/a.js"]),
    ],
)
def test_the_list_of_the_person_counts(home, repository, settings, left):
    (home / "own").write_text("out/\n*.min.js\n")
    (home / ".config/git/ignore").write_text("*.min.js\n")
    (home / ".gitconfig").write_text(settings)
    assert files(repository / "packages/web") == left


def test_no_setting_of_a_repository_names_a_list(home, repository):
    (home / "own").write_text("*\n")
    (repository / ".git/config").write_text("[core]\n\texcludesFile = ~/own\n")
    assert len(files(repository / "packages/web")) == 3


def test_a_rule_of_the_repository_is_stronger_than_the_list_of_the_person(home, repository):
    (home / ".config/git/ignore").write_text("*.js\n")
    (repository / ".gitignore").write_text("!a.js\n")
    assert files(repository / "packages/web") == ["src/a.js"]
