"""Git in Landlock reads, and a program inside leaves nothing for a git outside."""

import pytest
from nanocoder_kit_sandbox import Settings
from nanocoder_kit_sandbox.landlock import Landlocked
from sandbox_git import (  # noqa: F401
    test_a_folder_of_hooks_that_is_made_inside_is_moved_away,
    test_a_hook_of_the_person_stays_as_it_is,
    test_each_attack_works_without_a_sandbox,
    test_git_outside_starts_nothing_of_an_attacker,
    test_git_outside_writes_to_no_file_that_a_link_leads_to,
    test_objects_are_not_read_from_elsewhere,
)
from sandboxed_place import inside, repository  # noqa: F401


@pytest.fixture
def box():
    """Open Landlock around a workspace."""
    return Landlocked


def test_git_reads(repository):  # noqa: F811
    done = repository.run("echo new > other; git status --short; git log --format=%s; git diff")
    assert done.stdout == "?? .env\n?? other\n?? private/\nsecond\nfirst\n"
    assert done.stderr == ""


@pytest.mark.parametrize("words", ["add file", "commit -qm x --allow-empty", "branch x", "gc -q"])
def test_git_writes_only_where_a_person_lets_it(repository, words):  # noqa: F811
    (repository.workspace / "file").write_text("changed\n")
    assert "Permission denied" in repository.run(f"git {words}").stderr
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    names |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    done = repository.run(f"git {words}", Settings(writable=(".git",)), **names)
    assert done.returncode == 0, done.stderr
