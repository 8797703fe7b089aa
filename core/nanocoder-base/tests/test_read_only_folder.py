"""FS-008: a file that may be written, in a folder in which no file can be replaced."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

NOBODY = 65_534
SCRIPT = """
import ctypes, hashlib, os, secrets, sys
import encodings.utf_8_sig  # another user may not reach the library that it would be loaded from
from nanocoder_files import Workspace
if os.getuid() == 0:
    os.setgroups([]); os.setgid({nobody}); os.setuid({nobody})
from pathlib import Path
with Workspace(Path("ws").resolve(), backups=Path("backups").resolve()) as workspace:
    workspace.read_text("f")
    try:
        workspace.write_text("f", "new")
    except Exception as error:
        print(getattr(error, "error_class", type(error)), error)
"""


@pytest.fixture
def place():
    root = Path(tempfile.mkdtemp(dir="/var/tmp"))  # another user reaches it
    root.chmod(0o755)
    (root / "ws").mkdir()
    (root / "backups").mkdir()
    (root / "ws/f").write_text("old")
    if os.getuid() == 0:
        for path in (root / "ws", root / "ws/f", root / "backups"):
            os.chown(path, NOBODY, NOBODY)
    (root / "ws").chmod(0o555)
    yield root
    (root / "ws").chmod(0o755)
    shutil.rmtree(root)


def test_a_file_in_a_read_only_folder_is_refused_clearly_and_stays(place):
    script = SCRIPT.format(nobody=NOBODY)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.stdout == "permission_denied permission to use 'f' is denied\n", done.stderr
    assert (place / "ws/f").read_text() == "old"
    assert os.listdir(place / "ws") == ["f"]
