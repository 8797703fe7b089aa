"""What a session keeps beside its records."""

import os

from nanocoder_kit_sessions.artifacts import keep_file


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


def test_a_transcript_in_the_same_folder_stays(tmp_path):
    """A model is told of it, and reads it when it needs what a compaction replaced."""
    transcript = tmp_path / "transcript.txt"
    transcript.write_text("User: hi\n" * 20)
    transcript.chmod(0o600)
    os.utime(transcript, (0, 0))
    for number in range(3):
        path = keep_file(tmp_path, f"{number}", b"x" * 40, limit_bytes=100)
        os.utime(path, (number, number))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", transcript.name]
