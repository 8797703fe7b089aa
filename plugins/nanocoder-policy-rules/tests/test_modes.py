import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

CALLS = {
    "read_file": {"path": "a"},
    "todo_write": {"todos": []},
    "write_file": {"path": "a", "content": ""},
    "edit_file": {"path": "a", "old_string": "", "new_string": ""},
    "delete_file": {"path": "a"},
    "web_fetch": {"url": "https://example.org"},
    "bash": {"command": "make"},
    "stranger": {},
}


@pytest.mark.contract("NT-45")
@pytest.mark.contract("MA-108")
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("plan", "allow deny deny deny deny ask deny deny"),
        ("ask", "allow allow ask ask ask ask ask ask"),
        ("edits", "allow allow allow allow ask ask ask ask"),
        ("auto", "allow allow allow allow allow allow allow allow"),
    ],
)
def test_what_each_mode_says(mode, expected, judge):
    decisions = [str(judge(name, arguments, mode).decision) for name, arguments in CALLS.items()]
    assert decisions == expected.split()


@pytest.mark.parametrize("mode", ["plan", "ask", "edits"])
def test_a_safe_tool_that_reaches_the_network_asks(mode, judge):
    verdict = judge("web_search", {"query": "x"}, mode)
    assert str(verdict.decision) == "ask"
    assert verdict.reason == f"web_search reaches the network, so mode {mode} needs your approval"
    verdict = judge("web_search", {"query": "x"}, mode, allow=["web_search"])
    assert str(verdict.decision) == "allow"


def test_plan_mode_says_why(judge):
    verdict = judge("write_file", CALLS["write_file"], "plan")
    assert verdict.reason == "plan mode is read-only; write_file writes"
    assert judge("bash", {}, "plan").reason == (
        "plan mode is read-only; bash writes and runs programs"
    )
    assert judge("stranger", {}, "plan").reason.endswith("stranger does not declare its effects")


def test_a_question_says_why_in_plain_words(judge):
    assert judge("bash", {"command": ""}).reason == (
        "bash is rated dangerous, so mode ask needs your approval"
    )
    assert judge("write_file", {"path": "a"}).reason == (
        "write_file is rated medium, so mode ask needs your approval"
    )


@pytest.mark.parametrize("command", ["ls", "ls -la | head -5", "cat a.py", "pwd && date +%F"])
def test_commands_that_only_read_run_in_plan_mode(judge, command):
    assert str(judge("bash", {"command": command}, "plan").decision) == "allow"
    assert str(judge("bash", {"command": command}, "plan", deny=["bash(*)"]).decision) == "deny"


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("touch x", "`touch x` is not known to be read-only"),
        ("ls && make test", "`make test` is not known to be read-only"),
        ("ls > x", "`ls` is not known to be read-only"),
        ("cat $x", "`cat $x` is not known to be read-only: it is more than plain words"),
        ("cat ../x", "`cat ../x` is not known to be read-only"),
    ],
)
def test_other_commands_never_run_in_plan_mode_whatever_a_rule_allows(judge, command, part):
    verdict = judge("bash", {"command": command}, "plan", allow=["bash"])
    assert str(verdict.decision) == "deny"
    assert verdict.reason.startswith(f"plan mode is read-only; {part}")


def test_a_command_of_another_tool_never_runs_in_plan_mode(judge):
    assert str(judge("dev_server", {"command": "ls"}, "plan").decision) == "deny"


@pytest.mark.parametrize("path", ["../a", "/etc/a", "link/a"])
def test_mode_edits_is_for_files_of_the_workspace(path, tmp_path, judge):
    (tmp_path / "link").symlink_to("/etc")
    assert str(judge("write_file", {"path": path}, "edits").decision) == "ask"


def test_mode_edits_lets_a_patch_through_when_all_its_files_are_inside(judge):
    patch = "*** Begin Patch\n*** Update File: src/a.py\n*** Add File: {}\n"
    assert str(judge("apply_patch", {"patch": patch.format("b")}, "edits").decision) == "allow"
    assert str(judge("apply_patch", {"patch": patch.format("../b")}, "edits").decision) == "ask"
    assert str(judge("apply_patch", {"patch": patch.format(".envrc")}, "edits").decision) == "ask"
    new = {"patch": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n"}
    gone = {"patch": "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}
    assert str(judge("apply_patch", new, "edits").decision) == "allow"
    assert str(judge("apply_patch", gone, "edits").decision) == "ask"


def test_a_tool_may_want_its_arguments_confirmed(judge):
    assert str(judge("careful", {"big": False}).decision) == "allow"
    assert str(judge("careful", {"big": True}).decision) == "ask"
    assert str(judge("careful", {"big": True}, "auto").decision) == "allow"


@pytest.mark.parametrize("mode", ["plan", "ask", "edits", "auto"])
def test_a_tool_that_calls_any_tool_is_judged_by_its_calls(mode, judge):
    assert str(judge("batch", {}, mode).decision) == "allow"
    assert str(judge("batch", {}, mode, deny=["batch"]).decision) == "deny"
    assert str(judge("batch", {}, mode, ask=["batch"]).decision) == "ask"
    secret = {"tool_calls": [{"tool": "read_file", "parameters": {"path": ".env"}}]}
    assert str(judge("batch", secret, mode).decision) == "allow"


SECRETS = [
    ".env",
    "./s/../.env",
    ".//.env",
    ".ENV",
    ".env.",
    ".env ",
    ".env/",
    "a/.env.production",
    "server.pem",
    "Server.PEM",
    "keys/id_rsa",
    "id_ed25519",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".aws/credentials",
    ".ssh/config",
    ".g\u200cnupg/x",
]


# PATH-063
@pytest.mark.contract("MA-107")
@pytest.mark.parametrize("path", SECRETS)
@pytest.mark.parametrize("name", ["read_file", "grep", "write_file", "delete_file"])
@pytest.mark.parametrize("mode", ["plan", "ask", "auto"])
def test_secret_files_are_denied_to_every_tool(path, name, mode, judge):
    assert str(judge(name, {"path": path}, mode, allow=["*"]).decision) == "deny"


@pytest.mark.parametrize("path", [".env.example", "id_rsa.pub", "env", "my.env", "a.pemx"])
def test_what_only_looks_like_a_secret_is_read(path, judge):
    assert str(judge("read_file", {"path": path}).decision) == "allow"


# PATH-064
def test_a_link_to_a_secret_is_a_secret(tmp_path, judge):
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "readme.txt").symlink_to(".env")
    assert str(judge("read_file", {"path": "readme.txt"}).decision) == "deny"
    assert str(judge("read_file", {"path": str(tmp_path / ".env")}).decision) == "deny"
    assert str(judge("bash", {"command": "cat readme.txt"}).decision) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "X=.env; cat $X",
        "cat .env",
        "cat 'a/.env'",
        "cp .env x",
        "echo $(<.env)",
        "wc < .env",
        "x --file=.env",
    ],
)
@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_a_command_that_names_a_secret_is_denied(command, mode, judge):
    verdict = judge("bash", {"command": command}, mode, allow=["bash"])
    assert (str(verdict.decision), verdict.rule) == ("deny", "secrets: .env")


@pytest.mark.parametrize(
    ("table", "denied"),
    [
        ("secrets = ['vault.*']", [".env", "vault.txt"]),
        ("secrets = ['vault.*']\nreplace_secrets = true", ["vault.txt"]),
        ("replace_secrets = true\nsecrets = []", []),
        ("secrets = []", [".env"]),
    ],
)
def test_secrets_of_ones_own_are_added_and_replace_the_usual_ones_only_on_request(
    tmp_path, table, denied
):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    for name in (".env", "vault.txt"):
        (work / name).write_text("KEY=1\n")
    (home / ".config/nanocoder").mkdir(parents=True)
    file = home / ".config/nanocoder/config.toml"
    file.write_text(f"[plugins.policy-rules]\n{table}\n")
    command = [Path(sys.executable).with_name("nanocoder"), "call", "read_file"]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    for name in (".env", "vault.txt"):
        called = [*command, json.dumps({"path": name})]
        process = subprocess.run(
            called, cwd=work, env=environment, capture_output=True, check=False
        )
        assert process.returncode == (6 if name in denied else 0), process.stderr


PROTECTED = [
    ".git/config",
    ".GIT/hooks/pre-commit",
    "./.git//hooks/./pre-commit",
    "a/../.git/config",
    "sub/.git/config",
    ".nanocoder/config.toml",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".envrc",
    ".bashrc",
    ".pre-commit-config.yaml",
    ".devcontainer/devcontainer.json",
    ".github/workflows/ci.yml",
    ".mcp.json",
    ".claude/settings.json",
    ".gitattributes",
    "sub/HEAD",
]


# PATH-030, 031, 069, 071, 072, 073, 075, 078, 079
@pytest.mark.parametrize("path", PROTECTED)
def test_protected_files_change_only_with_a_person(path, judge):
    for mode in ("ask", "edits"):
        verdict = judge("write_file", {"path": path}, mode, allow=["*"])
        assert str(verdict.decision) == "ask"
        assert "is protected: " in verdict.reason
    assert str(judge("write_file", {"path": path}, "auto", allow=["*"]).decision) == "deny"
    assert str(judge("read_file", {"path": path}).decision) == "allow"


def test_a_link_to_something_protected_is_protected(tmp_path, judge):
    (tmp_path / ".git").mkdir()
    (tmp_path / "x").symlink_to(".git")
    assert str(judge("write_file", {"path": "x/config"}, "edits").decision) == "ask"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > .nanocoder/config.toml", "deny"),
        ("f=.git/config; echo x > $f", "deny"),
        ("sed -i s/a/b/ .git/config", "deny"),
        ("cp x '.git/hooks/pre-commit'", "deny"),
        ("cp -t.git/hooks pre-commit", "deny"),
        ("cp x .git/modules/a/config", "deny"),
        ("echo ../x > .git/commondir", "deny"),
        ("echo x > .git/config.worktree", "deny"),
        ("rm -f .git/index.lock", "allow"),
        ("find . -path './.git/*' -prune -o -print", "allow"),
        ("git init -q . && git config user.name me", "allow"),
        ("git config user.name me", "allow"),
        ("git config --get core.editor", "allow"),
        ("git commit -m 'set core.editor in the config'", "allow"),
        ("cat .vscode/settings.json", "allow"),
        ("git diff HEAD", "allow"),
        ("grep -r x . --exclude-dir=.git", "allow"),
        ("make", "allow"),
    ],
)
def test_commands_in_mode_auto_leave_protected_files_alone(command, expected, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == expected


@pytest.mark.parametrize("mode", ["ask", "edits"])
@pytest.mark.parametrize("rule", ["bash", "bash(cp *)", "bash(tee *)"])
@pytest.mark.parametrize(
    "command",
    [
        "cp evil .git/hooks/pre-commit",
        "cp evil .vscode/tasks.json",
        "cp evil .bashrc",
        "tee .envrc",
        "cp evil ~/.config/nanocoder/config.toml",
        "cp evil Jenkinsfile",
        "cp evil way/config",
        "cp evil way2",
        "cd .vscode && tee tasks.json",
    ],
)
def test_no_rule_lets_a_command_change_protected_files(command, rule, mode, tmp_path, judge):
    (tmp_path / ".git").mkdir()
    (tmp_path / "way").symlink_to(".git")
    (tmp_path / "way2").symlink_to(".git/config")
    verdict = judge("bash", {"command": command}, mode, allow=[rule])
    assert (str(verdict.decision), verdict.rule) == ("ask", "protected names")
    assert str(judge("bash", {"command": command}, "auto", allow=[rule]).decision) == "deny"


WILD = [
    ("cat .e*", "deny"),
    ("cat .en?", "deny"),
    ("base64 id_r[st]a", "deny"),
    ("cat k*/server.p?m", "deny"),
    ("cat sec*/x", "deny"),
    ("head secrets/../sec*/*", "deny"),
    ("echo x > .g*/config", "deny"),
    ("echo x > .gi?/hooks/pre-commit", "deny"),
    ("echo x > .vs*/tasks.json", "deny"),
    ("cp evil ./.gith*/workflows/a.yml", "deny"),
    ("rm -f *.pyc", "allow"),
    ("cat [i]d_rsa", "deny"),
    ("ls src/*", "allow"),
    ("find . -name 'id_*'", "allow"),
    ("rg -g 'server.*' x src", "allow"),
    ("rm -rf build/* dist/*", "allow"),
    ("git add test_*.py", "allow"),
    ("cp src/*.py out", "allow"),
]


@pytest.mark.parametrize(("command", "expected"), WILD)
def test_names_that_a_shell_makes_of_wildcards_are_looked_at(command, expected, tmp_path, judge):
    for name in (".git/hooks", ".vscode", ".github/workflows", "keys", "secrets", "src"):
        (tmp_path / name).mkdir(parents=True)
    decisive = (".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json")
    for name in (
        *(".env", "id_rsa", "keys/server.pem", "secrets/x", "test_a.py", "src/a.py"),
        *(*decisive, ".github/workflows/a.yml"),
    ):
        (tmp_path / name).touch()
    verdict = judge("bash", {"command": command}, "auto", deny=["read_file(secrets/**)"])
    assert str(verdict.decision) == expected, verdict.reason


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("find secrets -type f -exec cat {} +", "deny"),
        ("cat $(echo secrets)/x", "deny"),
        ("tar c secrets > out.tar", "deny"),
        ("git commit -m 'describe secrets/x'", "allow"),
        ("echo 'see secrets/x'", "allow"),
        ("pytest -k 'x and y' > out.txt", "allow"),
    ],
)
def test_a_folder_that_nobody_may_read_is_found_by_its_name(command, expected, tmp_path, judge):
    for name in ("secrets", "src"):
        (tmp_path / name).mkdir()
    (tmp_path / "secrets/x").touch()
    verdict = judge("bash", {"command": command}, "auto", deny=["read_file(secrets/**)"])
    assert str(verdict.decision) == expected, verdict.reason


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git log > new.txt", "allow"),
        ("git log < there.py", "allow"),
        ("git log > there.py", "ask"),
        ("git log >> there.py", "ask"),
        ("git log &> there.py", "ask"),
    ],
)
def test_an_allow_rule_covers_no_redirection_onto_a_file(command, expected, tmp_path, judge):
    (tmp_path / "there.py").write_text("precious\n")
    arguments = {"command": command, "access": "write"}
    verdict = judge("bash", arguments, "ask", allow=["bash(git log *)"])
    assert str(verdict.decision) == expected, verdict.reason


def test_a_path_that_no_file_can_have_is_no_reason_to_break(judge):
    for path in ("a\0b", "x" * 100_000, "\ud800", "", "/"):
        assert judge("read_file", {"path": path}) is not None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "src/a.py"}),
        ("write_file", {"path": "src/a.py", "content": "x" * 10_000}),
        ("bash", {"command": "grep -n 'def main' src/a.py | head -20"}),
    ],
)
def test_judging_is_quick(name, arguments, judge):
    rules = {"deny": ["bash(git push *)", "write_file(secrets/**)"], "allow": ["bash(pytest *)"]}
    judge(name, arguments, **rules)
    began = time.process_time()  # other programs do not count
    for _ in range(200):
        judge(name, arguments, **rules)
    assert (time.process_time() - began) / 200 < 0.01, "seconds; far above what it takes"


@pytest.mark.contract("N3")
@pytest.mark.parametrize("mode", ["plan", "ask", "edits", "auto"])
def test_a_command_that_a_person_typed_is_judged_alike_in_every_mode(judge, mode):
    verdict = judge("bash", {"command": "make build"}, mode, typed=True)
    assert verdict.decision == "ask"
    verdict = judge("bash", {"command": "make build"}, mode, typed=True, deny=["bash(make *)"])
    assert verdict.decision == "deny"
    assert judge("bash", {"command": "rm -rf /"}, mode, typed=True).decision == "deny"
