"""Names and code keep their characters in an answer; bold and italic words do not keep marks."""

import re

import pytest
from nanocoder_kit_ui.markdown import answer_parser


def shown(text):
    """Return the text that a reader sees."""
    return re.sub(r"<[^>]+>", "", answer_parser().render(text)).strip()


@pytest.mark.parametrize(
    "text",
    [
        "I changed shopcart/__init__.py and __main__.py.",
        "Define __init__ and __repr__ of _private_ names, a_b_c",
        "Pass *args and **kwargs; f(*a, **b) is not f(*b, **a)",
        "2*3*4 is 24, and 2**3**4 is large",
        "src/**/*.py or tests/*.py, **/*.txt and **/*.md",
        "Match (*.py) and (*.txt), \u201c*.c\u201d and \u201c*.h\u201d",
        "char *p, *q",
        "def f(*, a, **b)",
        "a * b * c",
    ],
)
def test_names_and_code_keep_their_characters(text):
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a **bold** and *soft* word", "a <strong>bold</strong> and <em>soft</em> word"),
        ("**`edit_file`**: it", "<strong><code>edit_file</code></strong>: it"),
        ("(*soft*), **bold**.", "(<em>soft</em>), <strong>bold</strong>."),
        ("***both***", "<em><strong>both</strong></em>"),
        ("\u6f22\u5b57**\u5b57**\u6f22", "\u6f22\u5b57<strong>\u5b57</strong>\u6f22"),
        ("~~gone~~", "<s>gone</s>"),
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
    ],
)
def test_emphasis_of_words_is_emphasis(text, html):
    assert answer_parser().render(text).strip() == f"<p>{html}</p>"
