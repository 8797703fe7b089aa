"""A path is judged by where it leads: links, `..` behind them, and other spellings of a name."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def tree(tmp_path: Path) -> Path:
    """A workspace with links to what is protected, secret, ruled, and outside."""
    for folder in ("a/b/c", "secrets/deep", "src/deep", ".git/info", ".ssh/sub", "docs/sub"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("secrets/x", "src/x", ".git/config", ".ssh/config", "docs/x", "a/x"):
        (tmp_path / file).write_text("x")
    links = {
        "a/b/c/link": "../../..",
        "a/gl": "../.git/info",
        "a/sl": "../secrets/deep",
        "a/chain": "sl",
        "a/ssl": "../.ssh/sub",
        "docs/sl": "../src/deep",
        "docs/abs": f"{tmp_path}/src/deep",
        "docs/dangling": "../src/none/deep",
        "docs/in": "sub",
        "out": "../elsewhere/deep",
        "é": ".ssh",
        "gé": ".git",
        "CASE": "secrets",
        "x": "a/b",
        "v": ".vscode",
    }
    for link, target in links.items():
        (tmp_path / link).symlink_to(target)
    (tmp_path.parent / "outside.txt").write_text("outside")
    return tmp_path


READERS = [
    "cat a/b/c/link/../outside.txt",
    "cat ./a//b/./c/link/../outside.txt",
    "cat {root}/a/b/c/link/../outside.txt",
    "cat x/c/link/../outside.txt",
    "cd a/b/c/link && cat ../outside.txt",
    "cd x/c/link && cat ../outside.txt",
    "cd a/b/c/link/.. && cat outside.txt",
    "cd a/../a/b/c/link/.. && ls",
    "cd a/b/../../out/.. && ls",
    "ls a/b/c/link/../../../home",
    "ls out/..",
    "cat out/../x",
    "head -3 a/b/c/link/../outside.txt",
    "grep x a/b/c/link/../outside.txt",
    "find a/b/c/link/.. -name '*.txt'",
    "wc -l a/x a/b/c/link/../outside.txt",
    "cat a/ssl/../config",
    "cat é/config",
    "cat a/missing/../ssl/../config",
]


@pytest.mark.parametrize("command", READERS)
def test_a_command_that_reads_through_a_link_asks(command, tree, judge):
    verdict = judge("bash", {"command": command.format(root=tree)})
    assert str(verdict.decision) in {"ask", "deny"}


@pytest.mark.parametrize(
    "command",
    ["cat docs/sl/../x", "cat a/b/../x", "ls x"],
)
def test_a_link_within_the_workspace_does_not_ask(command, judge):
    assert str(judge("bash", {"command": command}).decision) == "allow"


SPELLINGS = [
    "secrets/x",
    "a/sl/../x",
    "a/chain/../x",
    "./a//sl/./../x",
    "{root}/a/sl/../x",
    "{root}/./a/../a/sl/../x",
    "CASE/x",
    "case/../CASE/x",
    "a/b/c/link/secrets/x",
    "x/c/link/secrets/x",
    "a/sl/../../secrets/x",
    "a/sl/new",
    "a/sl/no/such/file",
]


@pytest.mark.parametrize("path", SPELLINGS)
def test_a_rule_that_denies_holds_for_every_way_to_a_file(path, tree, judge):
    path = path.format(root=tree)
    denying = {"deny": ["*(secrets/**)"]}
    patch = f"*** Begin Patch\n*** Update File: {path}\n*** End Patch\n"
    for name, arguments in (
        ("read_file", {"path": path}),
        ("grep", {"pattern": "x", "glob": path}),
        ("write_file", {"path": path, "content": ""}),
        ("apply_patch", {"patch": patch}),
        ("edit_file", {"edits": [{"path": path}]}),
        ("stranger", {"files": {"first": [path]}}),
    ):
        assert str(judge(name, arguments, "auto", **denying).decision) == "deny", name


@pytest.mark.parametrize(
    "path",
    ["a/gl/../config", "a/gl/../hooks/pre-commit", "gé/config", "v/tasks.json", "gé/../gé/x"],
)
def test_a_protected_file_is_known_behind_links(path, judge):
    arguments = {"path": path, "content": ""}
    assert str(judge("write_file", arguments, "edits").decision) == "ask"
    assert str(judge("write_file", arguments, "auto").decision) == "deny"


@pytest.mark.parametrize("path", ["docs/sl/../main.py", "docs/abs/../x", "docs/dangling/../y"])
def test_a_rule_that_allows_is_for_where_a_path_leads(path, judge):
    rules = {"allow": ["write_file(docs/**)"]}
    assert str(judge("write_file", {"path": path, "content": ""}, **rules).decision) == "ask"
    assert str(
        judge("write_file", {"path": "docs/in/../new", "content": ""}, **rules).decision
    ) == ("allow")


@pytest.mark.parametrize("path", ["é/config", "a/ssl/../config"])
def test_a_secret_is_known_by_where_a_path_leads(path, judge):
    assert str(judge("read_file", {"path": path}).decision) == "deny"


def test_an_escaped_byte_is_the_name_that_will_be_opened(tree, judge):
    (tree / os.fsdecode(b"l\xff")).symlink_to(".ssh")
    (tree / "l\n").symlink_to(".git")
    assert str(judge("read_file", {"path": "l\\xff/config"}).decision) == "deny"
    assert str(judge("write_file", {"path": "l\\x0a/config"}, "auto").decision) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > v/tasks.json",
        "echo x > .github/workflows/a.yml",
        "cp evil a/gl/../hooks/pre-commit",
        "tee .husky/pre-commit",
        "sed -i s/a/b/ .gitlab-ci.yml",
        "echo x > .cargo/config.toml",
    ],
)
def test_no_command_of_mode_auto_changes_what_decides_what_runs(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        ".venv/bin/pytest -q",
        "node_modules/.bin/tsc",
        "git diff HEAD",
        "cat .github/workflows/a.yml",
    ],
)
def test_commands_may_run_what_is_installed(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


@pytest.mark.parametrize(
    "destination",
    [".github", ".github/workflows", "node_modules", ".venv", ".cargo", "web/.circleci"],
)
def test_a_folder_that_is_moved_to_a_protected_place_asks(destination, judge):
    arguments = {"source": "a", "destination": destination}
    assert str(judge("edit_file", arguments, "edits").decision) == "ask"


def test_nothing_is_said_of_a_secret_that_is_there_or_that_a_pattern_may_find(tree, judge):
    (tree / "server.pem").write_text("secret")
    (tree / "key").symlink_to("server.pem")
    for name, arguments in (
        ("read_file", {"path": "server.pem"}),
        ("read_file", {"path": "key"}),
        ("grep", {"pattern": "x", "glob": ".env"}),
        ("grep", {"path": "a", "glob": ".env"}),
        ("grep", {"paths": ["none", ".env"]}),
        ("write_file", {"path": ".env", "content": ""}),
    ):
        verdict = judge(name, arguments)
        assert str(verdict.decision) == "deny", arguments
        assert "there is no file" not in verdict.reason
