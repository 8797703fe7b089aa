"""The journal: a record is whole or not at all, whatever happens to the program or the disk."""

import json
import os
import random
import subprocess
import sys
import threading
import zlib

import pytest
from nanocoder import Message, ToolCall, ToolResult, UsageError, encode_message
from nanocoder_kit_sessions import Record, SessionStore
from nanocoder_kit_sessions.records import SEAL, SEAL_BYTES, read
from nanocoder_kit_sessions.transcript import repaired


def encode(result):
    return encode_message(Message("tool", results=(result,)))["results"][0]


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state")


@pytest.fixture
def begun(store, tmp_path):
    """A session with a prompt and an answer that wants two calls, one of which finished."""
    session_id, journal = store.create(tmp_path, "acme/large", "ask")
    calls = (ToolCall("1", "read_file", {"path": "a"}), ToolCall("2", "bash", {"command": "make"}))
    journal.append("message", encode_message(Message("user", "Fix the bug")))
    journal.append(
        "message",
        {**encode_message(Message("assistant", "Yes.", calls)), "usage": {"input_tokens": 5}},
    )
    journal.append("call.started", {"call": {"id": "1"}})
    journal.append("call.finished", {"result": encode(ToolResult("content", call_id="1"))})
    journal.append("call.started", {"call": {"id": "2"}})
    journal.close()
    return store.folder / f"{session_id}.jsonl"


def results_of(transcript):
    return [
        (one.call_id, one.output, one.error_class)
        for message in transcript.messages
        for one in message.results
    ]


def test_records_come_back_numbered_in_order(begun):
    records = read(begun)
    assert [record.seq for record in records] == [1, 2, 3, 4, 5, 6]
    assert records[0].kind == "session.started"
    assert records[0].data["model"] == "acme/large"
    assert [record.turn for record in records] == [0, 0, 1, 1, 1, 1]
    assert sorted(record.at for record in records) == [record.at for record in records]


def test_every_line_is_json_that_others_can_read(begun):
    lines = [json.loads(line) for line in begun.read_text().splitlines()]
    assert set(lines[0]) == {"seq", "kind", "at", "turn", "prompts", "data", "crc"}


# SESS-004
def test_interrupted_calls_get_a_result_and_finished_ones_keep_theirs(begun):
    transcript = repaired(read(begun))
    assert [message.role for message in transcript.messages] == ["user", "assistant", "tool"]
    interrupted = "interrupted: the program ended before this call finished"
    assert results_of(transcript) == [("1", "content", ""), ("2", interrupted, "interrupted")]
    assert [call.name for call in transcript.interrupted] == ["bash"]
    assert (transcript.model, transcript.mode, transcript.title) == (
        "acme/large",
        "ask",
        "Fix the bug",
    )
    assert transcript.turns == 1


def test_a_result_message_is_the_last_word_and_doubles_count_once(store, tmp_path):
    _, journal = store.create(tmp_path)
    calls = (ToolCall("1", "a"), ToolCall("2", "b"))
    results = (
        ToolResult("shown", call_id="1"),
        ToolResult("again", call_id="1"),
        ToolResult("orphan", call_id="9"),
    )
    journal.append("message", encode_message(Message("assistant", calls=calls)))
    journal.append("call.finished", {"result": encode(ToolResult("logged", call_id="1"))})
    journal.append("call.finished", {"result": encode(ToolResult("noted", call_id="2"))})
    journal.append("message", encode_message(Message("tool", results=results)))
    journal.append("message", encode_message(Message("tool", results=results)))
    assert results_of(repaired(read(journal.path))) == [("1", "shown", ""), ("2", "noted", "")]


def test_ids_that_a_provider_uses_again_in_the_next_turn_are_not_mixed_up(store, tmp_path):
    _, journal = store.create(tmp_path)
    for output in ("first", ""):
        journal.append("message", encode_message(Message("assistant", calls=(ToolCall("1", "a"),))))
        if output:
            journal.append("call.finished", {"result": encode(ToolResult(output, call_id="1"))})
    found = [result[1:] for result in results_of(repaired(read(journal.path)))]
    assert found[0] == ("first", "")
    assert found[1][1] == "interrupted"


def test_a_compacted_transcript_replaces_what_was_before(store, tmp_path):
    _, journal = store.create(tmp_path)
    for text in ("long", "longer"):
        journal.append("message", encode_message(Message("user", text)))
        journal.append("message", encode_message(Message("assistant", text)))
    journal.append(
        "transcript.compacted", {"messages": [encode_message(Message("user", "in short"))]}
    )
    journal.append("message", encode_message(Message("assistant", "on we go")))
    transcript = repaired(read(journal.path))
    assert [message.text for message in transcript.messages] == ["in short", "on we go"]
    assert (transcript.turns, transcript.title) == (3, "long")


@pytest.mark.contract("G3")
def test_what_was_rewound_is_in_the_journal_and_not_in_the_transcript(store, tmp_path):
    _, journal = store.create(tmp_path, "a/b")
    journal.append("message", encode_message(Message("user", "one")))
    journal.append("message", encode_message(Message("assistant", "ONE")))
    second = journal.append("run.started", {"prompt": "two"})
    journal.append("message", encode_message(Message("user", "two")))
    journal.append("session.changed", {"model": "c/d"})
    journal.append("transcript.compacted", {"messages": [encode_message(Message("user", "tiny"))]})
    journal.append("message", encode_message(Message("assistant", "TWO")))
    journal.append("transcript.rewound", {"from": second})
    journal.append("message", encode_message(Message("user", "three")))
    transcript = repaired(read(journal.path))
    assert [message.text for message in transcript.messages] == ["one", "ONE", "three"]
    assert transcript.model == "c/d", "what a person changed since is not taken back"
    assert b"TWO" in journal.path.read_bytes()
    before = store.transcript(journal.id, before=second)
    assert [message.text for message in before.messages] == ["one", "ONE"]


@pytest.mark.parametrize("start", ["3", None, 2.5, [1]])
def test_a_rewind_to_nowhere_is_passed_over(store, tmp_path, start):
    _, journal = store.create(tmp_path)
    journal.append("message", encode_message(Message("user", "one")))
    journal.append("transcript.rewound", {"from": start})
    assert [message.text for message in repaired(read(journal.path)).messages] == ["one"]


def test_changes_of_model_and_mode_and_unknown_kinds_are_taken_as_they_come(store, tmp_path):
    _, journal = store.create(tmp_path, "a/b", "ask")
    journal.append("session.changed", {"model": "c/d", "mode": "plan", "title": 3})
    journal.append("from.the.future", {"anything": [1]})
    transcript = repaired(read(journal.path))
    assert (transcript.model, transcript.mode, transcript.title) == ("c/d", "plan", "")
    assert read(journal.path)[-1].data == {"anything": [1]}


def test_any_cut_leaves_a_valid_transcript(begun):
    whole = begun.read_bytes()
    for length in range(len(whole)):
        begun.write_bytes(whole[:length])
        records = read(begun)
        assert len(records) == whole[:length].count(b"\n")
        transcript = repaired(records)
        wanted = [call.id for message in transcript.messages for call in message.calls]
        assert [result[0] for result in results_of(transcript)] == wanted


def test_a_flipped_byte_loses_the_line_that_it_is_in(begun):
    whole = begun.read_bytes()
    numbers = [record.seq for record in read(begun)]
    for place in random.Random(1).sample(range(len(whole)), 200):
        damaged = bytearray(whole)
        damaged[place] ^= 0x15
        begun.write_bytes(damaged)
        line = whole[:place].count(b"\n")
        # Without its line break a line runs into the next one.
        lost = numbers[line : line + 1 + (whole[place : place + 1] == b"\n")]
        assert [record.seq for record in read(begun)] == [n for n in numbers if n not in lost]


@pytest.mark.parametrize(
    ("order", "kept"),
    [
        ([0, 1, 3], [1, 2, 4]),
        ([0, 1, 1, 2], [1, 2, 3]),
        ([0, 1, 3, 2], [1, 2, 4]),
        ([2, 3], [3, 4]),
    ],
)
def test_a_gap_is_passed_over_and_no_number_counts_twice(begun, order, kept):
    lines = begun.read_bytes().splitlines(keepends=True)
    begun.write_bytes(b"".join(lines[place] for place in order))
    assert [record.seq for record in read(begun)] == kept


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 5000,
        b"\n\n\n",
        b"{}\n",
        b"[" * 200_000 + b"\n",
        random.Random(1).randbytes(5000),
        b"null\n" * 9,
    ],
)
def test_garbage_is_an_empty_journal(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    assert read(tmp_path / "j") == []


@pytest.mark.parametrize(
    "data",
    [
        *({"seq": "1"}, {"data": []}, {"kind": None}, {"at": "noon"}),
        *({"at": float("inf")}, {"at": float("nan")}, {"at": 10**400}, {"turn": float("inf")}),
    ],
)
def test_a_record_of_the_wrong_shape_is_no_record(data):
    import zlib

    body = json.dumps({"seq": 1, "kind": "k", "at": 1.0, "turn": 0, "data": {}, **data}).encode()[
        :-1
    ]
    assert Record.of_line(body + b',"crc":"%08x"}\n' % zlib.crc32(body)) is None


def test_a_byte_order_mark_before_the_first_record_does_no_harm(begun):
    begun.write_bytes(b"\xef\xbb\xbf" + begun.read_bytes())
    assert len(read(begun)) == 6


# SESS-017
@pytest.mark.parametrize("spelling", [b"ud800", b"uD800", b"uDBFF", b"udfff"])
def test_halves_of_surrogate_pairs_cannot_spoil_the_next_request(spelling):
    line = Record(1, "message", 1.0, {"text": "a\ud800b \U0001f600"}).line()
    body = line[:-SEAL_BYTES].replace(b"ud800", spelling)
    record = Record.of_line(body + SEAL % zlib.crc32(body))
    assert record.data["text"].encode() == "a?b \U0001f600".encode()


@pytest.mark.parametrize("data", [{"a": object()}, {("a",): 1}, {"a": {1, 2}}, {"a": b"x"}])
def test_data_that_is_not_ready_for_json_costs_no_record(data):
    assert Record.of_line(Record(1, "k", 1.0, data).line()).seq == 1


def test_records_of_many_threads_are_all_there(store, tmp_path):
    _, journal = store.create(tmp_path)

    def write(name):
        for number in range(100):
            journal.append("event", {"name": name, "number": number, "text": "x" * 3000})

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = read(journal.path)
    assert len(records) == 401
    for name in "abcd":
        mine = [record.data["number"] for record in records if record.data.get("name") == name]
        assert mine == list(range(100))


def test_a_journal_that_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("fifo", "link", "missing", "."):
        with pytest.raises(UsageError):
            read(tmp_path / name)


FULL_DISK = """
import resource, sys
from pathlib import Path
from nanocoder_kit_sessions import SessionStore
from nanocoder_kit_sessions.records import read
said = []
store = SessionStore(Path(sys.argv[1]), warn=said.append)
_, journal = store.create(Path("/"))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
for number in range(100):
    journal.append("event", {"number": number, "text": "x" * 500})
full = journal.path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
whole = len(read(journal.path))
last = journal.append("event", {"number": 100}, sync=True)
journal.close()
numbers = [record.data.get("number") for record in read(journal.path)]
print(full.endswith(b"\\n"), 5 < whole < 20, last, numbers == [None, *range(101)], len(said))
print(said[0])
"""


def test_a_full_disk_is_told_once_and_what_waited_is_written_when_there_is_room(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path / "state"],
        capture_output=True,
        text=True,
        check=True,
    )
    facts, warning = done.stdout.splitlines()
    assert facts == "True True 102 True 1"
    assert "cannot be written to" in warning
    assert "it continues in memory" in warning


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from nanocoder import Message, ToolCall, ToolResult, encode_message
from nanocoder_kit_sessions import SessionStore
from nanocoder_kit_sessions.transcript import repaired

def write(store, acknowledge):
    session_id, journal = store.create(Path("/"), "scripted/x", "auto")
    os.write(acknowledge, session_id.encode() + b"\\n")
    def append(kind, data):
        os.write(acknowledge, b"%d\\n" % journal.append(kind, data))
    for turn in range(10_000):
        append("message", encode_message(Message("user", "prompt " * random.randrange(3000))))
        calls = tuple(ToolCall(str(number), "bash", {"n": turn}) for number in range(3))
        append("message", encode_message(Message("assistant", "answer", calls)))
        results = []
        for call in calls:
            append("call.started", {"call": {"id": call.id}})
            results.append(ToolResult(f"{turn}", call_id=call.id))
            append("call.finished", {"result": {"output": f"{turn}", "call_id": call.id}})
        append("message", encode_message(Message("tool", results=tuple(results))))

def killed(store, after_s):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        write(store, theirs)
    os.close(theirs)
    first = os.read(ours, 1)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(ours, "rb") as pipe:
        lines = (first + pipe.read()).split(b"\\n")
    acknowledged = [int(line) for line in lines[1:-1]]
    return lines[0].decode(), max(acknowledged, default=1)

def check(store, session_id, acknowledged):
    records, journal = store.open(session_id)
    assert len(records) >= acknowledged, (len(records), acknowledged)
    transcript = repaired(records)
    roles = [message.role for message in transcript.messages]
    for before, after in zip(roles, roles[1:]):
        assert (before, after) in {("user", "assistant"), ("assistant", "tool"), ("tool", "user")}
    assert not roles or roles[-1] != "assistant"
    finished = sum(record.kind == "call.finished" for record in records)
    results = [one for message in transcript.messages for one in message.results]
    assert sum(not one.is_error for one in results) == finished
    assert journal.append("event", {}) == len(records) + 2
    journal.close()
    assert len(store.open(session_id)[0]) == len(records) + 2
    return len(records)

torn = []
store = SessionStore(Path(sys.argv[1]), warn=torn.append)
moments = random.Random(7)
counts = []
# A busy machine writes fewer records in this time, so that more kills hit the same ones.
while len(counts) < 200 or (len(set(counts)) <= 50 and len(counts) < 1_000):
    counts.append(check(store, *killed(store, moments.uniform(0, 0.02))))
print(len(counts), len(set(counts)), len(torn))
"""


# SESS-006
@pytest.mark.timeout(120)
def test_a_kill_at_any_moment_loses_no_acknowledged_record(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "state"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kills, different, _ = map(int, done.stdout.split())
    assert kills >= 200
    assert different > 50


TOKEN = "ghp_" + "c" * 36


# INJ-062
def test_no_secret_reaches_the_file_and_the_session_goes_on(tmp_path):
    store = SessionStore(tmp_path)
    session_id, journal = store.create(tmp_path)
    call = {"id": "1", "name": "write_file", "arguments": {"path": TOKEN, "content": f"k={TOKEN}"}}
    reply = {"role": "assistant", "text": f"It is {TOKEN}.", "calls": [call]}
    journal.append("message", {"role": "user", "text": f"Use {TOKEN}", "typed": f"Use {TOKEN}"})
    journal.append("message", {**reply, "native": {"acme": [{"text": TOKEN, "signature": "s"}]}})
    journal.append("call.finished", {"call_id": "1", "result": {"output": TOKEN, "call_id": "1"}})
    journal.append("message", {"role": "assistant", "text": "x", "native": {"acme": ["kept"]}})
    journal.close()
    assert TOKEN not in store.path(session_id).read_text()
    user, assistant, results, last = store.resume(session_id).messages
    assert user.typed == user.text == "Use [secret: github-token]"
    assert assistant.text == "It is [secret: github-token]."
    secret = "[secret: github-token]"
    assert assistant.calls[0].arguments == {"path": secret, "content": f"k={secret}"}
    assert (assistant.native, last.native) == (None, {"acme": ["kept"]})
    assert results.results[0].output == "[secret: github-token]"


@pytest.mark.parametrize("unit", ["word ", "\U0001f600\n", '"\\\t', "a\ud800"])
@pytest.mark.parametrize("others", [{}, {"role": "user", "n": 1, "more": "x" * 200_000}])
def test_a_long_text_is_written_in_pieces_and_read_whole(unit, others):
    data = {"text": unit * 100_000, **others}
    line = Record(7, "message", 1.0, data, title="a title").line()
    record = Record.of_line(bytes(line))
    assert (record.seq, record.title) == (7, "a title")
    assert record.data == {**data, "text": data["text"].replace("\ud800", "?")}
