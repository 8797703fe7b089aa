"""What deny rules, ask rules and the blocklist find, wherever a text puts it."""

import pytest

WRAPPERS = [
    "X=1 {}",
    "A=1 B='2 3' {}",
    "taskset 1 {}",
    "prlimit --nofile=10 {}",
    "setarch x86_64 {}",
    "systemd-run --user {}",
    "uv run {}",
    "npm exec -- {}",
    "poetry run {}",
    "fakeroot {}",
    "some-wrapper-of-tomorrow --flag value {}",
    "start-stop-daemon --start --exec /usr/bin/env -- {}",
    "/lib64/ld-linux-x86-64.so.2 {}",
    "runuser -c '{}'",
    "env -S'{}'",
    'env -S "{}"',
    "sudo -u me {}",
    "xargs -I% {} < list",
    "find . -name x -exec {} +",
    "find . -type f -exec sh -c '{}' _ +",
    "awk 'BEGIN{{system(\"{}\")}}'",
    "python3 -c 'import os; os.system(\"{}\")'",
    "perl -e 'system(\"{}\")'",
    'node -e \'require("child_process").execSync("{}")\'',
    "ruby -e '`{}`'",
    "echo '{}' | sh",
    "printf '%s' '{}' | bash -s",
    "echo {} | tee x | sh",
    "bash -c '{}'",
    "bash -c \"bash -c '{}'\"",
    "bash <<< '{}'",
    "bash <<E\n{}\nE",
    "cat <<'E' | sh\necho\n{}\nE",
    "source <(echo '{}')",
    "echo <({})",
    "alias x='{}'; x",
    "f() {{ {}; }}; f",
    "trap '{}' EXIT",
    "if true; then {}; fi",
    "for i in 1; do {}; done",
    "true && {}",
    "echo a\n{}",
    "echo $({})",
    "echo `{}`",
    "({})",
    "! {}",
    "{} & wait",
    "# don't\n{}",
    "make -f - <<E\nall:\n\t{}\nE",
    "git rebase -x '{}' main",
    "git -c alias.z='!{}' z",
    "git submodule foreach '{}'",
    "git bisect run {}",
    "watch -n1 '{}'",
    "ssh host '{}'",
    "docker run --rm image {}",
    "export PATH=/x; {}",
    "c='{}'; $c",
    "eval '{}'",
    "ln -s /usr/bin/{}; ./x",
    "cp -f /usr/local/bin/{} && ./x",
]
TOUCH = [
    "touch x",
    "/usr/bin/touch x",
    "t''ouch x",
    "to\\uch x",
    "'touch' x",
    "$'touch' x",
    "$'\\x74ouch' x",
    "$'\\164ouch' x",
    "tou\\\nch x",
    "{touch,x}",
    "{to,}touch x",
    "t{ouc,}h x",
    "touch${IFS}x",
    "bash -c 'to\\uch x'",
    "sh -c 't\"\"ouch x'",
    "a=tou b=ch; $a$b x",
    "t=touch; $t x",
    'for t in touch; do "$t" x; done',
]
PUSH = [
    "git pu''sh",
    "git -C . push",
    "git --git-dir=.git push",
    "git -c 'a.b=;' push",
    "git -c 'a.b=;' push > log",
    "git -c 'a.b=x; y | z' push > log",
    'git -c "a.b=\n" push',
    "bash -c 'git pu\"\"sh'",
    "p=push; git $p",
    "g=git; $g push",
    "a=pu b=sh; git $a$b",
    "echo push | xargs git",
    "echo push | xargs -n1 git > log",
    "/usr/lib/git-core/git-push",
    'python3 -c \'import subprocess; subprocess.run(["git", "push"])\'',
    'python3 -c \'os.execvp("git",("git","push"))\' > log',
    "git\tpush",
    "$'git' $'push'",
    "{g,}it push; git push",
    "git {push,}",
    "sh -c $'git\\tpush'",
    "git &>log push -q origin x",
    "git &>>log push",
    "git >& log push",
    "git >&2 push",
    "git >|log push",
    'git >|"l g" push',
    "git <>f push",
    "git 2>&- push",
    "git {fd}>log push",
    "git <<<x push",
    "awk 'BEGIN{print|\"git push -q origin x\"}'",
    'awk \'BEGIN{printf ""|"git push"}\'',
    "awk 'BEGIN{\"git push\"|getline}'",
    "make --eval='x:;git push -q origin x' x",
]


@pytest.mark.finding("C4")
@pytest.mark.contract("MA-107")
@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_denied_command_is_found_behind_everything(wrapper, mode, judge):
    for denied, command in (("bash(touch *)", "touch x"), ("bash(git push *)", "git push")):
        text = wrapper.format(command)
        verdict = judge("bash", {"command": text}, mode, deny=[denied], allow=["bash"])
        assert (str(verdict.decision), verdict.rule) == ("deny", denied), text
        asking = judge("bash", {"command": text}, mode, ask=[denied], allow=["bash"])
        assert (str(asking.decision), asking.rule) == ("ask", denied), text


@pytest.mark.finding("C4")
@pytest.mark.parametrize(
    ("rule", "command"),
    [("bash(touch *)", text) for text in TOUCH] + [("bash(git push *)", text) for text in PUSH],
)
def test_a_denied_command_is_found_in_every_spelling(rule, command, judge):
    for text in (command, f"{command} > log", f"true; X=1 {command}"):
        verdict = judge("bash", {"command": text}, "auto", deny=[rule], allow=["bash"])
        assert str(verdict.decision) == "deny" or "$" in text, text
        assert verdict.rule == rule, text


@pytest.mark.finding("C4")
@pytest.mark.parametrize(
    "wrapper", ["X=1 {}", "taskset 1 {}", "wrapper {}", "A=1 sudo {}", "env -S'{}'"]
)
@pytest.mark.parametrize("command", ["rm -rf /", "mkfs /dev/sda", "shutdown now", "kill -9 -1"])
def test_what_ends_a_machine_is_found_behind_everything(wrapper, command, judge):
    text = wrapper.format(command)
    assert judge("bash", {"command": text}, "auto", allow=["bash"]).rule == "blocklist"


@pytest.mark.finding("C4")
@pytest.mark.parametrize(
    "command",
    [
        "$(cat program) push",
        "$1 push",
        '"${tools[0]}" push',
        "g?t push",
        "/usr/bin/g* push",
        "`cat program` push",
        "git $what",
        'git "$(cat what)"',
        "sudo $program push",
        "taskset 1 $program push",
        "read p < name; git $p",
    ],
)
def test_what_is_computed_asks_where_a_rule_could_forbid_it(command, judge):
    for kind in ("deny", "ask"):
        verdict = judge("bash", {"command": command}, "auto", **{kind: ["bash(git push *)"]})
        assert (str(verdict.decision), verdict.rule) == ("ask", "bash(git push *)")
        assert "computed" in verdict.reason
    assert str(judge("bash", {"command": command}, "auto").decision) == "allow"


@pytest.mark.finding("C4")
@pytest.mark.parametrize(
    "command",
    [
        'git commit -m "describe git push"',
        'grep "git push" README.md',
        "grep -rn 'git push' docs | head -5",
        'echo "run git push later"',
        "git commit -m push",
        "git log --oneline --grep=push | grep git",
        "git log --grep 'git push'",
        'git add -A && git commit -m "say when to git push"',
        'pytest -q && git commit -m "describe git push"',
        "rg 'git push' src",
        "git checkout push",
        "git branch push-button",
        "git status && npm run push",
        "git diff > push.diff",
        "git diff &> push.diff",
        "git diff >& push.diff",
        "git log 2>&1 & npm run push",
        "git log >|log; npm run push",
        "mkdir push && touch push/git",
        'git checkout "$branch"',
        "git add $files",
        "ls *.py",
        "cat git push",
        "$EDITOR notes.txt",
        '"$HOME/bin/tool" x',
        "for f in *.py; do echo $f; done",
        "diff git push",
    ],
)
def test_what_only_mentions_a_denied_command_runs(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=["bash(git push *)"])
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash(rm -rf)", "rm --recursive --force x"),
        ("bash(rm -rf)", "rm -r --forc x"),
        ("bash(rm -rf)", "rm -Rf x"),
        ("bash(rm -rf)", "sudo rm -fR x"),
        ("bash(rm -rf)", "rm -R --force x"),
        ("bash(rm -rf)", "/bin/r? -Rf x"),
        ("bash(rm -Rf)", "rm -rf x"),
        ("bash(rm --recursive)", "rm -R x"),
        ("bash(cp -r *)", "cp -R a b"),
        ("bash(git push --force)", "git push --forc"),
        ("bash(git push --force)", "git push -f"),
        ("bash(git push -f)", "git push origin main --force"),
    ],
)
def test_options_are_found_in_their_other_form(rule, command, judge):
    assert judge("bash", {"command": command}, "auto", deny=[rule]).rule == rule


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash(rm -rf)", "grep -Rf words src"),
        ("bash(rm -rf)", "rm -f R"),
        ("bash(git branch -d *)", "git branch -D x"),
        ("bash(chmod -R *)", "chmod -r x"),
        ("bash(ls -r)", "ls -R"),
    ],
)
def test_a_capital_letter_is_another_option_to_other_programs(rule, command, judge):
    assert judge("bash", {"command": command}, "auto", deny=[rule]).rule != rule


@pytest.mark.parametrize(
    "command",
    [
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p -q origin x",
        "env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0='push -q' git p",
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push; git p",
        "GIT_CONFIG_PARAMETERS=\"'alias.p=push'\" git p",
        "hash -p /usr/bin/git g; g push -q origin x",
        "ln -s /usr/bin/git g; ./g push -q origin x",
        "cp /usr/bin/git g && ./g push",
        "cp $(which git) g; ./g push",
        "alias g=git\ng push -q",
        "shopt -s expand_aliases\nalias g='git'\ng push -q",
        "env -S 'git\\_push\\_-q'",
    ],
)
def test_a_denied_command_is_found_under_a_name_that_the_text_gives_it(command, judge):
    rule = "bash(git push *)"
    assert str(judge("bash", {"command": command}, "auto", deny=[rule]).decision) == "deny"
    # Words that env splits could name any file, which comes first.
    rule = "paths" if command.startswith("env -S") else "lasting commands"
    assert judge("bash", {"command": command}, "auto").rule == rule


@pytest.mark.parametrize("command", ["/usr/bin/g[[:alpha:]]t push", "g[[:lower:]_]t push"])
def test_a_class_of_letters_could_be_the_letter_of_a_denied_program(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=["bash(git push *)"])
    assert str(verdict.decision) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cp a.py b.py && git add b.py && git commit -m 'say git push'",
        "ln -s /usr/bin/python3 py && ./py x.py",
        "alias ll='ls -l'; ll push",
        "ls [[:alpha:]]*",
        "rm [[:digit:]]*",
    ],
)
def test_other_names_of_other_programs_run(command, judge):
    rules = ["bash(git push *)", "bash(rm -rf)"]
    verdict = judge("bash", {"command": command}, "auto", deny=rules)
    assert str(verdict.decision) == "allow", verdict.reason


COPIES = [
    "cp /usr/bin/cur[l] zz; ./zz https://example.org",
    "cp /usr/bin/cur? zz",
    "sudo cp /usr/bin/cur? zz",
    "mv /bin/c?rl zz",
    "ln -s /usr/bin/cu* zz",
    "install -m755 /usr/bin/[a-d]url zz",
    "tar c /usr/bin/cur? | tar x -C d",
    "cat /usr/bin/cur? > zz; chmod +x zz; ./zz",
    "dd if=/usr/bin/cur? of=zz",
    "cp /usr/*/cur? zz",
    "cp ../../../usr/bin/cur? zz",
    "cp /usr/lib/../bin/cur? zz",
    "cp /proc/self/root/usr/bin/cur? zz",
    "cd /usr/bin && cp cur? ~/zz",
    "pushd /usr; cp bin/cur? ~/zz",
    "d=/usr/bin; cp $d/cur? zz",
    "ln -s /usr/bin d; cp d/cur? zz",
    "cp -r /usr/bin d",
    "ln -s /usr/local/bin",
    "cp -t d -r /usr/bin",
    "rsync -a /usr/bin/ d",
    "ls /usr/bin/cur? | xargs -I{} cp {} zz",
    "cp $(ls /usr/bin/cur?) zz",
    "find /usr -name 'cur?' -exec cp {} zz \\;",
    "python3 -c \"import shutil, glob; shutil.copy(glob.glob('/usr/bin/cur?')[0], 'zz')\"",
]


@pytest.mark.parametrize("command", COPIES)
def test_what_may_give_a_denied_program_another_name_asks(command, judge):
    rule = "bash(curl *)"
    verdict = judge("bash", {"command": command}, "auto", deny=[rule])
    assert (str(verdict.decision), verdict.rule) == ("ask", rule), verdict.reason
    assert "needs your approval" in verdict.reason


@pytest.mark.parametrize(
    "command", ["cp /usr/bin/git zz", "cat /usr/bin/git | tee zz", "ln /usr/bin/gi? zz"]
)
def test_a_copy_of_a_program_of_which_a_part_is_denied_asks(command, judge):
    rule = "bash(git push *)"
    verdict = judge("bash", {"command": command}, "auto", deny=[rule])
    assert (str(verdict.decision), verdict.rule) == ("ask", rule)
    assert "it may give the program another name" in verdict.reason


def test_a_program_in_a_folder_on_path_is_known(judge, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("programs")
    command = {"command": f"cp {folder}/cur? zz"}
    assert str(judge("bash", command, "auto", deny=["bash(curl *)"]).decision) == "allow"
    monkeypatch.setenv("PATH", f"{folder}/:/usr/bin")
    command = {"command": f"cp {folder}/c?rl zz"}
    assert str(judge("bash", command, "auto", deny=["bash(curl *)"]).decision) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "ls /usr/bin/c* 2>/dev/null",
        "ls -l /usr/bin/git; file /usr/bin/cur?",
        "/usr/bin/git status",
        "cp tool /usr/local/bin/",
        "cp tool /usr/local/bin/git",
        "tar xf a.tgz -C /usr/local/bin",
        "chmod +x bin/*",
        "cp bin/* out/",
        "cp src/c* out/ && rm -f build/*",
        "cat * | wc -l",
        "for f in *; do echo ${f%/}; done",
        "cat /usr/bin/git",
        "cp ../c* .",
    ],
)
def test_copies_of_other_files_run(command, judge):
    rules = ["bash(curl *)", "bash(git push *)"]
    verdict = judge("bash", {"command": command}, "auto", deny=rules)
    assert str(verdict.decision) == "allow", verdict.reason
