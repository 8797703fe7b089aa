"""Files of our own that grow by whole pieces, or are kept as long as there is room."""

import os

import pytest
from nanocoder_files import append_all, keep_file, open_private


def test_a_file_is_kept_under_a_harmless_name_that_was_free(tmp_path):
    folder = tmp_path / "kept"
    names = ["out.txt", "out.txt", "../../etc/passwd", "", "a/b c", ".hidden", "x" * 300]
    paths = [keep_file(folder, name, name.encode()) for name in names]
    assert {path.parent for path in paths} == {folder}
    assert len(set(paths)) == len(names)
    assert (folder / "1-out.txt").read_bytes() == b"out.txt"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_oldest_files_go_for_a_new_one(tmp_path):
    for number in range(3):
        path = keep_file(tmp_path, f"{number}", b"x" * 40, limit_bytes=100)
        os.utime(path, (number, number))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]
    assert keep_file(tmp_path, "large", b"x" * 101, limit_bytes=100) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_what_cannot_be_written_as_a_whole_leaves_nothing(tmp_path, monkeypatch):
    real_write = os.write
    room = [6]

    def write_until_full(descriptor, data):
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = real_write(descriptor, data[: room[0]])
        room[0] -= written
        return written

    path = tmp_path / "log"
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        monkeypatch.setattr(os, "write", write_until_full)
        size = append_all(descriptor, b"abcd", 0, sync=True)
        with pytest.raises(OSError, match="No space left"):
            append_all(descriptor, b"efgh", size)
    finally:
        os.close(descriptor)
    assert path.read_bytes() == b"abcd"
