"""The hostile cases of the places that Python imports from."""

import sys

import pytest

SHADOWED = ("httpx", "attr", "attrs", "cattrs", "rich", "pluggy", "json", "asyncio", "re", "typing")
pytestmark = pytest.mark.timeout(60)


def planted(path, mark):
    path.write_text(f"open({str(mark)!r}, 'w')\n")


# PLUG-005
@pytest.mark.parametrize(
    "words", [("--version",), ("plugins", "list"), ("call", "list_files", "{}")]
)
def test_no_module_of_the_workspace_is_imported(nanocoder, tmp_path, words):
    mark = tmp_path / "mark"
    for name in SHADOWED:
        planted(nanocoder.cwd / f"{name}.py", mark)
    done = nanocoder(*words, command=f"{sys.executable} -m nanocoder")
    assert (done.returncode, mark.exists()) == (0, False), done.stderr


# PLUG-003
def test_metadata_in_the_workspace_makes_no_plugin(nanocoder, tmp_path):
    mark = tmp_path / "mark"
    for group in ("nanocoder", "nanocoder.plugins"):
        for suffix in ("egg-info", "dist-info"):
            folder = nanocoder.cwd / f"old_{len(group)}.{suffix}"
            folder.mkdir()
            for name in ("PKG-INFO", "METADATA"):
                (folder / name).write_text("Metadata-Version: 2.1\nName: old\nVersion: 1\n")
            (folder / "entry_points.txt").write_text(f"[{group}]\ntool-old = oldm\n")
    planted(nanocoder.cwd / "oldm.py", mark)
    done = nanocoder("plugins", "list", command=f"{sys.executable} -m nanocoder")
    assert (done.returncode, mark.exists(), "old" in done.stdout) == (0, False, False), done.stderr
