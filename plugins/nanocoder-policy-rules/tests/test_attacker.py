"""Ways around the rules that an attacker found: code and names that appear only when it runs."""

import subprocess
from pathlib import Path

import pytest

SECRET = "KEY=1\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path) -> Path:
    """A repository with a secret that git ignores, a hidden folder, and a folder of strangers."""
    files = {
        "README.md": "read me\n",
        "x.sh": "true\n",
        ".env": SECRET,
        "private/k.txt": SECRET,
        ".gitignore": ".env\nprivate\n",
        "evil/.vscode/tasks.json": "{}",
        "evil/.envrc": "true\n",
        "evil/sub/plain.txt": "x\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "README.md", "x.sh", ".gitignore")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize(
    "command",
    [
        "timeout 5 $(echo touch) x",
        "nice -n 5 `echo touch` x",
        "env -u X $(cat name) x",
        "echo x | xargs -n1 $(echo tou)ch",
        "echo to | xargs -I% env %uch x",
        "echo to | xargs --replace=_ env _uch x",
        'bash -c "$(printf tou%s ch) x"',
        'sh -ec "$code"',
        "echo dG91Y2g= | base64 -d | bash",
        "bash <(echo dG91Y2g= | base64 -d)",
        ". <(git log -1 --pretty=tou%x63h)",
        'bash <<< "$(rev name)"',
        "git log -1 --pretty='tou%x63h x' | sh",
        "{ cat x.sh; rev name; } | sh",
    ],
)
def test_a_program_that_appears_only_when_it_runs_asks(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=["bash(touch *)"])
    assert str(verdict.decision) in {"ask", "deny"}, verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "cat x.sh | bash",
        "echo make | sh",
        "timeout 5 make $(git rev-parse HEAD)",
        "xargs -n1 wc < names",
        "ls | xargs -I{} wc {}",
        "bash x.sh <(git log)",
        'bash -c "ls; echo $HOME"',
        "while IFS=, read -r a b; do echo $a; done < table.csv",
    ],
)
def test_what_shows_its_programs_runs(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=["bash(touch *)"])
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "IFS=_; x=cat_.env; $x",
        "IFS=','; x=cat,.env; $x",
        "ls -A | xargs cat",
        "cat $(ls -a | head -3)",
        "git ls-files -o | xargs cat",
        "cat $(git ls-files --others)",
        "git add -f . && git diff --cached",
        "git add -fA",
        "git add --force -- :/",
        "git add . && git diff --cached",
        "git stash --all",
        "git stash push -a",
    ],
)
def test_a_secret_that_no_word_names_is_not_read_unasked(command, judge):
    verdict = judge("bash", {"command": command}, "auto")
    assert str(verdict.decision) in {"ask", "deny"}, verdict.reason


@pytest.mark.parametrize(
    "command",
    ["git add . && git commit -m x", "ls | xargs wc", "git stash", "git ls-files | xargs wc -l"],
)
def test_what_leaves_the_secret_alone_runs(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


CONTENT = [
    *("git diff", "git show", "git log -p", "git stash show -p", "git format-patch -1 --stdout"),
    *("git archive HEAD | tar xO", "git grep KEY", "git commit -v -m x", "git -C . diff"),
    *("git difftool -y -x cat", "cd evil && git diff"),
]


@pytest.mark.parametrize("command", CONTENT)
def test_git_asks_before_it_may_show_a_committed_file_that_is_kept_back(command, project, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"
    git(project, "add", "-f", ".env")
    verdict = judge("bash", {"command": command}, "auto")
    assert str(verdict.decision) == "ask"
    assert ".env" in verdict.reason


@pytest.mark.parametrize(
    "command",
    ["git diff --stat", "git log", "git status", "git diff x.sh", "git diff -- evil"],
)
def test_git_that_shows_nothing_of_it_runs(command, project, judge):
    git(project, "add", "-f", ".env")
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cp -r evil/. .",
        "cp -rT evil .",
        "cp -a evil/.??* .",
        "mv evil/.* .",
        "rsync -a evil/ .",
        "shopt -s dotglob; mv evil/* .",
        "for f in evil/.*; do cp -r $f .; done",
        "find evil -type f -exec cp -t . {} +",
        "find evil -type f | xargs -I{} cp {} .",
        "cd evil && cp -r . ..",
        "cp -r evil copy",
        "sed -n 'w.envrc' README.md",
        "sed 's/a/b/w./.envrc' README.md",
        "cp x.sh $(git rev-parse --git-dir)/hooks/pre-commit",
        "cp x.sh `git rev-parse --git-path hooks`/pre-commit",
        "d=$(git rev-parse --git-dir); cp x.sh $d/hooks/pre-commit",
        "cd $(git rev-parse --git-dir); cp ../x.sh hooks/pre-commit",
        "ln -s .git g; echo x >> g/config",
        "git config --rename-section a alias",
        "git config protocol.ext.allow always",
        "git config url.x.insteadOf y",
        "git config core.worktree ..",
        "git remote add x 'ext::sh -c touch% x'",
        "git remote set-url origin ext::x",
        "git submodule add ext::x",
        "git config core.hooksPath get",
        "git config core.hooksPath list",
        "git config --add core.hooksPath get",
        "git config -- core.hooksPath -l",
        "git config pager.log x",
        "git config submodule.x.update '!x'",
        "git config instaweb.httpd x",
        "git config web.browser x",
        "git config imap.tunnel x",
        "git config sendemail.smtpserver ./x.sh",
        "git config sendemail.x.toCmd x",
        "git config difftool.x.path ./x.sh",
        "git config gpg.ssh.defaultKeyCommand x",
        'git config "$(cat x)" evil',
        "git config core.hook[sS]Path evil",
        "xargs git config < names",
        "git -c init.templateDir=evil init",
        "git -c INIT.TEMPLATEDIR=evil init sub",
        "git -cinit.templateDir=evil init",
        "git --config-env=init.templateDir=X init",
        "GIT_TEMPLATE_DIR=evil git init",
        "export GIT_TEMPLATE_DIR=evil; git init",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=init.templateDir GIT_CONFIG_VALUE_0=evil git init",
        "git init --separate-git-dir evil",
        "git clone --separate-git-dir=evil . b",
        "git clone -c core.hooksPath=x . b",
        "git clone --config=core.hooksPath=x . b",
        "git clone -ccore.fsmonitor=x . b",
        "git clone . b -c filter.x.clean=y",
    ],
)
def test_what_decides_what_runs_is_not_changed_on_a_detour(command, judge):
    assert judge("bash", {"command": command}, "auto").rule == "protected names"


@pytest.mark.parametrize(
    "command",
    [
        "cp -r evil/sub copy",
        "mv evil/sub .",
        "cp x.sh y.sh",
        "sed -n 's/a/b/w out.txt' README.md",
        "git remote add origin https://example.org/a.git",
        "git config user.name me",
        'git config user.name "$(whoami)"',
        "git config get core.hooksPath",
        "git config --get core.hooksPath",
        "git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'",
        "git clone -c core.autocrlf=true . b",
        "git clone https://example.org/a/b.git",
        "git init sub",
        "ln -s README.md link",
    ],
)
def test_plain_copies_run(command, judge):
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash(split *)", "split --filter='touch x' README.md"),
        ("bash(split *)", "split --fil='touch x' README.md"),
        ("bash(gcc *)", "gcc -wrapper ./x.sh a.c"),
        ("bash(gcc *)", "gcc -fplugin=./x.so a.c"),
        ("bash(go test *)", "go test -exec ./x.sh ."),
        ("bash(go test *)", "go test -toolexec=./x.sh ."),
        ("bash(cargo build *)", "cargo build --config build.rustc=x"),
        ("bash(mypy *)", "mypy --python-executable=./x.sh a.py"),
        ("bash(openssl dgst *)", "openssl dgst -engine ./x.so README.md"),
        ("bash(xargs cat *)", "echo ../outside | xargs cat"),
        ("bash(xargs cat *)", "echo .env | xargs cat"),
        ("bash(npm run *)", "npm run x --script-shell=./x.sh"),
        ("bash(npm run *)", "npm run x --node-options=-r./x.js"),
        ("bash(pytest *)", "pytest --basetemp=evil"),
    ],
)
def test_an_allowed_program_starts_no_other(rule, command, judge):
    allowed = [rule, "bash(echo *)"]
    assert str(judge("bash", {"command": command}, allow=allowed).decision) != "allow"


def test_a_program_with_a_shell_of_its_own_is_not_allowed_as_a_whole(judge):
    with pytest.raises(ValueError, match="sqlite3 runs what its arguments name"):
        judge("bash", {"command": "sqlite3 x.db"}, allow=["bash(sqlite3 *)"])


def test_very_many_copied_files_ask(project, judge, monkeypatch):
    monkeypatch.setattr("nanocoder_policy_rules.brought_names._MOST_NAMES", 3)
    verdict = judge("bash", {"command": "cp -r evil/sub copy"}, "auto")
    assert str(verdict.decision) == "allow"
    for number in range(5):
        (project / f"evil/sub/{number}").write_text("")
    verdict = judge("bash", {"command": "cp -r evil/sub copy"}, "auto")
    assert (str(verdict.decision), "too many" in verdict.reason) == ("ask", True)


@pytest.mark.parametrize(
    "command",
    [
        "rev names | bash",
        "rev names | bash 2>/dev/null",
        "rev names | bash 2>&1",
        "rev names | bash >log 2>&1",
        "rev names | bash &>log",
        "rev names | bash 2> '/dev/null'",
        "rev names | >log bash",
        "jq -r .cmd a.json | sh 2>/dev/null | cat",
        "rev names | bash \necho done",
        "rev names | bash -euo pipefail",
        "rev names | bash -o pipefail",
        "rev names | bash -O extglob",
        "rev names | bash +e",
        "rev names | bash +O extglob",
        "rev names | xargs -0 sh -c",
        "rev names | xargs bash -ec",
        "rev names | if true; then sh; fi",
        "rev names | while :; do bash; break; done",
        "rev names | for x in 1; do sh; done",
        "rev names | { if true; then sh; fi; }",
    ],
)
def test_a_shell_that_gets_unseen_code_asks_however_it_is_written(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=["bash(touch *)"])
    assert str(verdict.decision) == "ask", verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "rev names | bash x.sh 2>/dev/null",
        "rev names | bash -euo pipefail x.sh",
        "rev names | while read f; do cp -r x.sh .; done",
        "rev names | if true; then cat; fi; bash x.sh",
        "echo true | bash 2>&1",
        "rev names 2>/dev/null | cat >log",
    ],
)
def test_a_shell_with_a_file_of_its_own_is_not_asked_about(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=["bash(touch *)"])
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.parametrize(
    "script", ["r.env", "$r.env", "1r.env", "/x/r.env", "R./.env", "1{r.env\n}", "p;r.env"]
)
def test_sed_reads_no_secret_that_stands_right_behind_its_command(script, judge):
    verdict = judge("bash", {"command": f"sed '{script}' README.md"}, "auto")
    assert str(verdict.decision) == "deny", verdict.reason


def test_a_name_in_a_script_of_sed_that_only_ends_like_a_secret_is_none(judge):
    verdict = judge("bash", {"command": "sed -i 's/server.env/x/' README.md"}, "auto")
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "git config --edit",
        "git config -e",
        "git config --local --edi",
        "git config edit",
        "GIT_EDITOR='cp evil/config' git config --edit",
    ],
)
def test_an_editor_on_the_settings_of_git_needs_a_person(command, judge):
    verdict = judge("bash", {"command": command}, "ask")
    assert str(verdict.decision) == "ask"
    assert "is protected" in verdict.reason
    assert str(judge("bash", {"command": command}, "auto").decision) == "deny"
