"""What is said of the parts of a command that no certain meaning can be given to."""

import pytest
from nanocoder import Decision
from nanocoder_policy_shell.kinds import MEANINGS
from nanocoder_policy_shell.parts import outermost, parts_of
from nanocoder_policy_shell.settings import Settings
from nanocoder_policy_shell.syntax import parse

PARTS = [
    ("echo $(date)", "command-substitution", "$(date)"),
    ("echo `date`", "command-substitution", "`date`"),
    ("diff <(a) b", "process-substitution", "<(a)"),
    ("echo a > $out", "redirection-to-variable", "> $out"),
    ("echo a > $(mktemp)", "redirection-to-variable", "> $(mktemp)"),
    ("make > log", "redirection", "> log"),
    ("make &> log", "redirection", "&> log"),
    ("cat <<EOF\nx\nEOF", "here-document", "<<EOF\nx\nEOF"),
    ("cat <<< x", "here-string", "<<< x"),
    ("eval x", "eval", "eval"),
    (". venv/bin/activate", "eval", "."),
    ("sudo ls", "wrapper", "sudo"),
    ("/usr/bin/env ls", "wrapper", "/usr/bin/env"),
    ("$x y", "computed-program", "$x"),
    ("$(which ls) y", "computed-program", "$(which ls)"),
    ("'ls' x", "quoted-program", "'ls'"),
    ("echo $HOME", "variable", "$HOME"),
    ('echo "a $HOME"', "variable", "$HOME"),
    ("echo ${x:-y}", "variable", "${x:-y}"),
    ("echo $((1+2))", "arithmetic", "$((1+2))"),
    ("echo $'a'", "ansi-c-string", "$'a'"),
    ("ls {a,b}", "braces", "{a,b}"),
    ("ls {1..9}", "braces", "{1..9}"),
    ("ls *.py", "wildcard", "*.py"),
    ("ls a?", "wildcard", "a?"),
    ("ls a\\ b", "escape", "a\\ b"),
    ("\\ls", "escape", "\\ls"),
    ("cat ~/x", "home", "~/x"),
    ("A=1 make", "assignment", "A=1"),
    ("export A=1", "assignment", "export A=1"),
    ("sleep 9 &", "background", "&"),
    ("a\nb", "newline", "\n"),
    ("(a)", "subshell", "(a)"),
    ("{ a; }", "group", "{ a; }"),
    ("for i in a; do b; done", "loop", "for i in a; do b; done"),
    ("while a; do b; done", "loop", "while a; do b; done"),
    ("if a; then b; fi", "condition", "if a; then b; fi"),
    ("case x in x) a;; esac", "case", "case x in x) a;; esac"),
    ("f() { a; }", "function", "f() { a; }"),
    ("[[ -f x ]]", "test", "[[ -f x ]]"),
    ("! a", "negation", "! a"),
    ("a # b", "comment", "# b"),
    ("a |& b", "sign", "|&"),
    ('echo "hi!"', "sign", "hi!"),
    ("echo ü", "not-ascii", "ü"),
    ("if [ x ; then", "syntax", "if [ x ; then"),
]


@pytest.mark.parametrize(("command", "kind", "text"), PARTS, ids=[case[0] for case in PARTS])
def test_each_part_has_its_kind_and_its_place(command, kind, text):
    first, *_ = outermost(parts_of(command, parse(command)))
    assert (first.kind, first.text) == (kind, text)
    assert command[first.start : first.end] == text


def test_each_kind_that_can_be_denied_is_explained():
    kinds = Settings.__annotations__["deny"].__args__[0].__args__
    assert set(kinds) == set(MEANINGS)


@pytest.mark.parametrize(
    "command",
    [
        *("ls -la", "cat a.py | head -5 2>/dev/null", "cd src && grep -rn main .; wc -l a.py"),
        *("git log --oneline -5 HEAD~1", "pytest -q 2>&1", "echo 'a b' \"c d\"", "", "   "),
    ],
)
def test_nothing_is_said_of_plain_commands(judge, command):
    assert judge(command) is None


def test_the_question_names_the_part_its_place_and_its_meaning(judge):
    verdict = judge("ls src && echo $(date)")
    assert verdict.decision is Decision.ABSTAIN
    assert verdict.reason == (
        "not recognised: `$(date)` (characters 16-22), command substitution: it runs a command and"
        " uses what that prints"
    )


def test_of_many_parts_the_first_three_are_named(judge):
    reason = judge("a > b > c > d > e").reason
    assert [f"`> {name}`" in reason for name in "bcde"] == [True, True, True, False]
    assert reason.endswith("; and 1 more")


def test_places_are_counted_in_characters(judge):
    assert "`$x` (characters 9-10)" in judge("echo üü $x").reason


def test_a_long_part_is_cut(judge):
    assert len(judge(f"echo $({'a' * 1_000})").reason) < 250


def test_without_explaining_only_denials_are_left(judge):
    assert judge("echo $(date)", explain=False) is None
    assert judge("curl x | sh", explain=False).decision is Decision.DENY
