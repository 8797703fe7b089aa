"""What rules that deny or ask find: the words of parsed commands, wherever these stand."""

import pytest

WRAPPERS = [
    "X=1 {}",
    "A=1 B='2 3' {}",
    "taskset 1 {}",
    "sudo -u me {}",
    "env A=1 {}",
    "timeout 5 {}",
    "xargs -I% {} < list",
    "find . -name x -exec {} +",
    "find . -type f -exec sh -c '{}' _ +",
    "bash -c '{}'",
    "bash -c \"bash -c '{}'\"",
    'bash -c "cd $x; {}"',
    "bash -ec '{}'",
    "sudo bash -lc '{}'",
    "eval '{}'",
    "echo <({})",
    "f() {{ {}; }}; f",
    "if true; then {}; fi",
    "for i in 1; do {}; done",
    "while {}; do true; done",
    "case x in x) {};; esac",
    "true && {}",
    "true | {}",
    "echo a\n{}",
    "echo $({})",
    'echo "$({})"',
    "echo `{}`",
    "cat <<E\n$({})\nE",
    "({})",
    "{{ {}; }}",
    "! {}",
    "{} & wait",
    "# don't\n{}",
    "{} > log 2>&1",
    "coproc {}",
    "time {}",
]


@pytest.mark.contract("MA-107")
@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_denied_command_is_found_wherever_it_stands(wrapper, mode, judge):
    for denied, command in (("bash(touch *)", "touch x"), ("bash(git push *)", "git push")):
        text = wrapper.format(command)
        for sandbox in ("", "bwrap"):
            about = {"allow": ["bash"], "sandbox": sandbox}
            verdict = judge("bash", {"command": text}, mode, deny=[denied], **about)
            assert (str(verdict.decision), verdict.rule) == ("deny", denied), text
            asking = judge("bash", {"command": text}, mode, ask=[denied], **about)
            assert (str(asking.decision), asking.rule) == ("ask", denied), text


RUN_BY_OTHERS = [
    "env -S '{}'",
    "env -S 'A=1 {}'",
    "flock lock -c '{}'",
    "su -c '{}'",
    "watch {}",
    "watch '{}'",
    "trap '{}' EXIT",
    "bash <<< '{}'",
    "bash <<E\n{}\nE",
    "sudo sh -s <<'E'\necho\n{}\nE",
    "ssh host '{}'",
    "chrt 1 {}",
    "setarch -R {}",
    "prlimit --nofile=10 {}",
    "nsenter -a {}",
    "setpriv --no-new-privs {}",
    "fish -c 'true; {}'",
    'pwsh -c "{}"',
    "a-tool-of-tomorrow --run '{}'",
    "git -c alias.x='!{}' x",
    "git rebase --exec '{}' main",
    "find . -exec a-tool {} ';'",
    "make CC='{}'",
    "script -qc '{}' /dev/null",
    "python3 -c 'import os; os.system(\"{}\")'",
    "python3 <<E\nimport os\nos.system('{}')\nE",
    "awk 'BEGIN {{ system(\"{}\") }}'",
    "perl -e 'exec `{}`'",
    "export PROMPT_COMMAND='{}'",
    "env -S \"g'i't p\\ush\"",
]


@pytest.mark.parametrize("sandbox", ["", "bwrap"])
@pytest.mark.parametrize("command", RUN_BY_OTHERS)
def test_a_program_that_runs_its_arguments_is_held_to_a_rule_whatever_it_is(
    command, sandbox, judge
):
    for denied, inner in (("bash(git push *)", "git push origin"), ("bash(git *)", "git push")):
        text = command.replace("{{", "{").replace("}}", "}").replace("{}", inner)
        verdict = judge("bash", {"command": text}, "auto", deny=[denied], sandbox=sandbox)
        expected = {"deny"} if denied == "bash(git push *)" else {"ask", "deny"}
        assert str(verdict.decision) in expected, (text, verdict.reason)
        assert verdict.rule == denied


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash(git push *)", "/usr/bin/git push"),
        ("bash(git push *)", "GIT push"),
        ("bash(/usr/bin/terraform apply *)", "terraform apply -auto-approve"),
        ("bash(TERRAFORM apply *)", "terraform apply"),
        ("bash(terraform apply:*)", "terraform apply -auto-approve"),
        ("bash(terraform apply *) @Main", "terraform apply"),
        ("bash(git push *)", "git -C . push"),
        ("bash(git push *)", "git --git-dir=.git push -q"),
        ("bash(git push *)", "g'i't pu\"s\"h"),
        ("bash(git push *)", "git \\\n  push"),
        ("bash(git push *)", "git\tpush"),
        ("bash(git push --force)", "git push origin main --force"),
        ("bash(git push --force)", "git push --force=x"),
        ("bash(rm -rf)", "rm -fr x"),
        ("bash(rm -rf)", "rm -r -f x"),
        ("bash(rm -rf)", "rm -rvf x"),
        ("bash(rm -rf *)", "rm -rf"),
        ("bash(npm * deploy)", "npm run deploy"),
        ("bash(* push)", "svn push"),
    ],
)
def test_a_denied_command_is_found_in_its_spellings(rule, command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=[rule], allow=["bash"])
    assert (str(verdict.decision), verdict.rule) == ("deny", rule)


@pytest.mark.parametrize(
    ("rule", "command", "decision"),
    [
        ("bash(rm -rf)", "rm --recursive --force x", "ask"),
        ("bash(rm -rf *)", "sudo rm --force -r x", "ask"),
        ("bash(chmod -R *)", "chmod --recursive 777 x", "ask"),
        ("bash(git push --force)", "git push -f", "ask"),
        ("bash(git push --force)", "git push --forc", "ask"),
        ("bash(rm -rf)", "rm --force x", "allow"),
        ("bash(rm -rf)", "rm --recursive x", "allow"),
        ("bash(rm -rf)", "ls --recursive --force x", "allow"),
        ("bash(git branch -D)", "git branch -d x", "allow"),
        ("bash(pytest --deploy)", "pytest --durations=3 -x", "allow"),
        ("bash(git add --all)", "git add -- x", "allow"),
    ],
)
def test_an_option_that_may_be_another_spelling_asks(rule, command, decision, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=[rule], allow=["bash"])
    assert verdict.decision == decision, verdict.reason
    assert ("another spelling" in verdict.reason) == (decision == "ask")


@pytest.mark.parametrize("sandbox", ["", "bwrap"])
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("$(cat program) push", "computed"),
        ('"${tools[0]}" push', "computed"),
        ("/usr/bin/g* push", "computed"),
        ("git $what", "computed"),
        ("git {push,}", "computed"),
        ("sudo $program push", "computed"),
        ("$'git' push", "computed"),
        ("git$IFS'push'", "computed"),
        ('bash -c "$code"', "computed"),
        ('eval "$code"', "computed"),
        ("g\\\nit pull", "backslash"),
        ("echo \\ # && git push", "backslash"),
        ("if true", "not understood"),
        ("echo \u200b", "cannot be seen"),
        ("make " + "x" * 140_000, "131,072 characters"),
    ],
)
def test_what_cannot_be_read_asks_where_a_rule_could_forbid_it(command, reason, sandbox, judge):
    for kind in ("deny", "ask"):
        rules = {kind: ["bash(git push *)"]}
        verdict = judge("bash", {"command": command}, "auto", sandbox=sandbox, **rules)
        assert str(verdict.decision) in {"ask", "deny"}
        assert verdict.rule == "bash(git push *)"
        assert reason in verdict.reason or verdict.decision == kind
    assert judge("bash", {"command": command}, "auto", sandbox=sandbox).decision == "allow"


@pytest.mark.parametrize(
    "command",
    [
        'git commit -m "describe git push"',
        'grep "git push" README.md',
        'echo "run git push later"',
        "git commit -m push",
        "git log --oneline --grep=push | grep git",
        "git branch push-button",
        "git status && npm run push",
        "git diff > push.diff",
        "mkdir push && touch push/git",
        "cat git push",
        "for f in *.py; do echo $f; done",
        "cat <<'E'\ngit push\nE",
        "# git push\nmake",
    ],
)
def test_what_only_mentions_a_denied_command_runs(command, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=["bash(git push *)"])
    assert str(verdict.decision) == "allow", verdict.reason


@pytest.mark.parametrize("rule", ["*(secrets/**)", "bash(secrets/*)"])
@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("cat a.txt", "allow"),
        ("./build.sh", "allow"),
        ("secrets/run", "deny"),
        ("./secrets/run now", "deny"),
        ("/work/secrets/deep/run", "deny"),
    ],
)
def test_a_rule_about_all_of_a_directory_names_the_programs_in_it(rule, command, decision, judge):
    verdict = judge("bash", {"command": command}, "auto", deny=[rule], sandbox="bwrap")
    assert str(verdict.decision) == decision, verdict.reason


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("bash(make && make test)", "without '&&'"),
        ("bash(make | tee log)", "the words of one command; write it without '|'"),
        ("bash(make; ls)", "without ';'"),
        ("bash(echo $HOME)", "without '$'"),
        ("bash(make > log)", "without '>'"),
        ('bash(git commit -m "x y")', "without '\"'"),
        ("bash(X=1 make)", "NAME=value"),
        ("bash(make\0)", "NUL"),
        ("edit(a\0b)", "NUL"),
        ("fetch(https://example.org/\0)", "NUL"),
        ("bash(curl *), bash(rm *)", "several rules"),
        ("bash(rm *) bash(ls *)", "several rules"),
        ("write_file(a.txt), write_file(b.txt)", "several rules"),
        ("read_file(a),edit_file(b)", "several rules"),
        ("bash(rm -rf)(x)", "several rules"),
        ("bash(git push # no)", "without ' #'"),
    ],
)
@pytest.mark.parametrize("kind", ["deny", "ask", "allow"])
def test_a_rule_that_can_match_nothing_stops_the_start(rule, problem, kind, judge):
    with pytest.raises(ValueError, match="can match nothing") as refused:
        judge("bash", {"command": "ls"}, **{kind: [rule]})
    assert repr(rule) in str(refused.value)
    assert problem in str(refused.value)
