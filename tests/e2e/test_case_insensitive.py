"""A real file system that takes `A.txt` and `a.txt` for one file, as those of Macs and Windows do.

exFAT is the one that every Linux can mount: in user space, on a loop device. Only root may.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

SIZE = 16 * 1024 * 1024
pytestmark = [
    pytest.mark.needs("mkfs.exfat", "mount.exfat-fuse", "losetup"),
    pytest.mark.timeout(120),
]


def call(nanocoder, folder: Path, tool: str, **arguments: str) -> dict:
    """Return the result of one call in mode auto."""
    words = ("--cwd", str(folder), "--mode", "auto", "--output", "json")
    return json.loads(nanocoder("call", tool, json.dumps(arguments), *words).stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Mount an empty exFAT; skip where this user may not."""
    image, folder = tmp_path / "image", tmp_path / "mounted"
    image.touch()
    os.truncate(image, SIZE)
    folder.mkdir()
    subprocess.run(["mkfs.exfat", str(image)], check=True, capture_output=True)
    words = ["losetup", "--find", "--show", str(image)]
    attached = subprocess.run(words, capture_output=True, text=True, check=False)
    if attached.returncode:
        pytest.skip(f"this user may not mount a file system: {attached.stderr.strip()}")
    device = attached.stdout.strip()
    # Without the caches of the kernel, which go by the exact name.
    words = ["mount.exfat-fuse", "-o", "entry_timeout=0,attr_timeout=0,negative_timeout=0"]
    try:
        mounted = subprocess.run([*words, device, str(folder)], capture_output=True, check=False)
        if mounted.returncode:
            pytest.skip(f"this user may not mount a file system: {mounted.stderr.decode()!r}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


# FS-031
def test_two_spellings_of_a_name_are_one_file(nanocoder, folder):
    assert call(nanocoder, folder, "write_file", path="A.txt", content="1\n")["status"] == "ok"
    second = call(nanocoder, folder, "write_file", path="a.txt", content="2\n")
    assert second["status"] == "ok"
    assert "File updated" in second["output"]  # and not "created": it is the file that was there
    assert "-1\n+2" in second["metadata"]["diff"]
    assert [path.name.casefold() for path in folder.iterdir()] == ["a.txt"]
    read = call(nanocoder, folder, "read_file", path="A.TXT")
    assert "2" in read["output"]


def test_no_spelling_opens_a_protected_place(nanocoder, folder):
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    before = (folder / ".git/config").read_bytes()
    for path in (".GIT/config", ".Git/hooks/pre-commit", ".git./config", ".NanoCoder/config.toml"):
        result = call(nanocoder, folder, "write_file", path=path, content="[core]\n")
        assert result["status"] == "denied", path
    assert (folder / ".git/config").read_bytes() == before
    assert not (folder / ".git/hooks/pre-commit").exists()
    assert not (folder / ".nanocoder").exists()


def test_a_rule_holds_for_every_spelling(nanocoder, folder):
    (folder / "private").mkdir()
    (folder / "private/plan.txt").write_text("CANARY\n")
    own = nanocoder.home / ".config/nanocoder"
    own.mkdir(parents=True, exist_ok=True)
    (own / "config.toml").write_text('[plugins.policy-rules]\ndeny = ["read_file(private/**)"]\n')
    for path in ("private/plan.txt", "PRIVATE/plan.txt", "Private/PLAN.TXT"):
        result = call(nanocoder, folder, "read_file", path=path)
        assert result["status"] != "ok", path
        assert "CANARY" not in json.dumps(result)
    found = call(nanocoder, folder, "grep", pattern="CANARY", path="PRIVATE")
    assert "plan.txt" not in found["output"].casefold()


def test_a_name_gets_another_spelling(nanocoder, folder):
    (folder / "README").write_text("read me\n")
    (folder / "Src").mkdir()
    (folder / "Src/main.py").write_text("")
    (folder / "README.1").write_text("another\n")
    for source, destination in (("README", "Readme"), ("Src/main.py", "Src/Main.py")):
        moved = call(nanocoder, folder, "move_file", source=source, destination=destination)
        assert moved["status"] == "ok", moved["output"]
        assert moved["data"]["replaced"] is False
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    assert names == ["README.1", "Readme", "Src", "Src/Main.py"]
    assert (folder / "Readme").read_text() == "read me\n"
    assert (folder / "README.1").read_text() == "another\n"
    other = call(nanocoder, folder, "move_file", source="README.1", destination="README")
    assert "exists" in other["output"]
    again = call(nanocoder, folder, "move_file", source="Src", destination="src")
    assert "'Src' and 'src' are the same folder here" in again["output"]
    assert (folder / "Readme").read_text() == "read me\n"
