"""No Python file of the workspace stands in for a module, however the command line is started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHADOWED = ("attr", "attrs", "pluggy", "json", "select", "tomllib", "argparse", "nanocoder_tool_x")
SCRIPT = str(Path(sys.executable).with_name("nanocoder"))
MODULE = (sys.executable, "-m", "nanocoder")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    for place in (folder, folder / "src"):
        place.mkdir(parents=True)
        for name in SHADOWED:
            text = f"open({str(tmp_path / 'MARK')!r}, 'a').write(__name__)\n"
            (place / f"{name}.py").write_text(text)
    return folder


# PLUG-001, 003, 005
@pytest.mark.rows(2)
@pytest.mark.parametrize(
    ("start", "search"),
    [((SCRIPT,), ":"), ((SCRIPT,), "{there}/src"), (MODULE, None), (MODULE, "src:{there}/other:")],
)
def test_a_module_of_the_workspace_is_never_imported(
    hostile: Path, start: tuple[str, ...], search: str | None
) -> None:
    environment = {"HOME": str(hostile.parent), "PATH": os.environ["PATH"]}
    if search is not None:
        environment["PYTHONPATH"] = search.replace("{there}", str(hostile))
    # Without a cache this describes every plugin, in a child process.
    done = subprocess.run(
        [*start, "tools"], cwd=hostile, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (hostile.parent / "MARK").exists()
    assert "disabled" not in done.stdout


def test_a_folder_of_the_person_outside_the_workspace_stays_importable(tmp_path: Path) -> None:
    folder, own = tmp_path / "checkout", tmp_path / "own"
    folder.mkdir()
    own.mkdir()
    (own / "mine.py").write_text("print('mine')\n")
    code = (
        "import sys, os; from nanocoder.cli import drop_untrusted_paths;"
        " drop_untrusted_paths(sys.path, os.environ['PYTHONPATH']); import mine"
    )
    environment = {"PYTHONPATH": f"{own}:", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    assert done.stdout == b"mine\n"
