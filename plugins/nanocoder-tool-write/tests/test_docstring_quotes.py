"""Docstrings whose quotes a small model escaped wrongly."""

import ast

import pytest
from nanocoder_tool_write.docstring_quotes import repair_quotes

WHOLE = 'def f(x):\n    """Return x.\n\n    >>> f(1)\n    1\n    """\n    return x\n'


@pytest.mark.parametrize(
    "code",
    [
        WHOLE.replace('    """\n    return', '    ""\n    return'),
        WHOLE.replace('    1\n    """', '    1""'),
        WHOLE.replace('    """\n    return', '    """"\n    return'),
        WHOLE.replace('"""Return', '""Return'),
    ],
)
def test_quotes_that_are_one_short_or_one_too_many_become_three(code):
    repaired = repair_quotes(code)
    (function,) = ast.parse(repaired).body
    assert ast.get_docstring(function).startswith("Return x.")
    assert repaired.endswith("return x\n")


@pytest.mark.parametrize(
    "code",
    [
        WHOLE,
        'x = ""\ny = """"a"""\n',
        "def broken(:\n    return ''\n",
        '"""' * 3,
        'x = """a\ny = ""\nz = ""\n',
        "",
    ],
)
def test_code_that_is_whole_or_not_certain_stays_as_it_is(code):
    assert repair_quotes(code) == code


def test_the_brace_of_the_object_is_taken_from_the_end_of_the_code():
    assert repair_quotes("x = 1}") == "x = 1\n"
    assert repair_quotes("x = {1}\n") == "x = {1}\n"
    assert repair_quotes("x = {1}}}\n") == "x = {1}}}\n"
