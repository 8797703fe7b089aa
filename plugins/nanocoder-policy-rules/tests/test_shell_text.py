"""The one reader of shell text: what it makes of each form of bash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_policy_rules.shell_text import MAX_CHARS, MAX_WORDS, parse, unwrapped


def programs(text):
    """Return the words of each command, with a `$` at those that are computed."""
    return [
        " ".join(f"{word.text}$" if word.is_computed else word.text for word in command.words)
        for command in parse(text).commands
    ]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        # quotes and escapes
        ("a 'b c' \"d e\" f\\ g", ["a b c d e f g"]),
        ('a "b\\"c" "d\\e" "\\$x"', ['a b"c d\\e $x']),
        ("g'i't pu\"s\"h", ["git push"]),
        ("\\touch x", ["touch x"]),
        ("a \\\n  b", ["a b"]),
        # what is computed
        ("a $x ${y:-z} \"$w\" '$v'", ["a ${x}$ ${y:-z}$ ${w}$ $v"]),
        ("a $'b' {c,d} e~ ~/f", ["a $(…)$ {c,d}$ e~ ~/f$"]),
        ("a $((1+2)) b", ["a $(…)$ b"]),
        # documents and comments
        ("cat <<E\n$(touch x)\nE", ["cat", "touch x"]),
        ("cat <<'E'\n$(touch x)\nE", ["cat"]),
        ("git commit -m \"$(cat <<'E'\na `b`\n\nc\nE\n)\"", ["git commit -m a `b`\n\nc", "cat"]),
        ("a # don't; b\nc", ["a", "c"]),
        # words behind a redirection
        ("a > b c -d; e 2> f 2>&1 g", ["a c -d", "e g"]),
        ("cat <<E .env\nx\nE", ["cat .env"]),
        ("cat <<E > a b\nx\nE", ["cat b", ""]),
        # several commands
        ("a; b && c || d | e & f", ["a", "b", "c", "d", "e", "f"]),
        ("a\nb\n\nc", ["a", "b", "c"]),
        ("if a; then b; else c; fi", ["a", "b", "c"]),
        ("for x in 1 2; do a; done", ["", "a"]),
        ("while a; do b; done < c", ["a", "b", ""]),
        ("case $x in y) a;; esac", ["a"]),
        ("f() { a; }; f", ["a", "f"]),
        ("(a; b) && { c; } && ! d", ["a", "b", "c", "d"]),
        ("a $(b `c`) <(d)", ["a $(…)$ $(…)$", "b $(…)$", "c", "d"]),
        ("[ -f x ] && [[ y ]]", ["[ -f x ]", "[[ y ]]"]),
        ("X=1 Y=2 a; Z=3", ["a", ""]),
        ("export A=1 B", ["export B"]),
        # scripts in quotes
        ("bash -c 'a; b'", ["bash -c a; b", "a", "b"]),
        ('sh -ec "a $x"', ["sh -ec a ${x}$", "a ${x}$"]),
        ("bash -c -e 'a'", ["bash -c -e a", "a"]),
        ("sudo -u me bash -lc 'a'", ["sudo -u me bash -lc a", "a"]),
        ("eval 'a b'", ["eval a b", "a b"]),
        ('bash -c "$x"', ["bash -c ${x}$", "${x}$"]),
    ],
)
def test_the_commands_of_a_text(text, commands):
    assert programs(text) == commands
    assert not parse(text).problem


@pytest.mark.parametrize(
    ("text", "redirects"),
    [
        ("a > b 2>&1 >> c &> d", ["> b", ">& 1", ">> c", "&> d"]),
        ("a < b", ["< b"]),
        ("a | b > c", ["> c"]),
        ("a && b > c", ["> c"]),
        ("{ a; } > b", ["> b"]),
        ("for x in y; do a; done > b", ["> b"]),
        ("cat <<E > b\nx\nE", ["<< ", "> b"]),
        ("a $(< b)", ["< b"]),
        ("> b", ["> b"]),
    ],
)
def test_every_redirection_is_that_of_a_command(text, redirects):
    found = [each for command in parse(text).commands for each in command.redirects]
    shown = {f"{each.operator} {each.target.text if each.target else ''}" for each in found}
    assert {each.replace("2>&", ">&") for each in shown} == set(redirects)


def test_assignments_and_variables_of_loops_are_kept():
    [command] = parse("A=1 B='x y' make").commands
    assert [(name, value.text) for name, value in command.assignments] == [("A", "1"), ("B", "x y")]
    [name, value] = parse("for x in 1; do make; done").commands[0].assignments[0]
    assert name == "x"
    assert value.is_computed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo \u200b", "cannot be seen"),
        ("echo x\rtouch y", "cannot be seen"),
        ("echo a\0", "cannot be seen"),
        ("echo \u202e", "cannot be seen"),
        ("echo 'a", "not understood as bash"),
        ("if true", "not understood as bash"),
        ("echo *(e:'touch x':)", "not understood as bash"),
        ("import os\nprint('x')\ndef f(:", "not understood as bash"),
        ("a" * (MAX_CHARS + 1), "more than 131,072 characters"),
        ("g\\\nit push", "a backslash stands"),
        ("sudo " + "a " * MAX_WORDS, "more than 200 words"),
        ("a $(" * 300 + ")" * 300, "nested too deeply"),
        (
            'bash -c "bash -c \'bash -c \\"bash -c \\\\\\"a\\\\\\"\\"\'"',
            "more than 3 deep",
        ),
    ],
)
def test_what_is_not_understood_is_said(text, problem):
    assert problem in parse(text).problem


@pytest.mark.parametrize("text", ["$x a", "$'git' push", "/usr/bin/g* push", "~/x a"])
def test_a_program_that_is_computed_is_known_as_one(text):
    assert not parse(text).commands[-1].words[0].is_literal


@pytest.mark.parametrize("text", ["[ -f x ]", "[[ -f x ]]", "make *", "a $x"])
def test_a_program_with_a_name_is_known_as_one(text):
    assert parse(text).commands[-1].words[0].is_literal


def test_wrappers_start_what_their_words_name():
    [command] = parse("sudo -u me env A=1 git push").commands
    started = [" ".join(word.text for word in words) for words in command.started]
    assert {"sudo -u me env A=1 git push", "git push"} <= {*started}
    [plain] = parse("make git push").commands
    assert len(plain.started) == 1


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("timeout 60 pytest -q", "pytest -q"),
        ("time nice make", "make"),
        ("timeout 5 nohup make", "make"),
        ("sudo make", "sudo make"),
        ("env A=1 make", "env A=1 make"),
    ],
)
def test_wrappers_that_change_nothing_are_taken_off(text, inner):
    [command] = parse(text).commands
    assert " ".join(word.text for word in unwrapped(command).words) == inner


WORDS = r"""
    a b git push ' $ ( ) { } < > << | & ; \ # * ? [ ] ~ = ${x} $( ` E <<E for do done
"""
SIGNS = st.lists(st.sampled_from((*WORDS.split(), '"', "\n")), max_size=20).map(" ".join)


@given(st.one_of(st.text(), SIGNS))
def test_no_text_breaks_the_reader_and_each_is_read_the_same_way_again(text):
    first = parse(text)
    parse.cache_clear()
    assert parse(text) == first
    assert first.problem or first.commands or not text.strip() or first.features


@given(st.lists(st.sampled_from(("make", "git push", "ls -l")), min_size=2, max_size=5))
def test_a_chain_is_the_commands_of_its_parts(parts):
    for sign in (" && ", "; ", " | ", "\n"):
        assert programs(sign.join(parts)) == parts
