"""Which files reach the prompt, in which order, marked as whose words, and what cannot."""

import subprocess
import sys

import nanocoder_context_files as plugin
import pytest
from nanocoder_testing import opened


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "app/web").mkdir(parents=True)
    return root


def system_of(cwd, environment=None, settings=None, **options):
    options["environment"] = environment or {"HOME": "/nonexistent"}
    chosen = {"context-files": settings or plugin.Settings()}
    plugins = {"context-files": plugin}
    with opened(cwd, ["Done."], plugins=plugins, settings=chosen, **options) as (session, model):
        list(session.run("go"))
        return model.requests[0].system


@pytest.mark.contract("H1")
def test_files_from_the_root_of_the_repository_to_the_workspace_the_nearest_last(
    repository, tmp_path
):
    (tmp_path / "AGENTS.md").write_text("outside")
    (repository / "AGENTS.md").write_text("of the root")
    (repository / "app/CLAUDE.md").write_text("of the app")
    (repository / "app/web/AGENTS.md").write_text("of the web")
    (repository / "app/web/CLAUDE.md").write_text("second name")
    system = system_of(repository / "app/web")
    assert system.index("of the root") < system.index("of the app") < system.index("of the web")
    assert "outside" not in system
    assert "second name" not in system
    assert system.count("not by the user") == 3


@pytest.mark.contract("H1")
def test_the_users_own_file_and_notes_come_first_and_are_marked_as_theirs(repository, tmp_path):
    own = tmp_path / "home/.config/nanocoder"
    own.mkdir(parents=True)
    (own / "AGENTS.md").write_text("Be brief.")
    (own / "notes.md").write_text("- I like tabs")
    (repository / "AGENTS.md").write_text("of the root")
    system = system_of(repository, {"HOME": str(tmp_path / "home")})
    assert system.index("Be brief.") < system.index("I like tabs") < system.index("of the root")
    assert system.count("the user's own") == 2
    without = plugin.Settings(notes=False)
    assert "tabs" not in system_of(repository, {"HOME": str(tmp_path / "home")}, without)


def test_without_a_repository_only_the_workspace_counts(tmp_path):
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    (tmp_path / "a/AGENTS.md").write_text("above")
    assert "above" not in system_of(folder)
    (folder / "AGENTS.md").write_text("here")
    assert "here" in system_of(folder)


def test_a_file_that_changes_is_read_again(repository):
    (repository / "AGENTS.md").write_text("the old way")
    plugins = {"context-files": plugin}
    with opened(repository, ["a", "b"], plugins=plugins) as (session, model):
        list(session.run("go"))
        (repository / "AGENTS.md").write_text("the new way")
        list(session.run("go on"))
    first, second = (request.system for request in model.requests)
    assert "the old way" in first
    assert "the new way" in second
    assert "the old way" not in second


@pytest.mark.contract("H1")
def test_a_file_that_comes_or_goes_during_the_session_counts_from_then_on(repository):
    plugins, file = {"context-files": plugin}, repository / "AGENTS.md"
    with opened(repository, ["a", "b", "c", "d"], plugins=plugins) as (session, model):
        list(session.run("write an AGENTS.md"))
        file.write_text("the new way")
        list(session.run("go on"))
        list(session.run("go on"))
        with opened(repository, ["x"], plugins=plugins) as (fresh, other):
            list(fresh.run("go"))
            at_start = other.requests[0].system
        file.unlink()
        list(session.run("go on"))
    without, *with_file, again = [request.system for request in model.requests]
    assert with_file == [at_start, at_start]
    assert "the new way" in at_start
    assert again == without


@pytest.mark.contract("H1")
def test_a_file_that_goes_leaves_nothing_in_the_prompt(repository):
    (repository / "AGENTS.md").write_text("the old way")
    with opened(repository, ["a", "b"], plugins={"context-files": plugin}) as (session, model):
        list(session.run("go"))
        (repository / "AGENTS.md").unlink()
        list(session.run("go on"))
    assert model.requests[1].system == system_of(repository)


def test_a_link_that_leads_out_of_its_folder_is_not_followed(repository, tmp_path):
    (tmp_path / "secret").write_text("the secret")
    (repository / "AGENTS.md").symlink_to(tmp_path / "secret")
    (repository / "CLAUDE.md").write_text("of the root")
    system = system_of(repository)
    assert "the secret" not in system
    assert "of the root" in system


def test_a_long_file_is_cut(repository):
    (repository / "AGENTS.md").write_text("word " * 10_000)
    assert "characters left out" in system_of(repository, settings=plugin.Settings(max_chars=500))


def test_without_files_the_prompt_stays_as_it_is(repository):
    assert plugin.HEAD not in system_of(repository)


LOOKS = """
import sys
from pathlib import Path
from nanocoder import SessionInfo
from nanocoder_context_files.files import Names, instructions
assert not instructions(SessionInfo("s", Path(sys.argv[1])), Names(["AGENTS.md"]), 100).texts
print("nanocoder_files.workspace" in sys.modules)
"""


def test_a_folder_without_the_files_costs_a_start_no_workspace(repository):
    command = [sys.executable, "-c", LOOKS, str(repository)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
