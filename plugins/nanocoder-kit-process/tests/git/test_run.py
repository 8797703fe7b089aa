"""How git is run: its input, its time, its end."""

import threading
import time

import pytest
from nanocoder import Cancel, Cancelled
from nanocoder_kit_process.git import git
from nanocoder_kit_process.git.run import POLL_S

IDENTITY = {
    f"GIT_{who}_{what}": "a@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


def test_git_reads_all_of_a_long_input_however_slow_it_is(tmp_path):
    git(tmp_path, "init", "-q")
    slow = ("-c", f"alias.slow=!sleep {4 * POLL_S}; git hash-object --stdin", "slow")
    feed = b"line\n" * 200_000
    at_once = git(tmp_path, "hash-object", "--stdin", feed=feed)
    assert git(tmp_path, *slow, feed=feed, limit_s=10) == at_once


def test_git_that_is_cancelled_removes_its_locks(tmp_path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-qm", "first", "--allow-empty", variables=IDENTITY)
    commit = git(tmp_path, "rev-parse", "HEAD").decode().strip()
    heads, cancel = tmp_path / ".git/refs/heads", Cancel()

    def cancel_at_the_first_lock():
        until = time.monotonic() + 30
        while not list(heads.glob("b*.lock")) and time.monotonic() < until:
            time.sleep(0.001)
        cancel.set()

    watching = threading.Thread(target=cancel_at_the_first_lock)
    watching.start()
    feed = "".join(f"create refs/heads/b{number} {commit}\n" for number in range(20_000))
    with pytest.raises(Cancelled):
        git(tmp_path, "update-ref", "--stdin", cancel=cancel, feed=feed.encode())
    watching.join()
    assert len(list(heads.glob("*.lock"))) <= 1  # of thousands: one that git was about to note
