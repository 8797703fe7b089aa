"""Grants: which rules are offered with a question, and which calls they allow afterwards."""

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nanocoder import ConfigError, Event, Mode, SessionInfo
from nanocoder_policy_rules import grant_file, nanocoder_event

pytestmark = pytest.mark.contract("C9")

OFFERED = [
    ("bash", {"command": "make"}, ["bash(make)"]),
    ("bash", {"command": "pytest -q tests/test_a.py"}, ["bash(pytest -q tests/test_a.py)"]),
    ("bash", {"command": "git add one"}, ["bash(git add one)"]),
    ("bash", {"command": "make && ls | wc -l"}, ["bash(make)"]),
    ("bash", {"command": "make && pytest", "timeout": 5}, ["bash(make)", "bash(pytest)"]),
    ("bash", {"command": "npm run test"}, ["bash(npm run test)"]),
    ("bash", {"command": "touch one", "workdir": "."}, ["bash(touch one)"]),
    ("write_file", {"path": "docs/guide.md", "content": "x"}, ["write_file(docs/guide.md)"]),
    ("edit_file", {"path": "./a b.py"}, ["edit_file(a b.py)"]),
    ("web_fetch", {"url": "https://docs.python.org/3/"}, ["web_fetch(https://docs.python.org/3/)"]),
    ("served", {"text": "x"}, ["served"]),
]


@pytest.mark.parametrize(("name", "arguments", "rules"), OFFERED)
def test_the_rule_that_is_offered_is_for_exactly_what_was_seen(judge, name, arguments, rules):
    verdict = judge(name, arguments)
    assert (verdict.decision, verdict.grants) == ("ask", tuple(rules))


WRAPPERS = [
    'python3 -c "print(1)"',
    "python3 build.py",
    "env FOO=1 ls",
    "npx foo",
    'bash -lc "ls"',
    "sudo ls",
    "xargs touch",
    "uv run pytest",
    "docker run x",
    "timeout 5 make",
    "npm exec foo",
    "npm install left-pad",
    "pip install x",
    "ssh host make",
    "curl https://example.org",
]
DESTRUCTIVE = [
    "rm x",
    "mv a b",
    "kill 1",
    "chmod 777 x",
    "git push",
    "git reset --hard",
    "git clean -f",
]
PARTLY_KNOWN = [
    "make > log",
    "make; echo $HOME",
    "make &",
    "make `id`",
    "cat <<E\nx\nE\necho done",
    "FOO=1 make",
    "cd sub && make",
    "make 'a b'",
    "make \u0430",
]


# SHELL-186
@pytest.mark.parametrize("command", [*WRAPPERS, *DESTRUCTIVE, *PARTLY_KNOWN])
def test_shell_186_nothing_is_offered_that_a_person_should_see_each_time(judge, command):
    verdict = judge("bash", {"command": command})
    assert (verdict.decision, verdict.grants) == ("ask", ())


@pytest.mark.parametrize(
    ("name", "arguments", "settings"),
    [
        ("bash", {"command": "make", "workdir": "sub"}, {}),
        ("bash", {"command": "make", "background": True}, {}),
        ("bash", {"command": "make"}, {"ask": ["bash(make)"]}),
        ("bash", {"command": "./tool.sh"}, {}),
        ("write_file", {"path": ".git/config", "content": "x"}, {}),
        ("write_file", {"path": "../x", "content": "x"}, {}),
        ("write_file", {"path": "a*.py", "content": "x"}, {}),
        ("write_file", {"path": "link/x", "content": "x"}, {}),
        ("move_file", {"source": "a", "destination": "b"}, {}),
        ("delete_file", {"path": "a"}, {}),
        ("dev_server", {"command": "make"}, {}),
        ("http_check", {"url": "https://a.org/", "method": "POST"}, {}),
        ("web_fetch", {"url": "https://user:pw@a.org/"}, {}),
        ("stranger", {}, {}),
    ],
)
def test_nor_where_a_rule_asks_or_more_than_one_thing_is_named(
    judge, tmp_path, name, arguments, settings
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "tool.sh").touch(0o755)
    verdict = judge(name, arguments, **settings)
    assert (verdict.decision, verdict.grants) == ("ask", ())


def grant(cwd, *rules, scope="project", lasts_s=0.0):
    """Grant rules as the event of an approval does."""
    data = {"always": False, "scope": scope, "grants": rules, "lasts_s": lasts_s}
    nanocoder_event(Event("call.approved", data, "1"), SessionInfo("s", Path(cwd), Mode.ASK))


def decision(judge, command, **settings):
    return judge("bash", {"command": command}, **settings).decision


def test_a_grant_counts_at_once_and_for_the_same_call_alone(judge, tmp_path):
    grant(tmp_path, "bash(make)")
    verdict = judge("bash", {"command": "make"})
    assert (verdict.decision, verdict.rule) == ("allow", "bash(make)")
    assert verdict.source.startswith("grant ")
    assert "you granted 'bash(make)' in" in verdict.reason
    for other in ("make test", "make && make test", "cd sub && make", "make > x", "make -C x"):
        assert decision(judge, other) == "ask", other
    assert decision(judge, "make && ls") == "allow"


def test_the_commands_of_a_chain_need_a_grant_each(judge, tmp_path):
    grant(tmp_path, "bash(make)")
    assert decision(judge, "make && pytest") == "ask"
    grant(tmp_path, "bash(pytest)", scope="user")
    assert decision(judge, "make && pytest") == "allow"


def test_a_grant_of_a_project_holds_there_alone_and_one_of_the_user_everywhere(judge, tmp_path):
    grant(tmp_path / "elsewhere", "bash(make)")
    assert decision(judge, "make") == "ask"
    grant(tmp_path / "elsewhere", "bash(make)", scope="user")
    assert decision(judge, "make") == "allow"


def test_a_grant_for_any_arguments_of_a_tool_is_not_kept_beyond_the_session(judge, tmp_path):
    grant(tmp_path, "served", scope="user")
    assert grant_file.load() == ()
    assert judge("served", {"text": "x"}).decision == "ask"


@pytest.mark.parametrize(
    ("name", "arguments", "settings"),
    [
        ("served_removal", {"text": "x"}, {}),
        ("served", {"command": "make"}, {}),
        ("served", {"text": "x"}, {"ask": ["served(*)"]}),
        ("served", {"path": ".git/config"}, {}),
        ("web_fetch", {"url": "https://example.org/ x"}, {}),
        ("stranger", {}, {}),
        ("batch", {}, {}),
    ],
)
def test_any_arguments_of_a_tool_are_not_offered_where_each_call_should_be_seen(
    judge, name, arguments, settings
):
    verdict = judge(name, arguments, **settings)
    assert verdict.decision != "deny"
    assert verdict.grants == ()


@pytest.mark.contract("W13")
def test_a_grant_ends_when_its_time_is_over(judge, tmp_path):
    grant(tmp_path, "bash(make)", lasts_s=600)
    assert decision(judge, "make") == "allow"
    assert "until 2" in judge("bash", {"command": "make"}).reason
    grant(tmp_path, "bash(pytest)", lasts_s=0.1)
    time.sleep(0.2)
    assert decision(judge, "pytest") == "ask"
    assert decision(judge, "make") == "allow"


def test_no_grant_lifts_what_a_rule_or_the_mode_forbids_or_asks(judge, tmp_path):
    for scope in ("project", "user"):
        grant(tmp_path, "bash(make)", "bash(git push)", "write_file(.git/config)", scope=scope)
    assert decision(judge, "make", deny=["bash(make)"]) == "deny"
    assert decision(judge, "make", ask=["bash(make)"]) == "ask"
    assert decision(judge, "make", mode="plan") == "deny"
    assert decision(judge, "git push") == "ask"
    assert judge("write_file", {"path": ".git/config"}).decision == "ask"
    assert judge("write_file", {"path": ".git/config"}, mode="auto").decision == "deny"


def test_a_file_in_the_project_grants_nothing(judge, tmp_path, state):
    grant(tmp_path / "elsewhere", "bash(make)", scope="user")
    forged = (state / "grants.json").read_bytes()
    (state / "grants.json").unlink()
    for folder in (tmp_path, tmp_path / ".nanocoder"):
        folder.mkdir(exist_ok=True)
        (folder / "grants.json").write_bytes(forged)
    assert decision(judge, "make") == "ask"


def test_an_approval_for_once_or_for_the_session_is_not_kept(tmp_path, state):
    for scope in ("", "session"):
        grant(tmp_path, "bash(make)", scope=scope)
    assert not (state / "grants.json").exists()


def test_the_file_is_for_the_person_alone(tmp_path, state):
    grant(tmp_path, "bash(make)")
    assert stat.S_IMODE((state / "grants.json").stat().st_mode) == 0o600


def test_the_same_grant_again_takes_the_place_of_the_first(judge, tmp_path):
    grant(tmp_path, "bash(make)", lasts_s=0.01)
    grant(tmp_path, "bash(make)")
    assert [each.expires for each in grant_file.load()] == [0.0]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"grants": [{"id": 1}]}',
        b'{"grants": {}, "grants": []}',
        b'{"grants": [{"id": "a", "rules": "bash", "scope": "user", "folder": "", "since": 1}]}',
        b"\xff",
    ],
)
def test_a_broken_file_grants_nothing_is_named_and_stays_as_it_is(judge, tmp_path, state, content):
    state.mkdir(parents=True)
    (state / "grants.json").write_bytes(content)
    assert decision(judge, "make") == "ask"
    with pytest.raises(ConfigError, match=r"grants\.json holds no grants that can be read"):
        grant(tmp_path, "bash(make)")
    assert (state / "grants.json").read_bytes() == content


def test_a_link_in_the_place_of_the_file_is_not_followed(judge, tmp_path, state):
    grant(tmp_path, "bash(make)")
    (state / "grants.json").rename(state / "other.json")
    (state / "grants.json").symlink_to("other.json")
    assert decision(judge, "make") == "ask"


SAVE_FIFTY = """
import sys
from pathlib import Path
from nanocoder import Event, SessionInfo
from nanocoder_policy_rules import nanocoder_event

for number in range(50):
    grants = (f"bash(make {sys.argv[1]}{number})",)
    data = {"always": False, "scope": "user", "grants": grants, "lasts_s": 0.0}
    nanocoder_event(Event("call.approved", data, "1"), SessionInfo("s", Path("/"),))
"""


# CONC-007
FULL = """
import resource, signal, sys, time
from pathlib import Path
from nanocoder import ConfigError, Mode, SessionInfo
from nanocoder_policy_rules import grant_file
session = SessionInfo("s", Path(sys.argv[1]), Mode.ASK)
approved = {"scope": "user", "lasts_s": 0}
grant_file.save(session, {**approved, "grants": ["bash(make a)"]})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    grant_file.save(session, {**approved, "grants": ["bash(make b)"]})
except ConfigError as error:
    print(error)
print([rule for grant in grant_file.load() for rule in grant.rules])
"""


def test_fs_005_where_no_room_is_left_nothing_is_saved_and_what_was_is_whole(tmp_path, state):
    """A file that may not grow is as full as a disk; the call itself was approved before."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False
    )
    problem, rules = done.stdout.splitlines()
    assert "cannot write" in problem
    assert problem.endswith("File too large; nothing was changed")
    assert rules == "['bash(make a)']"
    assert sorted(path.name for path in state.iterdir()) == ["grants.json", "grants.lock"]


def test_conc_007_two_processes_that_save_at_once_lose_nothing(tmp_path):
    words = [sys.executable, "-c", SAVE_FIFTY]
    processes = [subprocess.Popen([*words, name], env=os.environ) for name in ("a", "b")]
    assert [process.wait(60) for process in processes] == [0, 0]
    rules = {rule for grant in grant_file.load() for rule in grant.rules}
    assert rules == {f"bash(make {name}{number})" for name in "ab" for number in range(50)}


# The commands


@pytest.fixture
def keep(nanocoder, monkeypatch):
    """Grant rules in the home of the command line, where no sandbox makes them needless."""
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[plugins.policy-rules]\nsandboxed = "ask"\n')
    monkeypatch.setenv("XDG_STATE_HOME", str(nanocoder.home / ".local/state"))

    def save(*rules, **more):
        grant(nanocoder.cwd, *rules, **more)

    return save


@pytest.mark.contract("W13")
def test_grants_are_listed_with_where_they_hold_and_until_when(nanocoder, keep):
    assert "nothing is granted" in nanocoder("grants", "list").stdout
    keep("bash(make)", "bash(pytest)")
    keep("bash(make all)", scope="user", lasts_s=3_600.0)
    keep("bash(make old)", lasts_s=0.01)
    done = nanocoder("grants", "list")
    everywhere, *both = done.stdout.splitlines()[1:]
    assert "bash(make old)" not in done.stdout
    assert "everywhere" in everywhere
    assert all(str(nanocoder.cwd) in line and "no end" in line for line in both)
    listed = json.loads(nanocoder("grants", "list", "--output", "json").stdout)
    assert [each["expires"] > 0 for each in listed] == [True, False]


def test_explain_names_the_grant(nanocoder, keep):
    keep("bash(make)", scope="user")
    done = nanocoder("policy", "explain", "bash", '{"command": "make"}')
    assert done.stdout.startswith("allow: you granted 'bash(make)' everywhere")
    assert "grant " in done.stdout


def test_a_revoked_grant_counts_no_more(nanocoder, keep):
    keep("bash(make)")
    keep("bash(pytest)")
    first, second = (each.id for each in grant_file.load())
    assert nanocoder("grants", "revoke", first).stdout == "revoked 1 grant\n"
    assert [each.id for each in grant_file.load()] == [second]
    explain = ("policy", "explain", "bash", '{"command": "make"}')
    assert nanocoder(*explain).stdout.startswith("ask: ")
    assert nanocoder("grants", "revoke", "--all").stdout == "revoked 1 grant\n"
    assert not grant_file.load()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "which grant?"),
        (("nope",), "there is no grant 'nope'"),
        (("nope", "--all"), "not both"),
    ],
)
def test_what_cannot_be_revoked_is_named_and_nothing_is_revoked(nanocoder, keep, words, problem):
    keep("bash(make)")
    done = nanocoder("grants", "revoke", *words)
    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr
    assert len(grant_file.load()) == 1


def test_a_broken_file_is_an_error_of_the_list(nanocoder, keep):
    keep("bash(make)")
    (nanocoder.home / ".local/state/nanocoder/grants.json").write_text("{")
    done = nanocoder("grants", "list")
    assert done.returncode == 2
    assert "repair it or remove it, which revokes all" in done.stderr


@pytest.mark.parametrize("link", ["one", "sub"])
def test_a_grant_holds_no_longer_where_a_word_became_a_link(judge, tmp_path, link):
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    command = "touch one" if link == "one" else "touch sub/one"
    assert judge("bash", {"command": command}).grants == (f"bash({command})",)
    grant(tmp_path, f"bash({command})")
    assert decision(judge, command) == "allow"
    (tmp_path / link).symlink_to(outside / "one" if link == "one" else outside)
    verdict = judge("bash", {"command": command})
    assert (verdict.decision, verdict.grants) == ("ask", ())


@pytest.mark.parametrize("change", ["setting", "gitlink", "hook"])
def test_a_grant_for_git_holds_only_while_the_repository_starts_nothing(judge, tmp_path, change):
    def git(*words, cwd=tmp_path):
        subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)

    git("init", "-q", ".")
    grant(tmp_path, "bash(git add one)")
    assert decision(judge, "git add one") == "allow"
    assert decision(judge, "git status", allow=["bash(git status)"]) == "allow"
    if change == "setting":
        git("config", "core.fsmonitor", "touch evil")
    elif change == "hook":
        (tmp_path / ".git/hooks/post-index-change").write_text("touch evil")
    else:
        (tmp_path / "inner").mkdir()
        git("init", "-q", ".", cwd=tmp_path / "inner")
        name = ("-c", "user.name=a", "-c", "user.email=a@b")
        git(*name, "commit", "-q", "--allow-empty", "-m", "x", cwd=tmp_path / "inner")
        git("add", "inner")
        git("config", "core.fsmonitor", "touch evil", cwd=tmp_path / "inner")
    if change != "gitlink":  # a repository that git keeps as a link is none of this one
        assert judge("bash", {"command": "git add one"}).grants == ()
    assert decision(judge, "git status", allow=["bash(git status)"]) == "ask"
