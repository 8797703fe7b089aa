import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_kit_files.text import common_ends, fold, read_hidden, show_hidden, without_hidden

LETTERS = "a \n\u200b\u200c\u2014\uff08\xa0\u201c\x0c"


@given(st.text(LETTERS))
def test_a_folded_text_has_every_character_in_its_place(text):
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)
    for plain, letter in zip(fold(text), text, strict=True):
        assert plain == fold(letter)


@given(st.text(LETTERS))
def test_without_hidden_characters_every_other_one_is_found_again(text):
    bare, place = without_hidden(text)
    assert [text[place(number)] for number in range(len(bare))] == list(bare)
    assert place(len(bare)) == len(text)
    assert not {"\u200b", "\u200c", "\x0c"} & set(bare)


@given(st.text(LETTERS))
def test_hidden_characters_that_are_shown_are_read_again(text):
    assert read_hidden(show_hidden(text)) == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<U+200B>", "\u200b"),
        (r"\u200b", "\u200b"),
        (r"\u200B", "\u200b"),
        (r"\u0041 <U+0041>", r"\u0041 <U+0041>"),
        (r"\x0c\x41", "\x0c\\x41"),
    ],
)
def test_only_hidden_characters_are_read_by_their_numbers(text, read):
    assert read_hidden(text) == read


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [("abc", "axc", (1, 1)), ("aa", "aaa", (2, 0)), ("", "x", (0, 0)), ("ab", "ab", (2, 0))],
)
def test_common_ends_do_not_overlap(old, new, ends):
    assert common_ends(old, new) == ends
