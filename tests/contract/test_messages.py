"""Every sentence that a person or a model may read stands in one file, to be read in one go."""

import ast

import messages


def test_the_page_of_messages_is_what_the_source_says():
    assert messages.PAGE.read_text(encoding="utf-8") == messages.page(), (
        "write it with `nox -s reference`"
    )


def test_messages_are_found_and_docstrings_types_patterns_and_code_are_not():
    source = '''
"""A docstring of the module."""

raise ValueError(f"there is no tool {name!r} here")
WORDS = re.compile("(?:one two three)")
x = "two words"
y: "Thing | None" = f"{a} {b} {c}"
def f(z: "Thing | None") -> "Other | None": ...
"""A note below a constant."""
'''
    assert list(messages.file_sentences(ast.parse(source))) == ["there is no tool {…} here"]
