"""What `from nanocoder import …` gives."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "first", ["", "import nanocoder.tools.tool; ", "from nanocoder import Tool; "]
)
def test_tool_is_the_decorator_whoever_loaded_its_module_first(first):
    code = f"{first}from nanocoder import tool; print(tool.__qualname__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=9
    )
    assert done.stdout == "tool\n"
