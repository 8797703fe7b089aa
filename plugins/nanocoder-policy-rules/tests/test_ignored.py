"""What `.nanocoderignore` names is left out by every tool, and said; a project only tightens."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from nanocoder import SessionInfo, Workspace, WorkspaceError
from nanocoder_policy_rules import Settings
from nanocoder_policy_rules.ignored import read_ignored

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
def read(tmp_path):
    """Return what is said of a path: "" where it may be read."""
    root = tmp_path / "root"
    root.mkdir()

    def refusal(path, settings=None, cwd=root, **info):
        session = SessionInfo("s", cwd, **info)
        policy = read_ignored(session, settings or Settings())
        if policy is None:
            return ""
        folders = path.split("/")
        paths = ["/".join(folders[: end + 1]) for end in range(len(folders))]
        return next(filter(None, map(policy.refuses, paths)), "")

    refusal.root = root
    return refusal


def write(root, path, text=""):
    target = Path(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


def test_braces_mean_what_they_mean_in_rules(read):
    write(read.root, ".nanocoderignore", "*.{key,crt}\n!/pub.{key,crt}\n{a,b}/secret[[:digit:]]\n")
    for path in ("x.key", "sub/x.crt", "a/secret1", "b/secret2"):
        assert read(path)
    for path in ("pub.key", "x.pem", "c/secret1", "a/secrets"):
        assert not read(path)
    assert read("x.token", Settings(ignore=("*.{token,pem}",)))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        *(("[[:nope:]]", "no class"), ("a[b", "not closed"), ("a\\", "backslash")),
        *(("{a,b}" * 7, "64"), ("a\0b", "NUL")),
    ],
)
def test_a_pattern_that_matches_nothing_is_named_with_its_line(read, line, problem):
    write(read.root, ".nanocoderignore", f"# first\n{line}\n")
    with pytest.raises(ValueError, match=rf"\.nanocoderignore:2: .*{problem}"):
        read("a")
    with pytest.raises(ValueError, match=rf"ignore\[1\]: it can match nothing: .*{problem}"):
        Settings(ignore=("x", line))


@pytest.mark.contract("H7")
def test_patterns_mean_what_git_would_mean(read):
    lines = "*.csv\n!keep.csv\n/top.txt\ndata/\ndocs/**/draft.md\n# no comment\n\\#odd\n"
    write(read.root, ".nanocoderignore", lines)
    write(read.root, ".gitignore", lines)
    paths = [
        *("a.csv", "x/y/b.csv", "keep.csv", "x/keep.csv", "top.txt", "x/top.txt", "data/a"),
        *("x/data/a/b", "docs/draft.md", "docs/a/b/draft.md", "draft.md", "#odd", "no comment"),
        *("datas/a", "file/data"),
    ]
    for path in paths:
        write(read.root, path)
    subprocess.run(["git", "init", "-q", "."], cwd=read.root, check=True)
    for path in paths:
        command = ["git", "check-ignore", "-q", "--no-index", path]
        is_ignored = subprocess.run(command, cwd=read.root, check=False).returncode == 0
        assert bool(read(path)) == is_ignored, path


@pytest.mark.contract("H7")
def test_a_folder_that_is_named_is_refused_and_a_file_of_that_name_is_not(read):
    write(read.root, ".nanocoderignore", "data/\n")
    write(read.root, "a/data")
    write(read.root, "data/x")
    os.symlink(read.root / "data", read.root / "b")
    assert read("data/x")
    assert not read("a/data")


@pytest.mark.contract("H7")
def test_files_above_the_workspace_count_up_to_the_root_of_the_repository(read):
    app = read.root / "app"
    (read.root / ".git").mkdir()
    write(read.root, ".nanocoderignore", "app/secret.txt\n*.csv\n")
    write(app, ".nanocoderignore", "!open.csv\n")
    write(read.root.parent, ".nanocoderignore", "*\n")
    assert str(read.root / ".nanocoderignore") in read("secret.txt", cwd=app)
    assert read("a.csv", cwd=app)
    assert not read("open.csv", cwd=app)
    assert not read("a.txt", cwd=app)


@pytest.mark.contract("H7")
def test_the_users_own_settings_add_and_allow(read):
    write(read.root, ".nanocoderignore", "*.csv\n")
    settings = Settings(ignore=("*.bak",), not_ignored=("small.csv",))
    assert "plugins.policy-rules.ignore" in read("a.bak", settings)
    assert not read("x/small.csv", settings)
    assert "plugins.policy-rules.not_ignored" in read("a.csv", settings)


def test_the_rules_of_the_original_place_hold_in_an_agents_copy(read, tmp_path):
    write(read.root, ".nanocoderignore", "*.csv\n")
    copy = tmp_path / "copy"
    copy.mkdir()
    assert read("a.csv", cwd=copy, origins=(read.root,))
    assert read("a.csv", cwd=tmp_path, origins=(copy, read.root))


def test_without_a_file_nothing_is_refused(read):
    assert read_ignored(SessionInfo("s", read.root), Settings()) is None


@pytest.mark.parametrize("kind", ["link", "folder", "long", "many"])
def test_a_file_that_cannot_be_read_as_a_whole_closes_everything(read, kind):
    path = read.root / ".nanocoderignore"
    if kind == "link":
        path.symlink_to("/dev/null")
    elif kind == "folder":
        path.mkdir()
    else:
        lines = ["a\n"] * 600_000 if kind == "long" else [f"*{n}\n" for n in range(600)]
        path.write_text("".join(lines))
    with pytest.raises(ValueError, match="nanocoderignore"):
        read("a.txt")


@pytest.mark.contract("H7")
def test_listings_leave_the_files_out_and_reading_says_why(read):
    write(read.root, ".nanocoderignore", "*.csv\nprivate/\n")
    for path in ("a.csv", "a.txt", "private/b.txt", "x/c.csv"):
        write(read.root, path, "text")
    session = SessionInfo("s", read.root)
    from nanocoder import Readable

    policy = read_ignored(session, Settings())
    with Workspace(read.root, readable=Readable([("policy-rules", policy)])) as workspace:
        assert [entry.path for entry in workspace.scan()] == [".nanocoderignore", "a.txt", "x"]
        assert workspace.scan("x") == []
        with pytest.raises(WorkspaceError, match="leaves this out") as refused:
            workspace.read_bytes("private/b.txt")
    assert refused.value.error_class == "read_denied"


@pytest.mark.contract("H7")
def test_every_tool_leaves_them_out_and_says_so(nanocoder):
    cwd = nanocoder.cwd
    write(cwd, ".nanocoderignore", "*.csv\n")
    write(cwd, "a.csv", "needle = 1\n")
    write(cwd, "b.py", "needle = 2\n")

    def call(name, arguments, *more):
        done = nanocoder("call", name, *more, json.dumps(arguments))
        return done.stdout + done.stderr

    for name, arguments in (
        ("glob", {"pattern": "**/*"}),
        ("grep", {"pattern": "needle"}),
        ("list_files", {}),
    ):
        output = call(name, arguments)
        assert "a.csv" not in output, name
        assert "b.py" in output, name
        assert "1 file left out by rules" in output, name
    assert "denied: .nanocoderignore leaves this out" in call("read_file", {"path": "a.csv"})
    for name in ("edit_file", "bash"):
        arguments = {
            "edit_file": {"path": "a.csv", "old_string": "1", "new_string": "2"},
            "bash": {"command": "cat a.csv"},
        }[name]
        assert "needle" not in call(name, arguments, "--mode", "auto"), name


def test_a_project_may_add_patterns_and_not_allow(nanocoder):
    folder = nanocoder.cwd / ".nanocoder"
    folder.mkdir()
    text = '[plugins.policy-rules]\nignore = ["*.bak"]\nnot_ignored = ["*"]\n'
    (folder / "config.toml").write_text(text)
    write(nanocoder.cwd, ".nanocoderignore", "*.csv\n")
    for name in ("a.csv", "a.bak"):
        write(nanocoder.cwd, name, "needle")
        done = nanocoder("call", "read_file", f'{{"path": "{name}"}}')
        assert "needle" not in done.stdout


@pytest.mark.contract("H7")
def test_no_tool_changes_the_file_without_a_person(nanocoder):
    path = write(nanocoder.cwd, ".nanocoderignore", "*.csv\n")
    arguments = json.dumps({"path": ".nanocoderignore", "content": "none\n"})
    done = nanocoder("call", "write_file", "--mode", "edits", arguments)
    assert done.returncode == 3, done.stdout
    assert "nanocoder's own settings decide what may run" in done.stdout + done.stderr
    assert path.read_text() == "*.csv\n"
