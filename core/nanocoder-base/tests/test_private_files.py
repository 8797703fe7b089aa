"""Files of our own: no trap is opened, no reader sees half a file, one process holds a lock."""

import errno
import multiprocessing
import os
import socket
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from nanocoder_files import append_all, holding, lock_file, open_private, replace_file


def _link(path: Path) -> None:
    path.with_name("other").write_text("secret")
    path.symlink_to("other")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


TRAPS = {
    "a link": (_link, errno.ELOOP),
    "a pipe": (os.mkfifo, errno.EINVAL),
    "a folder": (os.mkdir, errno.EINVAL),
    "a socket": (_socket, errno.ENXIO),
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("trap", TRAPS)
def test_only_a_regular_file_is_opened(tmp_path, trap):
    make, number = TRAPS[trap]
    make(tmp_path / "file")
    with pytest.raises(OSError, match="file") as caught:
        open_private(tmp_path / "file")
    assert caught.value.errno == number


def test_a_link_is_followed_where_a_person_may_have_made_it(tmp_path):
    _link(tmp_path / "file")
    with os.fdopen(open_private(tmp_path / "file", follow_link=True)) as file:
        assert file.read() == "secret"


def test_a_new_file_is_private_and_an_old_one_keeps_its_permissions(tmp_path):
    path = tmp_path / "folder/file"
    replace_file(path, b"one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    replace_file(path, b"two")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two", 0o640)
    assert os.listdir(path.parent) == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "file"
    replace_file(path, b"old")

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_threads_that_write_at_once_leave_one_whole_file(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([65 + number]) * 100_000 for number in range(8)]
    threads = [threading.Thread(target=replace_file, args=(path, text)) for text in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents


def test_the_leftovers_of_killed_writers_go(tmp_path):
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    (tmp_path / f".file.{ended.pid}").write_text("half")
    (tmp_path / ".file.1").write_text("another process is writing")
    replace_file(tmp_path / "file", b"new")
    assert sorted(os.listdir(tmp_path)) == [".file.1", "file"]


def _try(path, answers):
    descriptor = os.open(path, os.O_RDWR)
    try:
        lock_file(descriptor, wait=False)
        answers.put("free")
    except BlockingIOError:
        answers.put("taken")


def _answer_of_another_process(path):
    answers = multiprocessing.Queue()
    process = multiprocessing.Process(target=_try, args=(path, answers))
    process.start()
    process.join()
    return answers.get()


@pytest.mark.timeout(30)
def test_a_lock_is_held_until_its_block_ends(tmp_path):
    path = tmp_path / "folder/file.lock"
    with holding(path):
        assert _answer_of_another_process(path) == "taken"
    assert _answer_of_another_process(path) == "free"


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
