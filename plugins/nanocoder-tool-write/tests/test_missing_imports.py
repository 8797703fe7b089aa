"""A small model's Python gets the imports of the standard library that it forgot."""

from pathlib import Path
from typing import Literal

import nanocoder_tool_write
import pytest
from nanocoder import ApprovalAnswer, ApprovalRequest
from nanocoder_testing import Scripted, play
from nanocoder_tool_write.missing_imports import missing_imports, with_imports

TYPED = "def first(numbers: List[int]) -> Optional[int]:\n    return numbers[0]\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (TYPED, ["from typing import List, Optional"]),
        ("def root(x):\n    return math.sqrt(x)\n", ["import math"]),
        ("from typing import List\n\nx: List = []\n", []),
        ("from typing import *\n\nx: List = []\n", []),
        ("import math as m\n\nprint(m.pi, math.pi)\n", ["import math"]),
        ("def f(string, random):\n    return string.strip() + random.x\n", []),
        ("for time in range(3):\n    print(time.real)\n", []),
        ("print(List_of_mine, frobnicate.x)\n", []),
        ("try:\n    pass\nexcept OSError as code:\n    print(code.errno)\n", []),
        ("match x:\n    case {'a': 1, **types}:\n        print(types.y)\n", []),
        ("print(copy)\n", []),
        ("def broken(:\n", []),
        ("x = 'List[int]'\n", []),
        ("", []),
    ],
)
def test_only_what_must_be_a_module_of_the_standard_library_is_imported(code, expected):
    assert missing_imports(code) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", "import math\n\nx = 1\n"),
        ('"""A module."""\nx = 1\n', '"""A module."""\nimport math\n\nx = 1\n'),
        ("import os\n\nx = 1\n", "import os\nimport math\n\nx = 1\n"),
        ("# a note\nx = 1\n", "import math\n\n# a note\nx = 1\n"),
        (
            "from __future__ import annotations\nx = 1\n",
            "from __future__ import annotations\nimport math\nx = 1\n",
        ),
    ],
)
def test_imports_stand_after_the_ones_that_are_there(before, after):
    assert with_imports(before, ["import math"]) == after


def agree(request: ApprovalRequest) -> ApprovalAnswer:
    """Answer yes."""
    return ApprovalAnswer(request.id, request.digest, approved=True)


@pytest.mark.parametrize(("profile", "is_helped"), [("small", True), ("full", False)])
def test_only_a_small_model_is_helped_and_told(
    profile: Literal["full", "small"], *, is_helped: bool, tmp_path: Path
) -> None:
    write = ("write_file", {"path": "first.py", "content": TYPED})
    model = Scripted([[write], "done"], profile=profile)
    plugins = {"tool-write": nanocoder_tool_write}
    play(tmp_path, [], plugins=plugins, approve=agree, model=model)
    text = (tmp_path / "first.py").read_text()
    assert text.startswith("from typing import List, Optional\n\ndef first") is is_helped
    result = model.requests[-1].messages[-1].results[0].output
    assert ("[added to the file: from typing import List, Optional]" in result) is is_helped
