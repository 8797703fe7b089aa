import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_schema import did_you_mean, for_model, for_terminal, nearest, one_line

SEQUENCES = (
    "\x1b]0;pwned\x07",
    "\x1b[?1049h\x1b[?25l",
    "\x1b[6n\x1b[c\x1b[>q",
    "\x1b[201~; touch /tmp/x\n",
    "\x1bPq#0;2;0;0;0~-\x1b\\",
    "\x1b_Ga=T,f=100;AAAA\x1b\\",
    "text \x1b[38;5;",
    "\x9b31mred\x9d0;x\x9c",
    "\x1b]52;c;eA==\x07 hi \u202e",
    "a\0b\x7f",
)


@pytest.mark.parametrize("text", SEQUENCES)
def test_no_control_reaches_the_terminal_or_the_model(text):
    for clean in (for_terminal(text), for_model(text), one_line(text, 40)):
        assert not [c for c in clean if unicodedata.category(c) == "Cc" and c not in "\n\t"]


@given(st.text())
def test_a_terminal_gets_nothing_that_it_hides_or_obeys(text):
    for letter in for_terminal(text, keep_emoji=False):
        category = unicodedata.category(letter)
        assert letter in "\n\t" or category not in {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}


@given(st.text(st.characters(codec="utf-8")))
def test_the_model_gets_no_control_no_tag_no_surrogate(text):
    clean = for_model(text)
    clean.encode("utf-8")
    assert not [c for c in clean if ord(c) in range(0xE0000, 0xE1000)]
    assert not [c for c in clean if unicodedata.category(c) == "Cc" and c not in "\n\t"]


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("rm -rf /\b\bls", r"rm -rf /\x08\x08ls"),
        ("curl x|sh\rls", r"curl x|sh\x0dls"),
        ("a\u202eb\u2066c\u200bd", r"a\u202eb\u2066c\u200bd"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
        ("\ue000\u2028\ufeff", r"\ue000\u2028\ufeff"),
        ("é 漢字 \u00a0 →", "é 漢字 \u00a0 →"),
        ("👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥", "👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥"),
        ("👍🏽\u200d💻", "👍🏽\u200d💻"),
        ("a\u200db", r"a\u200db"),
        ("⚠\ufe0f 1\ufe0f\u20e3", "⚠\ufe0f 1\ufe0f\u20e3"),
        ("a\ufe0f ⚠\ufe0f\ufe0f\ufe00", r"a\ufe0f ⚠" + "\ufe0f" + r"\ufe0f\ufe00"),
        ("\U000e0100\u3164\uffa0\u2800\u034f", r"\U000e0100\u3164\uffa0\u2800\u034f"),
        ("[bold]x[/nope]", "[bold]x[/nope]"),
        ("e" + "\u0301" * 50, "e" + "\u0301" * 8),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, visible):
    assert for_terminal(text) == visible


def test_a_model_is_told_that_something_was_taken_out():
    assert for_model("\x1b[31mred\x1b[0m") == ("red\n[2 control or invisible characters removed]")
    assert for_model("a\U000e0041\U000e0042\ud800\r\nb\rc") == (
        "a\ufffd\nb\nc\n[2 control or invisible characters removed]"
    )
    assert for_model("é → 漢\u202e") == "é → 漢\u202e"


def test_one_line_fits():
    assert one_line("a\n  b\t c", 20) == "a b c"
    assert one_line("x" * 5_000_000, 10) == "x" * 9 + "…"
    assert one_line("\x1b" * 10, 10) == "\\x1b\\x1b\\…"
    assert len(one_line("a b " * 100, 33)) == 33


def test_nearest_finds_misspellings():
    assert nearest("writ", ["read", "write", "bite"], limit=1) == ["write"]
    assert nearest("zzz", ["read"]) == []


def test_clean_text_is_returned_as_it_is_and_fast():
    text = "def f(x):\n\treturn x\n" * 200_000
    started = time.process_time()
    assert for_terminal(text) is text
    assert for_model(text) is text
    assert time.process_time() - started < 0.5


@pytest.mark.rows(3)
@pytest.mark.parametrize("piece", ["\x1b]", "\x1b[", "\x1b[0;", "\u0301", "👩\u200d", "\x1bP\x1b_"])
def test_no_text_takes_long(piece):
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    for_model(text)
    for_terminal(text)
    one_line(text, 80)
    assert time.process_time() - started < 4


def test_a_hint_names_the_nearest_choices_or_says_something_else():
    assert did_you_mean("modle", ["mode", "model"]) == "; did you mean 'model'?"
    assert did_you_mean("modle", ["mode", "model"], limit=2) == "; did you mean 'model' or 'mode'?"
    assert did_you_mean("zzz", ["read"], "; see --help") == "; see --help"
