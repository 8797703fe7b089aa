"""A small model's edits mean what it intends; a large model gets the error that corrects it."""

from pathlib import Path
from typing import Any, Literal

import nanocoder_tool_edit
import pytest
from nanocoder import ApprovalAnswer, ApprovalRequest
from nanocoder_testing import play
from nanocoder_testing.scripted import Scripted

SHOP = "def calc(price):\n    return calculated(price)\n\n\nprint(calc(1), 'recalc')\n"


def agree(request: ApprovalRequest) -> ApprovalAnswer:
    """Answer yes."""
    return ApprovalAnswer(request.id, request.digest, approved=True)


def edited(folder: Path, profile: Literal["full", "small"], **arguments: Any) -> str:
    """Let a model of the *profile* make one edit; return what it got back."""
    model = Scripted([[("edit_file", arguments)], "done"], profile=profile)
    plugins = {"tool-edit": nanocoder_tool_edit}
    played = play(folder, [], plugins=plugins, approve=agree, model=model)
    [result] = [result for message in played.messages for result in message.results]
    return result.output


def test_one_word_is_renamed_everywhere_as_a_whole_word(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "main.py").write_text("from shop import calc\n")
    (tmp_path / "other.py").write_text("recalculate = 1\n")
    said = edited(tmp_path, "small", path="shop.py", old_string="calc", new_string="total")
    expected = "def total(price):\n    return calculated(price)\n\n\nprint(total(1), 'recalc')\n"
    assert (tmp_path / "shop.py").read_text() == expected
    assert said.endswith("['calc' is still in main.py: replace it there, too]")


def test_the_last_file_of_a_renaming_leaves_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    said = edited(tmp_path, "small", path="shop.py", old_string="calc", new_string="total")
    assert "is still in" not in said


def test_the_same_text_twice_is_added_where_it_is_missing(tmp_path: Path) -> None:
    (tmp_path / "ignored").write_text("*.pyc\n")
    edited(tmp_path, "small", path="ignored", old_string="*.log", new_string="*.log")
    assert (tmp_path / "ignored").read_text() == "*.pyc\n*.log\n"


DEF = "def sub(a, b):"


@pytest.mark.parametrize(("profile", "is_added"), [("small", True), ("full", False)])
def test_a_new_function_whose_first_line_is_sought_is_added(
    profile: Literal["full", "small"], *, is_added: bool, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    new = f"{DEF}\n    return a - b"
    edited(tmp_path, profile, path="shop.py", old_string=DEF, new_string=new)
    expected = f"{SHOP}\n\n{new}\n" if is_added else SHOP
    assert (tmp_path / "shop.py").read_text() == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def calc(price, tax):", "def calc(price, tax):\n    return price"),
        ("x = frobnicate(1)", "x = frobnicate(1)\ny = 2"),
        (DEF, "def other(a, b):\n    return a - b"),
    ],
)
def test_what_is_no_new_definition_is_not_added(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    said = edited(tmp_path, "small", path="shop.py", old_string=old, new_string=new)
    assert "is not in 'shop.py'" in said
    assert (tmp_path / "shop.py").read_text() == SHOP


def test_the_same_text_twice_changes_nothing_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "ignored").write_text("*.log\n")
    said = edited(tmp_path, "small", path="ignored", old_string="*.log", new_string="*.log")
    assert "nothing would change" in said
    assert (tmp_path / "ignored").read_text() == "*.log\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"), [("calc", "total", "occurs"), ("absent", "absent", "are equal")]
)
def test_a_large_model_is_told_what_is_wrong(
    old: str, new: str, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    said = edited(tmp_path, "full", path="shop.py", old_string=old, new_string=new)
    assert problem in said
    assert (tmp_path / "shop.py").read_text() == SHOP
