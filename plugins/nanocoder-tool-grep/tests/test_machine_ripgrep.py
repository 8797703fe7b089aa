"""The machine's own ripgrep, often an older one, gives the same answers as the wheel's."""

import os
import sys
from pathlib import Path

import pytest
from nanocoder import ToolContext, Workspace
from nanocoder_tool_grep import grep
from nanocoder_tool_grep.programs import find_ripgrep

pytestmark = pytest.mark.needs("rg")

TREE = {
    "a.py": b"import os\n\ndef main():\n    return os.name\n",
    "src/b.py": b"def helper():\n    pass\n\ndef main():\n    pass\n",
    "src/.hidden": b"main\n",
    ".gitignore": b"ignored/\n*.log\n",
    "ignored/c.py": b"def main(): ...\n",
    "d.log": b"main\n",
    "crlf.txt": b"main\r\nother\r\n",
    "binary": b"main\0\n",
    "latin": b"main \xe9\n",
    "wide": "main é\n".encode("utf-16"),
    "node_modules/x.js": b"main\n",
}
CALLS = [
    {"pattern": "main"},
    {"pattern": r"^def \w+\(", "glob": "*.py"},
    {"pattern": "MAIN", "ignore_case": True, "output": "count"},
    {"pattern": "main", "path": "src", "context": 1},
    {"pattern": "main", "path": "ignored/c.py"},
    {"pattern": "main(", "fixed_string": True, "output": "files"},
    {"pattern": "main é"},
    {"pattern": r"main\|helper"},
    {"pattern": r"main\(\):\n", "multiline": True},
    {"pattern": "nowhere"},
    {"pattern": r"(main|helper)\b", "limit": 1, "offset": 1},
]


@pytest.fixture
def tree(tmp_path):
    for name, content in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


def answers(tree, tmp_path, arguments):
    with Workspace(tree) as workspace:
        ctx = ToolContext(
            session_id="s",
            message_id="c1",
            workspace=workspace,
            working_directory=tree,
            make_tmp=lambda: tmp_path,
        )
        result = grep.invoke(ctx, grep.signature.check(arguments))
        return result.output, result.data


@pytest.mark.parametrize("arguments", CALLS, ids=str)
def test_the_machine_s_ripgrep_gives_the_same_answers(
    tree, tmp_path_factory, monkeypatch, arguments
):
    tmp_path = tmp_path_factory.mktemp("call")
    own = Path(find_ripgrep(tree))
    assert own.parent == Path(sys.executable).parent
    expected = answers(tree, tmp_path, arguments)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert Path(find_ripgrep(tree)).parent in map(Path, os.defpath.split(os.pathsep))
    assert answers(tree, tmp_path, arguments) == expected
