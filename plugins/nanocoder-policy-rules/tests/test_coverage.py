"""What rules that allow cover: words strictly, nothing that starts programs, paths inside."""

import shutil
import subprocess

import pytest
from nanocoder_policy_rules import Settings

LEAVING = [
    ("bash(dd *)", "dd if=a of=/elsewhere/x"),
    ("bash(dd *)", "dd if=../x of=a"),
    ("bash(cp *)", "cp -t/elsewhere a"),
    ("bash(cp *)", "cp --target-directory=/elsewhere a"),
    ("bash(cp *)", "cp a d/x"),
    ("bash(cp *)", "cp -td a"),
    ("bash(cp *)", "cp a in/../../x"),
    ("bash(cp *)", "cp a src/up/../../x"),
    ("bash(cp *)", "cd src && cp a up/x"),
    ("bash(cat *)", "cd src && cat up/x"),
    ("bash(make *)", "make -C../evil"),
    ("bash(make *)", "make DESTDIR=/ install"),
    ("bash(make *)", "DESTDIR=/ make install"),
    ("bash(make *)", "make PREFIX=d install"),
    ("bash(gcc *)", "gcc -Wl,-Map=/elsewhere/x a.c"),
    ("bash(gcc *)", "gcc @../arguments a.c"),
    ("bash(pytest *)", "pytest -ocache_dir=../x"),
    ("bash(pytest *)", "pytest --basetemp=d/tmp"),
    ("bash(tool *)", "tool --map=a:/elsewhere"),
    ("bash(tool *)", "tool --map=d,a"),
    ("bash(tool *)", "tool file:///etc/passwd"),
    ("bash(cat *)", "cat link"),
    ("bash(cat *)", "cat .env"),
    ("bash(cat *)", "cp a .git/config"),
    ("bash(echo *)", "echo x > ../y"),
    ("bash(echo *)", "echo x | cat > /elsewhere/y"),
    ("bash(echo *)", "{ echo x; } > /elsewhere/y"),
    ("bash(echo *)", "cat <<E > /elsewhere/y\nx\nE"),
    ("bash(pytest *)", "cd d && pytest"),
    ("bash(pytest *)", "cd .. && pytest"),
    ("bash(pytest *)", "cd src/up && pytest"),
    ("bash(pytest *)", "pushd src; pytest"),
]
STARTING = [
    ("bash(git clone *)", "git clone -lu 'touch M1;git-upload-pack' . y"),
    ("bash(git clone *)", "git clone --upload-pack=./x . y"),
    ("bash(git clone *)", "git clone --up ./x . y"),
    ("bash(git clone *)", "git clone -ccore.fsmonitor=x . y"),
    ("bash(git clone *)", "git clone --template=evil . y"),
    ("bash(git grep *)", "git grep -nO'touch M2;true' hello"),
    ("bash(git grep *)", "git grep -Oless hello"),
    ("bash(git grep *)", "git grep --open-files-in-pager=./x hello"),
    ("bash(git log *)", "git -c core.pager=x log"),
    ("bash(git diff *)", "git diff --ext-diff"),
    ("bash(git fetch *)", "git fetch --upload-pack=x"),
    ("bash(git rebase main *)", "git rebase main -x make"),
    ("bash(git push *)", "git push --receive-pack=x origin main"),
    ("bash(gcc *)", "gcc m.c -Wl,-plugin,./p.so -o m"),
    ("bash(gcc *)", "gcc -B. m.c"),
    ("bash(gcc *)", "gcc -fplugin=./p.so m.c"),
    ("bash(gcc *)", "gcc -wrapper x m.c"),
    ("bash(find . *)", "find . -exec touch x +"),
    ("bash(find . *)", "find . -name x -delete"),
    ("bash(find . *)", "find . -fprintf x y"),
    ("bash(make *)", "make --eval=x:y"),
    ("bash(make *)", "make --ev x"),
    ("bash(sort *)", "sort --compress-prog=x a"),
    ("bash(sort *)", "sort -uo x a"),
    ("bash(tar *)", "tar xf a.tar --to-command=x"),
    ("bash(tar *)", "tar -xIx -f a.tar"),
    ("bash(tar *)", "tar xIf x a.tar"),
    ("bash(tar *)", "tar xPf a.tar"),
    ("bash(tar *)", "tar -x --absolute-names -f a.tar"),
    ("bash(tar *)", "tar xf a.tar --checkpoint-action=exec=x"),
    ("bash(rg *)", "rg --pre ./x a"),
    ("bash(rg *)", "rg --pre=./x a"),
    ("bash(install *)", "install -s --strip-program=./x a b"),
    ("bash(printf *)", "printf -v PATH x"),
    ("bash(test *)", "test -v 'a[$(touch x)]'"),
    ("bash(split *)", "split --filter='touch x' a"),
    ("bash(split *)", "split --fil='touch x' a"),
    # assignments
    ("bash(git log *)", 'PAGER="touch x" git --paginate log'),
    ("bash(ls *)", "LD_PRELOAD=./x.so ls -R"),
    ("bash(grep *)", "PATH=. grep -r a f"),
    ("bash(make *)", "for PATH in .; do make; done"),
    ("bash(make *)", "X=$(touch x) make"),
]
DIFFERENT = [
    ("bash(pytest *)", "pytest; rm x"),
    ("bash(pytest *)", "pytests"),
    ("bash(pytest *)", "timeout -s KILL 60 pytest"),
    ("bash(pytest *)", "nohup A=./b pytest"),
    ("bash(pytest *)", "pytest | tee log"),
    ("bash(pytest *)", "pytest $x"),
    ("bash(pytest *)", "pytest $(touch x)"),
    ("bash(pytest *)", "pytest *.py"),
    ("bash(pytest *)", "pytest {a,b}"),
    ("bash(pytest *)", "./pytest"),
    ("bash(pytest *)", "f() { pytest; }; f"),
    ("bash(pytest *)", "bash -c pytest"),
    ("bash(pytest *)", "sudo pytest"),
    ("bash(pytest *)", "py\\\ntest"),
    ("bash(npm run test:*)", "npm run test:unit"),
    ("bash(npx tsc *)", "npx eslint ."),
    ("bash(uv run pytest *)", "uv run python x.py"),
    ("bash(timeout 60 pytest *)", "timeout 60 make"),
    ("bash(git push origin *)", "git push upstream main"),
    ("bash(git push origin *)", "git push origin --force"),
    ("bash(git push origin *)", "git push origin -fu"),
    ("bash(git push origin *)", "git push origin +main"),
    ("bash(git push origin *)", "git push origin :main"),
    ("bash(git push *)", "git push --delete origin old"),
    ("bash(git branch *)", "git branch -D main"),
    ("bash(git tag *)", "git tag --delete v1"),
]
COVERED = [
    ("bash(pytest *)", "pytest -q tests/test_a.py::test_b -k 'a or b' -o cache_dir=.cache"),
    ("bash(pytest)", "pytest"),
    ("bash(pytest *)", "timeout 60 pytest -q"),
    ("bash(pytest *)", "timeout -k 5 --signal=KILL 60 pytest -q"),
    ("bash(pytest *)", "nice -n 10 nohup timeout --signal=INT 60s pytest"),
    ("bash(pytest *)", "CI=1 pytest"),
    ("bash(pytest *)", "CI=1 FORCE_COLOR=0 timeout 60 pytest > /dev/null"),
    ("bash(git commit *)", "git commit -F - <<'EOF'\none\n\n* two $(x)\nEOF"),
    ("bash(git commit *)", "git commit -m one -m 'two\nthree' && ls"),
    ("bash(pytest *)", "pytest > /dev/null 2>&1"),
    ("bash(pytest *)", "pytest > log; tail -5 log"),
    ("bash(pytest *)", "cd src && pytest -q | tail -5"),
    ("bash(pytest *)", "cd {root} && pytest -q 2>&1 | head -50"),
    ("bash(pytest *)", "cd {root}/src && pytest -q"),
    ("bash(timeout 60 pytest *)", "timeout 60 pytest -q"),
    ("bash(npm run test:*)", "npm run test"),
    ("bash(npm run test:*)", "npm run test -- -x"),
    ("bash(npm * build)", "npm run build --fast"),
    ("bash(dd *)", "dd if=a of=in/x"),
    ("bash(cp *)", "cp -rt src a"),
    ("bash(cp * /elsewhere/x)", "cp a /elsewhere/x"),
    ("bash(make *)", "make -C src DESTDIR=build install"),
    ("bash(make -C ../lib *)", "make -C ../lib test"),
    ("bash(gcc *)", "gcc -O2 -Wall -Iinclude -o build/x a.c"),
    ("bash(tar *)", "tar xzf a.tar -C src"),
    ("bash(find . *)", "find . -newer a -name x"),
    ("bash(sort *)", "sort -S 1M a"),
    ("bash(./run.sh *)", "./run.sh now"),
    ("bash(npm install *)", "npm install @scope/package@1.2.3"),
    ("bash(pip install *)", "pip install git+https://example.org/x.git"),
    ("bash(git clone *)", "git clone https://example.org/x.git"),
    ("bash(git clone *)", "git clone git@example.org:x/y.git"),
    ("bash(git add)", "git add --all && ls"),
    ("bash(git checkout *)", "git checkout HEAD~1 -- src"),
    ("bash(git commit *)", 'git commit -m "describe git push, see https://example.org/a"'),
    ("bash(git commit *)", "git commit -am 'one\n\ntwo: three'"),
    ("bash(git commit *)", "git commit -m \"$(cat <<'EOF'\none `x`\n\ntwo\nEOF\n)\""),
    ("bash(git push *)", "git push -u origin main"),
    ("bash(git push --force *)", "git push --force origin main"),
    ("bash(git branch -D *)", "git branch -D old"),
    ("bash(python3 -m pytest *)", "python3 -m pytest -q"),
    ("bash(docker compose up *)", "docker compose up -d"),
    ("bash(sudo apt-get update)", "sudo apt-get update"),
    ("bash", "rm -rf y $(x)"),
    ("ba*", "rm x"),
]


@pytest.fixture(autouse=True)
def _links(tmp_path):
    for folder in ("src", "in"):
        (tmp_path / folder).mkdir()
    (tmp_path / "d").symlink_to(tmp_path.parent)
    (tmp_path / "src/up").symlink_to(tmp_path.parent)
    (tmp_path / "link").symlink_to("/etc/hostname")


@pytest.mark.contract("MA-107")
@pytest.mark.parametrize(("rule", "command"), [*LEAVING, *STARTING, *DIFFERENT])
def test_a_rule_covers_no_more_than_it_says(rule, command, judge):
    verdict = judge("bash", {"command": command}, allow=[rule])
    assert str(verdict.decision) in {"ask", "deny"}


@pytest.mark.parametrize(("rule", "command"), COVERED)
def test_a_rule_covers_what_it_says(rule, command, tmp_path, judge):
    command = command.replace("{root}", str(tmp_path))
    verdict = judge("bash", {"command": command}, allow=[rule])
    assert (str(verdict.decision), verdict.rule) == ("allow", rule), verdict.reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cp a ../x", "does not cover '../x', which is outside the workspace"),
        ("cp -t/elsewhere a", "does not cover '-t/elsewhere', which is outside the workspace"),
        ("cp a b && timeout 5 cp a d/x", "does not cover 'd/x', which is outside the workspace"),
        ("cp a .env", "does not cover '.env'"),
        ("cp *.txt in", "does not cover '*.txt'"),
    ],
)
def test_a_rule_that_does_not_cover_an_argument_says_so(command, reason, judge):
    verdict = judge("bash", {"command": command}, "ask", allow=["bash(cp *)"])
    assert str(verdict.decision) != "allow"
    assert f"the rule 'bash(cp *)' {reason}" in verdict.reason or ".env" in command


@pytest.mark.parametrize(
    ("rule", "advice"),
    [
        ("bash(git *)", "`bash(git WORD *)`"),
        ("bash(git -c *)", "`bash(git WORD *)`"),
        ("bash(python3 *)", "`bash(python3 WORD *)`"),
        ("bash(python3 -c *)", "name that, too"),
        ("bash(npx *)", "`bash(npx WORD *)`"),
        ("bash(npx -y *)", "`bash(npx WORD *)`"),
        ("bash(uv run *)", "`bash(uv run WORD *)`"),
        ("bash(sudo *)", "`bash(sudo WORD *)`"),
        ("bash(timeout 60 *)", "`bash(timeout WORD *)`"),
        ("bash(env A=1 *)", "`bash(env WORD *)`"),
        ("bash(docker run *)", "`bash(docker run WORD *)`"),
        ("bash(find *)", "`bash(find WORD *)`"),
        ("bash(bash -c *)", "`bash(bash WORD *)`"),
        ("bash(eval *)", "decides what later commands do"),
        ("bash(alias *)", "decides what later commands do"),
        ("bash(declare *)", "decides what later commands do"),
        ("bash(nanocoder config trust)", "decides what later commands do"),
        ("bash(*test *)", "name the program"),
    ],
)
def test_a_rule_that_allows_anything_is_refused_with_advice(rule, advice):
    with pytest.raises(ValueError, match="rule") as refused:
        Settings(allow=(rule,))
    assert repr(rule) in str(refused.value)
    assert advice in str(refused.value)
    Settings(deny=(rule,), ask=(rule,))


def test_rules_for_other_tools_are_no_rules_for_commands():
    allowing = ("write_*(docs/**)", "*(src/**)", "web_fetch(https://x.test/?a=b&c)")
    assert [rule.text for rule in Settings(allow=allowing).rules_that("allow")] == [*allowing]


def test_two_rules_may_cover_one_chain(judge):
    command = {"command": "make build && make_report | head"}
    rules = ["bash(make build)", "bash(make_report)"]
    assert judge("bash", command, allow=rules).decision == "allow"
    assert judge("bash", command, allow=rules[:1]).decision == "ask"


GIT = ["bash(git status *)", "bash(git diff *)", "bash(git log *)", "bash(git add -n *)"]


@pytest.fixture
def repository(tmp_path):
    """A repository as `git init` makes it, and a function that writes its settings."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    config = tmp_path / ".git/config"
    before = config.read_text()
    return lambda text, file=config: file.write_text(f"{before}{text}\n")


@pytest.mark.parametrize(
    "setting",
    [
        "[core]\n\tfsmonitor = touch x; false",
        "[core]fsmonitor=touch x",
        "[user]\n\tname = me\n[core] # ours\n\tFSMONITOR=touch x",
        '[diff "x"]\n  textconv = ./x.sh',
        '[filter "x"]\n\tclean = ./x.sh',
        "[core]\n\tPager=./x.sh",
        "[include]\n\tpath = ../x",
        '[includeIf "gitdir:**"]\n\tpath = ../x',
        "[core]\n\thooksPath = x",
        "[core]\n\tworktree = ../..",
        '[remote "x"]\n\turl = ext::sh -c x',
    ],
)
def test_no_rule_covers_git_where_the_repository_names_a_program(setting, repository, judge):
    for command in ("git status", "cd src && git diff"):
        repository('[core]\n\tfsmonitor = false\n[remote "o"]\n\turl = git@x.test:y')
        assert str(judge("bash", {"command": command}, allow=GIT).decision) == "allow"
        repository(setting)
        assert str(judge("bash", {"command": command}, allow=GIT).decision) == "ask"


def _shared(root):
    shutil.copytree(root / ".git", root / "elsewhere")
    (root / ".git/commondir").write_text("../elsewhere\n")
    return "git status"


def _bare(root):
    subprocess.run(["git", "init", "-q", "--bare", root / "bare"], check=True)
    return "cd bare && git log"


def _hook(root):
    (root / ".git/hooks/post-index-change").write_text("#!/bin/sh\n")
    return "git status"


@pytest.mark.parametrize("make", [_shared, _bare, _hook])
def test_nor_where_git_may_find_another_repository_or_a_hook(make, tmp_path, repository, judge):
    assert str(judge("bash", {"command": "git status"}, allow=GIT).decision) == "allow"
    assert str(judge("bash", {"command": make(tmp_path)}, allow=GIT).decision) == "ask"
