"""What the recogniser reads of a command, exactly: these tests are what mutants of it meet."""

import itertools

import pytest
from nanocoder_policy_rules import shell
from nanocoder_policy_rules.shell import (
    MAX_CHARS,
    MAX_KEPT,
    SHOWN_CHARS,
    Simple,
    clip_line,
    commands,
    forget_commands,
    remember,
    unknown_part,
)

READ = {
    "ls": [("", "ls")],
    "ls -la src": [("", "ls", "-la", "src")],
    "  ls   a  ": [("", "ls", "a")],
    "a&&b": [("", "a"), ("&&", "b")],
    "a || b": [("", "a"), ("||", "b")],
    "a;b": [("", "a"), (";", "b")],
    "a;": [("", "a")],
    "a | b | c": [("", "a"), ("|", "b"), ("|", "c")],
    "a 'b c'": [("", "a", "b c")],
    'a "b c"': [("", "a", "b c")],
    "a x'b'y": [("", "a", "xby")],
    "a x\"b\"y'c'": [("", "a", "xbyc")],
    "a ''": [("", "a", "")],
    'a ""': [("", "a", "")],
    "a '\"'": [("", "a", '"')],
    'a "\'"': [("", "a", "'")],
    "a '$x;b|c&d>e'": [("", "a", "$x;b|c&d>e")],
    'a "b;c|d&e>f"': [("", "a", "b;c|d&e>f")],
    "a 2>/dev/null": [("", "a")],
    "a >/dev/null 2>&1": [("", "a")],
    "a 2>/dev/null | b": [("", "a"), ("|", "b")],
    "a >/dev/null;b": [("", "a"), (";", "b")],
    "a >/dev/null&& b": [("", "a"), ("&&", "b")],
    "a HEAD~1 b~": [("", "a", "HEAD~1", "b~")],
    "a X=1": [("", "a", "X=1")],
    "./a.py @%+=:,^-": [("", "./a.py", "@%+=:,^-")],
}
UNKNOWN = {
    "a $x": "$",
    "a `b`": "`",
    "a \\b": "\\",
    "a {b,c}": "{",
    "a (b)": "(",
    "a *": "*",
    "a ?": "?",
    "a [b]": "[",
    "a # b": "#",
    "a !b": "!",
    "a ~": "~",
    "a ~/b": "~",
    "a > b": ">",
    "a < b": "<",
    "a 2>b": ">",
    "a & b": "&",
    "a 'b": "'",
    'a "b': '"',
    'a "$b"': '"',
    'a "`b`"': '"',
    'a "b\\c"': '"',
    'a "b!"': '"',
    "a\tb": "",
    "a é": "é",
    "a 'é'": "'",
    "a 'b\nc'": "'",
}
INCOMPLETE = ["", " ", ";", "a;;b", "| a", "a |", "a &&", "a && && b", "a ;; b", "&& a", "a | ; b"]
HIDING = ["'ls'", '"ls"', "l's'", 'l"s"', "X=1", "X=1 ls", "X+=1 ls", "_x1=y ls", "'' ls"]


@pytest.mark.parametrize("text", READ)
def test_a_plain_command_is_read_word_by_word(text):
    assert commands(text) == [Simple(join, tuple(words)) for join, *words in READ[text]]


@pytest.mark.parametrize("text", UNKNOWN)
def test_any_other_sign_makes_all_of_it_unknown(text):
    assert commands(text) is None
    assert commands(f"ls; {text}") is None
    assert unknown_part(text)[0] == UNKNOWN[text].strip(" ") or UNKNOWN[text] == ""


@pytest.mark.parametrize("text", INCOMPLETE)
def test_an_empty_command_is_unknown(text):
    assert commands(text) is None


@pytest.mark.parametrize("text", HIDING)
def test_a_first_word_that_hides_the_program_is_unknown(text):
    assert commands(text) is None
    assert commands(f"ls && {text}") is None
    assert unknown_part(text)[0] == text[0]


@pytest.mark.parametrize(
    "text",
    [
        *(
            ">/dev/null",
            "2>&1",
            ">/dev/null ls",
            "a>/dev/null",
            "a b>/dev/null",
            "a2>/dev/null",
            "a b2>&1",
        ),
        *("a >/dev/nullx", "a >/dev/null/x", "a 2>&12", "a 2>&1x", "a; 2>&1", "a 1>/dev/null"),
        *("a >/dev/null2>&1", "a 2> /dev/null", "a &>/dev/null", "a >>/dev/null"),
    ],
)
def test_only_three_redirections_at_their_place_are_read(text):
    assert commands(text) is None


def test_the_longest_command_is_read_and_a_longer_one_is_not():
    text = "ls " + "a" * (MAX_CHARS - 3)
    assert commands(text) == [Simple("", ("ls", "a" * (MAX_CHARS - 3)))]
    assert commands(text + "a") is None
    assert unknown_part(f"{text[:-1]}$") == ("$", f"{text[:SHOWN_CHARS]}…")
    assert unknown_part(text + "a") == (f"{MAX_CHARS + 1:,} characters", f"{text[:SHOWN_CHARS]}…")


def test_the_unknown_part_comes_with_its_command():
    assert unknown_part("ls a; cat $x | wc") == ("$", "cat $x")
    assert unknown_part("$x") == ("$", "$x")
    assert unknown_part("a\nb $c") == ("\n", "b $c")
    assert unknown_part("ls && 'x' y && z") == ("'", "'x' y")
    assert unknown_part("cat $x > y") == ("$", "cat $x > y")
    assert unknown_part("ls;; cat") == ("", "cat")
    assert unknown_part(";") == ("", ";")


def test_a_command_is_shown_as_one_line_and_a_long_one_in_part():
    assert clip_line(" a\n  b\tc ") == "a b c"
    assert clip_line("a" * SHOWN_CHARS) == "a" * SHOWN_CHARS
    assert clip_line("a" * (SHOWN_CHARS + 1)) == "a" * SHOWN_CHARS + "…"


def test_what_is_said_twice_is_the_same():
    assert commands("ls a") is commands("ls a")
    assert str(Simple("|", ("a", "b c"))) == "a b c"


def test_the_latest_texts_are_looked_at_once_and_too_long_ones_again():
    seen = []

    @remember
    def look(text):
        seen.append(text)
        return [text]

    long, too_long = "a" * MAX_CHARS, "a" * (MAX_CHARS + 1)
    for text in ("ls", long, too_long) * 2:
        assert look(text) == [text]
    assert seen == ["ls", long, too_long, too_long]
    assert look.__name__ == "look"
    latest = [f"ls {number}" for number in range(MAX_KEPT)]
    for text in (*latest, *latest, "ls"):
        look(text)
    assert seen[4:] == [*latest, "ls"]
    forget_commands()
    look("ls")
    assert seen[-2:] == ["ls", "ls"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("ls -l | wc; id", 3),
        ("ls > log", None),
        ("a 2>err | b", None),
        ("a" * (MAX_CHARS + 1), None),
    ],
)
def test_most_commands_are_not_read_letter_by_letter(text, read, monkeypatch):
    monkeypatch.setattr(shell, "_read", None)
    simples = commands.__wrapped__(text)
    assert (simples and len(simples)) == read


def test_a_text_without_quotes_is_split_as_it_is_read_letter_by_letter():
    parts = ("a", "ls", " ", "  ", ";", "|", "||", "&&", "&", "x=1", "-l", "./b^")
    for words in itertools.product(parts, repeat=4):
        text = "".join(words)
        assert commands.__wrapped__(text) == shell._read(text)[0], text
    for end in (
        ">log",
        ">>log",
        ">/dev/null",
        "2>&1",
        "2>&12",
        "&>log",
        ">/dev/null2",
        " >log | b",
    ):
        for text in (f"a {end}", f"a{end}", f"a 'b' {end}", f"a {end} 'b'", f"a {end}; b"):
            assert commands.__wrapped__(text) == shell._read(text)[0], text
