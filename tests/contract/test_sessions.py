"""Every test runs in a session, and what is left to `full` says more of what the others say."""

import ast

import repository
import summary

OTHER_SESSIONS = ("contrib/integrations", "tests/bench")


def test_each_file_with_tests_is_in_a_folder_of_one_session():
    folders = [*(name for names in repository.SESSIONS.values() for name in names), *OTHER_SESSIONS]
    files = [file for file in repository.python_files() if file.name.startswith("test_")]
    for file in files:
        if "/tests/" not in f"/{repository.shown(file)}":
            continue
        assert any(file.is_relative_to(repository.ROOT / folder) for folder in folders), file


def test_a_whole_file_is_left_to_full_only_for_a_listed_reason():
    listed = {entry["file"] for entry in repository.exceptions("full")}
    whole = {repository.shown(file) for file in repository.python_files() if is_full(file)}
    assert whole == listed


def is_full(file):
    """Return True if a file marks all of its tests."""
    return any(
        isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "pytestmark"
        and "mark.full" in ast.unparse(node.value)
        for node in repository.tree(file).body
    )


def test_a_test_that_ran_in_no_session_is_found(tmp_path):
    (tmp_path / "a.xml").write_text(
        "<testsuites><testsuite>"
        '<testcase classname="core.a.tests.test_x" name="test_1"/>'
        '<testcase classname="core.a.tests.test_x" name="test_2[a]"/>'
        '<testcase classname="core.a.tests.test_x" name="test_3">'
        '<skipped message="needs the program tmux: install the package tmux"/></testcase>'
        "</testsuite></testsuites>",
        encoding="utf-8",
    )
    file = "core/a/tests/test_x.py"
    assert summary.never_ran({file: 2}, tmp_path) == {}
    assert summary.never_ran({file: 4}, tmp_path) == {file: 2}
