"""What code_complexity measures and answers."""

import sys

import pytest
from nanocoder import Cancel, Cancelled, ToolContext, Workspace
from nanocoder_tool_complexity import Settings, code_complexity
from nanocoder_tool_complexity.answer import rate_size

GO = """\
package geo

// Area has two ways through it.
func Area(a int) int {
	if a > 1 && a < 9 {
		return a
	}
	return 0
}
"""
PYTHON = (
    "def one(x):\n    for y in x:\n        if y:\n            return y\n\n\ndef two():\n    pass\n"
)


@pytest.fixture
def root(tmp_path):
    write(tmp_path, "geo/area.go", GO)
    write(tmp_path, "app/core.py", PYTHON)
    write(tmp_path, "app/small.py", "x = 1")
    return tmp_path


def write(root, name, content):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def measure(root, settings=None, *, cancel=False, **arguments):
    with Workspace(root) as workspace:
        ctx = ToolContext("s", "c", workspace, root, settings=settings)
        if cancel:
            ctx.cancelled.set()
        return code_complexity.invoke(ctx, code_complexity.signature.check(arguments))


@pytest.mark.contract("MA-87")
@pytest.mark.contract("MA-89")
def test_files_and_lines_are_counted_by_package_and_file(root):
    assert measure(root).output == (
        "Complexity: low (3 files, 2 packages, 18 lines)\n"
        "Packages:\n"
        "  app: 2 files, 9 lines\n"
        "  geo: 1 file, 9 lines\n"
        "Files:\n"
        "  geo/area.go: 9 lines\n"
        "  app/core.py: 8 lines\n"
        "  app/small.py: 1 line\n"
        "Hardest functions:\n"
        "  3 geo/area.go:4 Area (6 lines)\n"
        "  3 app/core.py:1 one (4 lines)\n"
        "  1 app/core.py:7 two (2 lines)"
    )


def test_the_same_comes_as_data(root):
    data = measure(root).data
    assert data["score"] == "low"
    assert data["files"][0] == {
        "path": "geo/area.go",
        "package": "geo",
        "lines": 9,
        "code": 7,
        "functions": 1,
    }
    assert data["packages"][0] == {
        "name": "app",
        "files": 2,
        "lines": 9,
        "functions": 2,
        "complexity": 3,
    }


@pytest.mark.contract("MA-86")
def test_folders_to_skip_come_on_top_of_those_that_always_are(root):
    for folder in ("vendor", "node_modules/x", "gen", "mine", "deep/gen"):
        write(root, f"{folder}/big.go", GO * 100)
    write(root, "ignored.py", PYTHON * 100)
    write(root, ".gitignore", "ignored.py\n")
    result = measure(root, Settings(skip_dirs=("mine",)), skip_dirs=["gen"])
    assert [file["path"] for file in result.data["files"]] == [
        "geo/area.go",
        "app/core.py",
        "app/small.py",
    ]


def test_tests_are_left_out_and_counted(root):
    for name in ("geo/area_test.go", "app/test_core.py", "conftest.py", "web/a.spec.ts"):
        write(root, name, "x\n")
    result = measure(root, extensions=[".go", "py", "*.ts"])
    assert result.metadata["files"] == 3
    assert result.output.endswith("[4 test files left out]")


@pytest.mark.contract("MA-88")
def test_ten_are_shown_and_all_are_data(root):
    for number in range(15):
        write(
            root, f"p{number:02}/m.py", "def f(x):\n    return x or 1\n" + "y = 1\n" * number * 10
        )
    result = measure(root)
    lines = result.output.splitlines()
    assert "Packages (top 10 of 17):" in lines
    assert lines[lines.index("Files (top 10 of 18):") + 1] == "  p14/m.py: 142 lines"
    assert lines.index("Hardest functions (top 10 of 18):") == 23
    assert len(lines) == 34
    assert len(result.data["files"]) == 18


@pytest.mark.contract("MA-89")
@pytest.mark.parametrize(
    ("lines", "score"),
    [(0, "low"), (9_999, "low"), (10_000, "medium"), (49_999, "medium"), (50_000, "high")],
)
def test_the_score_follows_from_the_lines(lines, score):
    assert rate_size(lines) == score


def test_a_language_without_functions_is_counted_by_lines(root):
    write(root, "notes.foo", "a\nb\n")
    result = measure(root, extensions=["foo"])
    assert result.output.splitlines()[-1] == "[1 file counted by lines alone]"
    assert result.metadata["lines"] == 2


def test_whatever_stands_in_a_file_harms_nothing(root):
    write(root, "bad.py", "def (((:\n\x00 ''' \\\n" * 50)
    write(root, "bad.go", "func ( { ) } `" * 50)
    (root / "bytes.py").write_bytes(bytes(range(256)))
    assert measure(root).metadata["files"] == 6


def test_without_time_lines_are_still_counted(root):
    result = measure(root, Settings(time_limit_s=0.0))
    assert result.metadata["lines"] == 18
    assert "[3 files counted by lines alone]" in result.output


def test_nothing_to_measure_is_said(tmp_path):
    assert measure(tmp_path).output == "Complexity: low (0 files, 0 packages, 0 lines)"


def test_a_cancelled_call_stops(root):
    with pytest.raises(Cancelled):
        measure(root, cancel=True)


def test_a_call_stops_in_the_middle_of_a_file(root, monkeypatch):
    looks = []
    monkeypatch.setattr(Cancel, "check", lambda self: looks.append(len(looks)))
    measure(root)
    alone = len(looks)
    write(root, "app/large.py", "def f(x):\n    return x\n" * 10_000)
    looks.clear()
    measure(root)
    assert len(looks) > alone + 10


def test_measuring_leaves_the_search_path_of_imports_alone(root):
    before = list(sys.path)
    measure(root)
    assert sys.path == before
    assert "lizard" not in sys.modules
