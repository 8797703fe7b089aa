"""A small model's incomplete rewrite of a Python file keeps what the model forgot."""

import ast
from pathlib import Path
from typing import Literal

import nanocoder_tool_write
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import ApprovalAnswer, ApprovalRequest
from nanocoder_testing import play
from nanocoder_testing.scripted import Scripted
from nanocoder_tool_write.merge import merge_definitions

OLD = '''"""Prices."""

import math

RATE = 1.19


def net(price):
    return price / RATE


def gross(price):
    return price * RATE


if __name__ == "__main__":
    print(gross(1))
'''


def test_a_new_function_is_added_and_everything_else_stays() -> None:
    merged = merge_definitions(OLD, "def half(price):\n    return price / 2\n")
    assert merged is not None
    assert merged.text == OLD + "\n\ndef half(price):\n    return price / 2\n"
    assert merged.changed == ("half",)


def test_a_function_that_exists_is_replaced_with_its_decorators() -> None:
    new = (
        "import functools\n\n\n@functools.cache\ndef net(price):\n    return round(price / RATE)\n"
    )
    merged = merge_definitions(OLD, new)
    assert merged is not None
    assert merged.text == OLD.replace(
        "def net(price):\n    return price / RATE",
        "@functools.cache\ndef net(price):\n    return round(price / RATE)",
    ).replace("import math\n", "import math\nimport functools\n")


@pytest.mark.parametrize(
    "new",
    ["print(1)\n", "def broken(:\n", "", "def net(a):\n    pass\n\n\ndef net(b):\n    return b\n"],
)
def test_what_has_no_definition_or_one_twice_is_not_merged(new: str) -> None:
    assert merge_definitions(OLD, new) is None


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1)


@given(old=NAMES, new=NAMES)
def test_no_definition_is_lost_and_each_new_one_holds(old: list[str], new: list[str]) -> None:
    merged = merge_definitions(*(source(names, text) for names, text in ((old, 1), (new, 2))))
    assert merged is not None
    namespace: dict[str, object] = {}
    exec(compile(ast.parse(merged.text), "merged", "exec"), namespace)
    for name in {*old, *new}:
        assert namespace[name]() == (2 if name in new else 1)  # type: ignore[operator]


def source(names: list[str], value: int) -> str:
    return "\n\n".join(f"def {name}():\n    return {value}\n" for name in names)


def agree(request: ApprovalRequest) -> ApprovalAnswer:
    """Answer yes."""
    return ApprovalAnswer(request.id, request.digest, approved=True)


@pytest.mark.parametrize(("profile", "is_merged"), [("small", True), ("full", False)])
def test_only_a_small_model_is_helped(
    profile: Literal["full", "small"], *, is_merged: bool, tmp_path: Path
) -> None:

    (tmp_path / "prices.py").write_text(OLD)
    write = ("write_file", {"path": "prices.py", "content": "def half(x):\n    return x / 2\n"})
    model = Scripted([[write], "done"], profile=profile)
    plugins = {"tool-write": nanocoder_tool_write}
    settings = {"tool-write": nanocoder_tool_write.Settings(read_first=False)}
    play(tmp_path, [], plugins=plugins, approve=agree, model=model, settings=settings)
    text = (tmp_path / "prices.py").read_text()
    assert ("def half" in text) is is_merged
    assert "def gross" in text
