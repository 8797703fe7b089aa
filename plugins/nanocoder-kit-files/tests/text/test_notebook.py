import json

import pytest
from nanocoder import ToolError
from nanocoder_kit_files.text import decode, notebook_of

CODE = {
    "cell_type": "code",
    "execution_count": 1,
    "id": "ab12",
    "metadata": {},
    "outputs": [
        {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
        {"output_type": "display_data", "data": {"image/png": "aGk=", "text/plain": "<Figure>"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no\nway", "traceback": []},
    ],
    "source": ["import os\n", "print(1)"],
}
TEXT = {"cell_type": "markdown", "id": "cd34", "metadata": {}, "source": ["# Títle\n"]}
EMPTY = {
    "cell_type": "code",
    "execution_count": None,
    "id": "ef56",
    "metadata": {},
    "outputs": [],
    "source": [],
}
VIEW = (
    "[cell 1: code, id ab12, output left out: 2 lines, image/png, 1 line, ValueError: no way]\n"
    "import os\nprint(1)\n"
    "[cell 2: markdown, id cd34]\n# Títle\n\n"
    "[cell 3: code, id ef56]\n"
)


def written(cells, minor=5, **style) -> bytes:
    data = {"cells": cells, "metadata": {"a": 1.5}, "nbformat": 4, "nbformat_minor": minor}
    return (json.dumps(data, **{"indent": 1, "ensure_ascii": False, **style}) + "\n").encode()


def notebook(cells=(CODE, TEXT, EMPTY), **style):
    opened = notebook_of(decode("n.ipynb", written([*cells], **style)))
    assert opened is not None
    return opened


def test_cells_are_shown_with_their_ids_and_without_their_outputs():
    assert notebook().text == VIEW


@pytest.mark.parametrize(
    "style",
    [
        {},
        {"indent": 2},
        {"indent": "\t"},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
        {"ensure_ascii": True},
        {"minor": 4},
    ],
)
def test_all_but_the_source_that_was_changed_stays(style):
    opened = notebook(**style)
    changed = VIEW.replace("print(1)", 'print("é")\nx = 1')
    source = ["import os\n", 'print("é")\n', "x = 1"]
    assert opened.encode(changed) == written([{**CODE, "source": source}, TEXT, EMPTY], **style)
    assert opened.encode(VIEW) == opened.file.data


def test_a_source_that_is_one_text_stays_one():
    opened = notebook([{**CODE, "source": "a\nb"}])
    cells = json.loads(opened.encode(opened.text.replace("b\n", "c\n")))["cells"]
    assert cells[0]["source"] == "a\nc"


def test_a_cell_is_filled_added_and_removed():
    opened = notebook()
    start = VIEW.index("[cell 2")
    text = f"{VIEW}y = 2\n[cell new: markdown]\nEnd\n".replace(
        VIEW[start : VIEW.index("[cell 3")], ""
    )
    cells = json.loads(opened.encode(text))["cells"]
    assert [cell["source"] for cell in cells] == [CODE["source"], ["y = 2"], ["End"]]
    assert set(cells[2]) == {"cell_type", "id", "metadata", "source"}
    assert cells[0]["outputs"] == CODE["outputs"]


def test_a_cell_of_before_ids_gets_none():
    opened = notebook([{**TEXT, "source": "a"}], minor=4)
    cells = json.loads(opened.encode(f"{opened.text}[cell new: code]\nx\n"))["cells"]
    assert set(cells[1]) == {"cell_type", "metadata", "source", "execution_count", "outputs"}


def test_a_cell_may_become_one_of_another_kind():
    opened = notebook()
    cells = json.loads(opened.encode(VIEW.replace("[cell 1: code", "[cell 1: markdown")))["cells"]
    assert cells[0] == {
        "cell_type": "markdown",
        "id": "ab12",
        "metadata": {},
        "source": CODE["source"],
    }


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[cell 1", "x\n[cell 1", "no longer begins"),
        ("[cell 2: markdown, id cd34]", "[cell 1: markdown]", "twice"),
        ("[cell 2: markdown, id cd34]", "[cell 9: markdown]", "no cell 9"),
    ],
)
def test_headings_in_disorder_are_refused(old, new, problem):
    with pytest.raises(ToolError, match=problem):
        notebook().encode(VIEW.replace(old, new))


def test_a_part_of_a_heading_is_told_from_all_of_it_and_from_the_source():
    opened = notebook()
    start, end = VIEW.index("[cell 2"), VIEW.index("\n# T")
    assert opened.is_in_heading(VIEW, start + 1, start + 5)
    assert not opened.is_in_heading(VIEW, start, end)
    assert not opened.is_in_heading(VIEW, start, end + 1)
    assert not opened.is_in_heading(VIEW, end + 1, end + 4)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("n.json", written([])),
        ("n.ipynb", b'{"cells": 7}'),
        ("n.ipynb", b"no JSON"),
        ("n.ipynb", b'{"worksheets": [], "nbformat": 3}'),
        ("n.ipynb", written([{**TEXT, "source": "[cell 1: code]\n"}])),
    ],
)
def test_what_cannot_be_shown_as_cells_is_no_notebook(name, data):
    assert notebook_of(decode(name, data)) is None
