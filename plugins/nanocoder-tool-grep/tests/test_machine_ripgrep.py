"""The machine's own ripgrep, often an older one, gives the same answers as the wheel's."""

import os
from pathlib import Path

import pytest
from nanocoder import ToolContext, Workspace
from nanocoder_kit_glob.ripgrep import find_ripgrep
from nanocoder_tool_grep import Settings, grep

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
}
CALLS = [
    {"pattern": "main"},
    {"pattern": r"^def \w+\(", "glob": "*.py"},
    {"pattern": "MAIN", "ignore_case": True, "output": "count"},
    {"pattern": "main", "path": "src", "context": 1},
    {"pattern": "main", "path": "ignored/c.py"},
    {"pattern": "main(", "fixed_string": True, "output": "files"},
    {"pattern": r"(main|helper)\b", "limit": 1, "offset": 1},
]


@pytest.fixture
def tree(tmp_path):
    for name, content in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("arguments", CALLS, ids=str)
def test_the_machine_s_ripgrep_answers_as_the_search_in_python_does(tree, monkeypatch, arguments):
    monkeypatch.setenv("PATH", os.defpath)
    assert Path(find_ripgrep(tree)).parent in map(Path, os.defpath.split(os.pathsep))
    with Workspace(tree) as workspace:
        answers = []
        for engine in ("ripgrep", "python"):
            settings = Settings(engine=engine)
            ctx = ToolContext(
                session_id="s",
                message_id="c1",
                workspace=workspace,
                working_directory=tree,
                settings=settings,
            )
            result = grep.invoke(ctx, grep.signature.check(arguments))
            assert result.metadata["engine"] == engine
            answers.append((result.output, result.data))
    assert answers[0] == answers[1]
