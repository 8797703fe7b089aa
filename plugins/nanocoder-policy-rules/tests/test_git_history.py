"""Git commands that show older commits ask where one of them has a file that is kept back."""

import subprocess

import pytest
from nanocoder_policy_rules.git_content import Scope, content_of

DENY = {"deny": ["read_file(private/**)"]}


def git(folder, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path):
    """Return a repository with two commits of nothing but what may be read."""
    git(tmp_path, "init", "-q", ".")
    (tmp_path / "src").mkdir()
    for text in ("a\n", "b\n"):
        (tmp_path / "src/a.py").write_text(text)
        (tmp_path / "README.md").write_text(text)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def commit_and_forget(folder, name):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("token\n")
    git(folder, "add", "-f", name)
    git(folder, "commit", "-q", "-m", "with it")
    git(folder, "rm", "-q", name)
    git(folder, "commit", "-q", "-m", "without it")


SHOWING = [
    *("git log -p", "git log -S token -p", "git log -Stoken", "git log --patch -2", "git show"),
    *("git show HEAD~1", "git diff HEAD~1 HEAD", "git diff HEAD~2", "git diff HEAD~3..HEAD~1"),
    *("git grep token HEAD~1", "git grep -e token HEAD~1", "git grep -ne token HEAD~1"),
    *("git grep -netoken HEAD~1", "git grep -- token HEAD~1", "git log -p --date iso"),
    *("git log -p --follow -- src/a.py", "git log -p -- src 'p*'", "cd src && git show HEAD~1"),
    *("git -C src log -p", "git log --grep -- -p", "git log -p --grep -- HEAD~1"),
    "git grep -e -- HEAD~1",
]
OTHER = [
    *("git log", "git log --oneline -5", "git log --stat", "git log --name-only", "git status"),
    *(
        "git diff",
        "git diff HEAD",
        "git diff --staged",
        "git diff --cached",
        "git diff HEAD -- src",
    ),
    *("git diff --stat HEAD~1", "git show --stat HEAD~1", "git grep main", "git grep main HEAD"),
    *(
        "git blame src/a.py",
        "git log -p -- src/a.py",
        "git diff --cached -- src",
        "git diff HEAD~1 -- src",
        "git ls-files",
    ),
]


@pytest.mark.contract("C5", "C15")
@pytest.mark.parametrize("name", ["private/p", ".env"])
def test_what_git_could_show_of_an_older_commit_asks(repository, judge, name):
    (repository / "iso").write_text("a file with the name of a format\n")
    for command in (*SHOWING, *OTHER):
        assert str(judge("bash", {"command": command}, **DENY).decision) == "allow", command
    commit_and_forget(repository, name)
    for mode in ("ask", "edits", "auto"):
        for command in SHOWING:
            verdict = judge("bash", {"command": command}, mode, **DENY)
            assert str(verdict.decision) == "ask", (mode, command)
            assert "git may show" in verdict.reason
    for command in OTHER:
        assert str(judge("bash", {"command": command}, **DENY).decision) == "allow", command


def test_a_rule_for_the_command_is_consent_to_older_commits(repository, judge):
    commit_and_forget(repository, ".env")
    allowed = judge("bash", {"command": "git show HEAD~1"}, allow=["bash(git show *)"])
    assert str(allowed.decision) == "allow"


def test_what_is_removed_but_not_committed_asks(repository, judge):
    (repository / ".env").write_text("token\n")
    git(repository, "add", "-f", ".env")
    git(repository, "commit", "-q", "-m", "with it")
    git(repository, "rm", "-q", "--cached", ".env")
    for command in ("git diff HEAD", "git diff --cached", "git grep token HEAD"):
        assert str(judge("bash", {"command": command}).decision) == "ask", command
    assert str(judge("bash", {"command": "git diff"}).decision) == "allow"


@pytest.mark.parametrize("forget", [("stash",), ("branch", "-D", "other"), ("tag", "x")])
def test_commits_count_that_no_branch_leads_to(repository, judge, forget):
    main = git(repository, "branch", "--show-current")
    git(repository, "switch", "-q", "-c", "other")
    (repository / ".env").write_text("token\n")
    git(repository, "add", "-f", ".env")
    if forget != ("stash",):
        git(repository, "commit", "-q", "-m", "with it")
    if forget == ("stash",):
        git(repository, *forget)
    git(repository, "switch", "-q", main)
    if forget != ("stash",):
        git(repository, *forget)
    assert str(judge("bash", {"command": "git show HEAD"}).decision) == "ask"


def test_an_object_that_no_commit_leads_to_asks(repository, judge):
    (repository / ".env").write_text("token\n")
    blob = git(repository, "hash-object", "-w", ".env")
    head = git(repository, "rev-parse", "HEAD")
    for command in ("git show {}", "git cat-file -p {}", "git show v1-3-g{}"):
        for length in (40, 8):
            verdict = judge("bash", {"command": command.format(blob[:length])})
            assert str(verdict.decision) == "ask", command
        if "-g" not in command:
            verdict = judge("bash", {"command": command.format(head[:8])})
            assert str(verdict.decision) == "allow", command


def test_a_folder_that_became_a_link_is_judged_by_its_old_name(repository, judge):
    commit_and_forget(repository, "private/p")
    (repository / "private").symlink_to("src")
    command = {"command": "git show HEAD~1"}
    assert str(judge("bash", command, **DENY).decision) != "allow"


def test_a_history_that_takes_long_to_list_asks(repository, judge, monkeypatch):
    monkeypatch.setattr("nanocoder_kit_git.history.LIMIT_S", 0.0)
    monkeypatch.setattr("nanocoder_kit_git.run.POLL_S", 0.0)
    for mode in ("ask", "auto"):
        verdict = judge("bash", {"command": "git log -p"}, mode)
        assert str(verdict.decision) == "ask"
        assert "cannot be checked" in verdict.reason
    for command in ("git log", "git diff", "git status"):
        assert str(judge("bash", {"command": command}).decision) == "allow"


@pytest.mark.parametrize(
    ("command", "scope"),
    [
        ("log --oneline", None),
        ("log -n 3 -L1,2:a", Scope.HISTORY),
        ("show --stat HEAD~2", None),
        ("show --stat abcd", Scope.HISTORY),
        ("show --stat -p HEAD", Scope.HISTORY),
        ("diff", Scope.INDEX),
        ("diff --merge-base", Scope.HISTORY),
        ("diff @", Scope.HEAD),
        ("diff main", Scope.HISTORY),
        ("diff main --", Scope.HISTORY),
        ("grep x", Scope.INDEX),
        ("grep -f names HEAD~1", Scope.HISTORY),
        ("commit -v -m x", Scope.HEAD),
        ("stash show -p", Scope.HISTORY),
    ],
)
def test_what_a_command_shows(command, scope, tmp_path):
    showing = content_of(command.split(), str(tmp_path))
    assert (None if showing is None else showing.scope) == scope
