"""The chain finds every change, and survives a kill."""

import io
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
from nanocoder_policy_audit.chain import Chain, Link, link_of, problems_of, records_of, seal
from nanocoder_policy_audit.log import AuditLog, LogError

WRITER = """
import sys
from pathlib import Path
from nanocoder_policy_audit.log import AuditLog
log = AuditLog(Path(sys.argv[1]))
print("begun", flush=True)
for number in range(100_000):
    log.append({"event": "test", "number": number, "text": "x" * 2_000})
"""


def filled(folder, count=20):
    log = AuditLog(folder)
    for number in range(count):
        log.append({"event": "test", "number": number, "text": "naïve \u2028 \ud800"})
    return log


def problems(content, head, anchor=""):
    return [problem.text for problem in problems_of(io.BytesIO(content), head, anchor)]


@pytest.mark.contract("L4")
@pytest.mark.contract("W11")
def test_every_byte_that_changes_is_found(tmp_path):
    log = filled(tmp_path, 4)
    content, head = log.path.read_bytes(), log.head()
    assert problems(content, head) == []
    assert head.seq == 4
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x01
        assert problems(bytes(changed), head), place


def test_removed_moved_added_and_missing_lines_are_found(tmp_path):
    log = filled(tmp_path, 6)
    head, lines = log.head(), log.path.read_bytes().splitlines(keepends=True)
    for place in range(6):
        without = b"".join(lines[:place] + lines[place + 1 :])
        assert problems(without, head)
        assert problems(b"".join(lines[:place] + lines[place : place + 1] * 2), head)
    assert problems(b"".join(reversed(lines)), head)
    assert problems(b"".join(lines[:5]), head) == [
        f"the log ends with record 5; it should hold record 6 ({head.hash[:12]}…)"
    ]
    assert problems(b"", head)
    for end in range(len(lines[-1])):
        assert problems(b"".join(lines[:5]) + lines[5][:end], head)


def test_a_chain_that_was_made_anew_lacks_the_hash_that_was_kept_elsewhere(tmp_path):
    log = filled(tmp_path / "real", 3)
    kept_hash = log.head().hash
    forged = filled(tmp_path / "forged", 5)
    content = forged.path.read_bytes()
    assert problems(content, forged.head()) == []
    assert problems(content, forged.head(), kept_hash) == [f"no record has the hash {kept_hash}"]
    log.append({"event": "test"})
    assert problems(log.path.read_bytes(), log.head(), kept_hash) == []


def test_a_kill_leaves_a_chain_that_verifies_and_goes_on(tmp_path):
    log = AuditLog(tmp_path)
    chance = random.Random(3)
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        with writer:
            assert writer.stdout.readline() == b"begun\n"
            time.sleep(chance.uniform(0.02, 0.2))
            os.kill(writer.pid, signal.SIGKILL)
        log.append({"event": "test"})
        found = problems(log.path.read_bytes(), log.head())
        assert found == []


def test_torn_bytes_are_cut_off_and_recorded(tmp_path):
    log = filled(tmp_path, 3)
    whole = log.path.read_bytes()
    with log.path.open("ab") as file:
        file.write(whole.splitlines()[0][:100])
    [torn] = problems(log.path.read_bytes(), log.head())
    assert torn == "the line is cut off: a record was being written when its process ended"
    AuditLog(tmp_path).append({"event": "test"})
    gap, after = list(records_of(log.path))[3:]
    assert (gap["event"], gap["torn_bytes"], after["event"]) == ("gap", 100, "test")
    assert log.path.read_bytes().startswith(whole)
    assert problems(log.path.read_bytes(), log.head()) == []


def test_records_that_were_cut_away_stay_missing(tmp_path):
    log = filled(tmp_path, 5)
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:3]))
    log.append({"event": "test"})
    assert problems(log.path.read_bytes(), log.head()) == ["2 records were missing before this one"]


@pytest.mark.contract("W11")
@pytest.mark.parametrize("is_full", [False, True])
def test_a_log_whose_head_was_removed_says_so_for_good(tmp_path, is_full):
    log = filled(tmp_path, 5)
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:3]))
    if is_full:
        log.path.rename(tmp_path / "audit-000000000003.jsonl")
    log.head_path.unlink()
    AuditLog(tmp_path).append({"event": "test"})
    AuditLog(tmp_path).append({"event": "test"})
    content = b"".join(path.read_bytes() for path in log.files())
    missing = "records may be missing before this one: the head was removed"
    assert problems(content, log.head()) == [missing]


def test_a_first_record_that_was_torn_is_no_cut(tmp_path):
    log = filled(tmp_path / "other", 1)
    (tmp_path / "audit.jsonl").write_bytes(log.path.read_bytes()[:100])
    (tmp_path / "audit.jsonl").chmod(0o600)
    log = AuditLog(tmp_path)
    log.append({"event": "test"})
    assert problems(log.path.read_bytes(), log.head()) == []


def test_a_changed_last_line_is_not_continued(tmp_path):
    log = filled(tmp_path, 3)
    log.path.write_bytes(log.path.read_bytes()[:-10] + b"0" * 7 + b'"}\n')
    with pytest.raises(LogError, match="its last line is no record; `nanocoder audit verify`"):
        AuditLog(tmp_path).append({"event": "test"})


def test_several_processes_and_threads_write_one_chain(tmp_path):
    code = WRITER.replace("100_000", "40")
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    log = AuditLog(tmp_path)
    threads = [
        threading.Thread(target=lambda: [log.append({"event": "thread"}) for _ in range(20)])
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert log.head() == Link(180, log.head().hash)
    assert problems(log.path.read_bytes(), log.head()) == []


def test_only_its_owner_may_have_the_file(tmp_path):
    log = filled(tmp_path / "log", 1)
    for path in (log.path, log.head_path):
        assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert oct(log.path.parent.stat().st_mode & 0o777) == "0o700"
    log.path.chmod(0o644)
    with pytest.raises(LogError, match="is open to other users: chmod 600"):
        AuditLog(log.path.parent).append({"event": "test"})
    log.path.unlink()
    log.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LogError, match="symbolic links"):
        AuditLog(log.path.parent).append({"event": "test"})
    assert not (tmp_path / "elsewhere").exists()


def small(folder, count, max_bytes=2_000):
    """Return a log whose files take few records, with *count* records."""
    log = AuditLog(folder, max_bytes)
    for number in range(count):
        log.append({"event": "test", "number": number, "text": "x" * 300})
    return log


def whole(log, head=None):
    """Return the problems of a log over all of its files."""
    chain = Chain(head or log.head())
    texts = []
    for path in log.files():
        with path.open("rb") as file:
            texts += [problem.text for problem in chain.problems_of(file)]
    return texts + [problem.text for problem in chain.problems_at_end()]


@pytest.mark.contract("L4")
def test_a_full_file_is_closed_and_the_chain_goes_on_in_a_new_one(tmp_path):
    log = small(tmp_path, 20)
    names = [path.name for path in log.files()]
    assert len(names) == 5
    assert names[0] == "audit-000000000004.jsonl"
    assert names[-1] == "audit.jsonl"
    numbers = [record["number"] for path in log.files() for record in records_of(path)]
    assert numbers == list(range(20))
    assert whole(log) == []
    assert {path.stat().st_mode & 0o777 for path in log.files()} == {0o600}
    # Another process goes on where this one stopped, also where it stopped between two files.
    small(tmp_path, 1)
    assert whole(log) == []
    log.path.rename(tmp_path / "audit-000000000021.jsonl")
    small(tmp_path, 1)
    assert [record["seq"] for record in records_of(log.path)] == [22]
    assert whole(log) == []


def test_a_file_that_is_missing_changed_or_moved_is_found(tmp_path):
    log = small(tmp_path, 20)
    second = log.files()[1]
    content = second.read_bytes()
    second.unlink()
    assert whole(log) == ["4 records before record 9 cannot be found"]
    second.write_bytes(content.replace(b'"number":5', b'"number":6'))
    assert whole(log) == ["the line was changed: its hash is not that of its bytes"]
    second.write_bytes(content)
    second.chmod(0o600)
    assert whole(log) == []
    second.rename(tmp_path / "audit-000000000099.jsonl")
    assert len(whole(log)) > 1
    (tmp_path / "audit-000000000999.jsonl").write_bytes(b"no record")
    log.path.unlink()
    with pytest.raises(LogError, match="was changed"):
        small(tmp_path, 1)


def test_a_new_file_of_the_size_that_a_process_knows_is_not_taken_for_the_old_one(tmp_path):
    ours, theirs = AuditLog(tmp_path, 4_000), AuditLog(tmp_path, 4_000)
    for others in range(30):  # one of these numbers fills just one file
        ours.append({"event": "test", "text": "x" * 200})
        for _ in range(others):
            theirs.append({"event": "test", "text": "x" * 200})
    assert whole(ours) == []
    assert sum(1 for path in ours.files() for _ in records_of(path)) == 30 + sum(range(30))


def test_several_processes_fill_files_together(tmp_path):
    code = (
        "import sys; from pathlib import Path; from nanocoder_policy_audit.log import AuditLog\n"
        "log = AuditLog(Path(sys.argv[1]), 4_000)\n"
        "for number in range(60): log.append({'event': 'test', 'text': 'x' * 200})"
    )
    argv = [sys.executable, "-c", code, str(tmp_path)]
    writers = [subprocess.Popen(argv) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    log = AuditLog(tmp_path)
    assert sum(1 for path in log.files() for _ in records_of(path)) == 180
    assert len(log.files()) > 5
    assert whole(log) == []


WRONG_HEADS = (
    '{"seq":1e999,"hash":"x"}',
    '{"seq":-5,"hash":"x"}',
    '{"seq":true,"hash":[]}',
    '{"seq":"3","hash":"x"}',
    "[" * 1_000,
    "\0" * 100,
    "",
)


@pytest.mark.contract("W11")
@pytest.mark.parametrize("text", WRONG_HEADS)
def test_a_head_that_is_none_counts_as_removed(tmp_path, text):
    log = filled(tmp_path, 3)
    log.head_path.write_text(text)
    assert log.head() is None
    AuditLog(tmp_path).append({"event": "test"})
    missing = "records may be missing before this one: the head was removed"
    assert problems(log.path.read_bytes(), log.head()) == [missing]


@pytest.mark.contract("W11")
@pytest.mark.parametrize("others", [3, 5])
def test_records_that_were_replaced_at_the_end_stay_replaced(tmp_path, others):
    log = filled(tmp_path, 6)
    lines = log.path.read_bytes().splitlines(keepends=True)[:3]
    link = link_of(lines[-1])
    for _ in range(others):
        line, link = seal(link, "2026-11-28T10:00:00", {"event": "forged"})
        lines.append(line)
    log.path.write_bytes(b"".join(lines))
    assert len(problems(log.path.read_bytes(), log.head())) == 1
    AuditLog(tmp_path).append({"event": "test"})
    replaced = "a record before this one was replaced: the one that the head named is not there"
    assert problems(log.path.read_bytes(), log.head()) == [replaced]


def test_a_head_that_was_not_written_before_a_kill_hides_nothing(tmp_path):
    log = small(tmp_path, 9)
    head = log.head_path.read_bytes()
    small(tmp_path, 9)  # they begin new files
    log.head_path.write_bytes(head)
    small(tmp_path, 1)
    assert whole(log) == []


@pytest.mark.contract("W11")
def test_what_a_model_names_makes_no_line_too_long(tmp_path):
    log = filled(tmp_path, 1)
    log.append({"event": "called", "call": "c" * 3_000_000, "tags": ["t" * 90] * 90_000})
    log.append({"event": "called", "call": "c" * 3_000_001})
    AuditLog(tmp_path).append({"event": "test"})
    assert problems(log.path.read_bytes(), log.head()) == []
    calls = [record["call"] for record in records_of(log.path) if "call" in record]
    assert len(set(calls)) == 2
    assert max(map(len, log.path.read_bytes().splitlines())) < 20_000


def test_a_log_that_is_written_and_closed_meanwhile_is_read_as_one(tmp_path):
    code = WRITER.replace("AuditLog(Path(sys.argv[1]))", "AuditLog(Path(sys.argv[1]), 8_000)")
    argv = [sys.executable, "-c", code, str(tmp_path)]
    log, counts = filled(tmp_path, 1), []
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout.readline() == b"begun\n"
            while len(counts) < 30 or counts[-1] < 30:
                with log.opened() as (head, files):
                    chain = Chain(head)
                    texts = [it.text for file in files for it in chain.problems_of(file.lines())]
                    assert texts + [it.text for it in chain.problems_at_end()] == []
                    counts.append(chain.count)
        finally:
            writer.kill()
    assert counts == sorted(counts)


@pytest.mark.parametrize("name", ["audit.jsonl", "audit-000000000001.jsonl"])
def test_what_is_no_file_is_not_read_as_one(tmp_path, name):
    log = filled(tmp_path, 2)
    (tmp_path / name).unlink(missing_ok=True)
    for make in (os.mkfifo, os.mkdir, lambda path: path.symlink_to("/etc/passwd")):
        make(tmp_path / name)
        is_named = name != "audit.jsonl"
        if not is_named:
            with pytest.raises(LogError):
                AuditLog(tmp_path).append({"event": "test"})
        if is_named or log.files():
            with pytest.raises(OSError, match=r"."), log.opened():
                pass
        (tmp_path / name).rename(tmp_path / f"was{len(list(tmp_path.iterdir()))}")
