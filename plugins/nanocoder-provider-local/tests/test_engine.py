"""The engine's process: it starts late, can be left at any moment, and its end is an error."""

import io
import os
import signal
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from nanocoder import (
    Cancel,
    Cancelled,
    Message,
    Notice,
    ProviderError,
    Request,
    ThinkingDelta,
    ToolDefinition,
)
from nanocoder_provider_local import engine as engine_module
from nanocoder_provider_local.engine import Engine
from nanocoder_provider_local.progress import Report
from nanocoder_provider_local.provider import LocalProvider
from nanocoder_provider_local.settings import Settings

pytestmark = pytest.mark.timeout(60)
BODY = {"messages": [{"role": "user", "content": "Hi"}]}


def test_a_model_that_is_being_loaded_can_be_left(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # A pipe that nobody writes to is a file that is read for ever.
    os.mkfifo(tmp_path / "model.gguf")
    engine = Engine(lambda _progress: tmp_path / "model.gguf", Settings())
    before = children()
    cancel = Cancel()

    def leave():
        while not any(has_engine(pid) for pid in children() - before):
            time.sleep(0.01)
        cancel.set()

    threading.Thread(target=leave).start()
    with pytest.raises(Cancelled):
        list(engine.ask(BODY, None, cancel))
    while children() != before:  # it ends although nobody closes the engine
        time.sleep(0.01)

    engine.close()
    assert [file.name for file in tmp_path.iterdir()] == ["model.gguf"]


def has_engine(pid):
    """Return True if a process has the engine's code in its memory; then it loads the model."""
    return "xllamacpp" in Path(f"/proc/{pid}/maps").read_text()


def children():
    """Return the processes that this one has started and that have not been waited for."""
    pids = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
            pids.update(map(int, (task / "children").read_text().split()))
    return pids


def test_an_engine_that_dies_is_an_error_that_says_how(tmp_path):
    os.mkfifo(tmp_path / "model.gguf")
    engine = Engine(lambda _progress: tmp_path / "model.gguf", Settings())
    before = children()

    def kill():
        while not (started := children() - before):
            time.sleep(0.01)
        os.kill(started.pop(), signal.SIGKILL)

    threading.Thread(target=kill).start()
    with pytest.raises(ProviderError, match="ended by signal 9"):
        list(engine.ask(BODY, None, Cancel()))
    engine.close()


def test_the_joining_of_the_weights_ends_when_nobody_waits_any_more():
    ended = threading.Event()
    begun = threading.Event()

    def join_for_ever(progress):
        try:
            while True:
                begun.set()
                progress(1, 1_000_000, "joining")
                time.sleep(0.01)
        finally:
            ended.set()

    engine = Engine(join_for_ever, Settings())
    cancel = Cancel()
    threading.Thread(target=lambda: (begun.wait(40), cancel.set())).start()
    with pytest.raises(Cancelled):
        list(engine.ask(BODY, None, cancel))

    assert ended.wait(40)
    engine.close()


def test_a_file_that_cannot_be_loaded_is_an_error_each_time(tmp_path, capfd):
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    engine = Engine(lambda _progress: tmp_path / "model.gguf", Settings())

    for _ in range(2):
        with pytest.raises(ProviderError, match="cannot load"):
            list(engine.ask(BODY, None, Cancel()))
    engine.close()

    assert capfd.readouterr() == ("", "")


FAKE = """
import json, os, time
from types import SimpleNamespace

class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(
            model=SimpleNamespace(),
            cpuparams=SimpleNamespace(),
            cpuparams_batch=SimpleNamespace(),
        )

class Server:
    def __init__(self, parameters):
        self.asked = 0

    def handle_chat_completions(self, body, take):
        self.asked += 1
        take({"asked": self.asked})
        said = body["messages"]
        if said == "hang":
            time.sleep(600)
        pipes = (n for n in range(3, 9) if os.path.exists(f"/proc/self/fd/{n}"))
        os.write(next(n for n in pipes if "pipe" in os.readlink(f"/proc/self/fd/{n}")), said)
"""


@pytest.fixture
def fake_library(tmp_path, monkeypatch):
    """Put a llama.cpp on the path that does as it is told; it needs no model."""
    (tmp_path / "xllamacpp.py").write_text(FAKE.replace("said)", "said.encode())"))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture
def engine(tmp_path, fake_library):
    new_engine = Engine(lambda _progress: tmp_path / "model.gguf", Settings())
    yield new_engine
    new_engine.close()


def test_a_request_that_hangs_holds_up_no_other_once_it_is_stopped(engine, monkeypatch):
    monkeypatch.setattr(engine_module, "LATE_S", 0.2)
    cancel = Cancel()
    chunks = engine.ask({"messages": "hang"}, None, cancel)
    assert next(chunks) == {"asked": 1}
    cancel.set()
    with pytest.raises(Cancelled):
        next(chunks)

    assert list(engine.ask({"messages": ""}, None, Cancel())) == [{"asked": 1}]


def test_the_loading_of_the_model_is_told_and_no_second_time(engine):
    provider = LocalProvider("m", engine, Settings())
    request = Request("m", "Be brief.", [Message("user", "Hi")])

    def first_piece():
        with closing(provider.stream(request, Cancel())) as pieces:
            return next(pieces, None)

    assert first_piece() == Notice("loading the embedded model", is_passing=True)
    assert list(engine.ask({"messages": ""}, None, Cancel())) == [{"asked": 1}]
    assert engine.is_loaded
    with pytest.raises(ProviderError):  # this llama.cpp knows no chats
        first_piece()


def test_the_progress_of_the_weights_comes_before_the_reply(tmp_path, fake_library):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def find(progress):
        progress(1, 4, "joining")
        progress(4, 4, "joining")
        return tmp_path / "model.gguf"

    engine = Engine(find, Settings(), Report(tmp_path, Terminal(), Terminal()))
    with closing(engine):
        pieces = list(engine.ask({"messages": ""}, None, Cancel()))
    assert [type(piece) for piece in pieces] == [Notice, Notice, Notice, dict]
    assert pieces[1].text == "joining the embedded model: 25 %"


@pytest.mark.parametrize(
    "noise",
    [
        *("garbage\n", "\x00\n", "5\n", '"end"\n', "[]\n", "{}\n", '{"chunk": 7}\n'),
        *('{"end": 0}\n', '{"end": 2}\n', "[" * 100_000 + "\n"),
    ],
    ids=range(10),
)
def test_what_is_no_part_of_a_reply_ends_the_process_and_not_the_next_request(noise, engine):
    with pytest.raises(ProviderError, match="not part of a reply"):
        list(engine.ask({"messages": noise}, None, Cancel()))

    assert list(engine.ask({"messages": ""}, None, Cancel())) == [{"asked": 1}]


class Chunks:
    """An engine that answers with given chunks."""

    is_loaded = True

    def __init__(self, *chunks):
        self.chunks = chunks

    def ask(self, _body, _schema, _cancel):
        yield from self.chunks


def piece(text, finish=None):
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}


@pytest.mark.parametrize(("reason", "is_cut"), [("stop", False), ("length", True)])
def test_a_reply_says_whether_the_token_limit_cut_it(reason, is_cut):
    provider = LocalProvider("m", Chunks(piece("half"), piece("", reason)), Settings())
    *_, end = provider.stream(Request("", "", [Message("user", "Hi")]), Cancel())
    assert (end.text, end.truncated) == ("half", is_cut)


def test_a_reply_that_makes_its_first_call_again_ends_there_and_makes_each_once():
    look = ToolDefinition("look", "Look.", {"properties": {"at": {"type": "string"}}})
    lines = [f'{{"action": "look", "at": "{place}"}}' for place in "abab"]
    engine = Chunks()
    engine.chunks = iter([piece(f"{line}\n") for line in lines])
    provider = LocalProvider("m", engine, Settings())

    *_, end = provider.stream(Request("", "", [Message("user", "Look")], [look]), Cancel())
    assert [call.arguments for call in end.calls] == [{"at": "a"}, {"at": "b"}]
    assert list(engine.chunks) == [piece(f"{lines[3]}\n")]


def test_thinking_is_no_part_of_the_answer():
    thought = {"choices": [{"delta": {"reasoning_content": "hm"}}]}
    provider = LocalProvider("m", Chunks(thought, piece("yes", "stop")), Settings())
    first, *_, end = provider.stream(Request("", "", [Message("user", "Hi")]), Cancel())
    assert (first, end.text) == (ThinkingDelta("hm"), "yes")


def test_a_reply_without_a_finish_reason_is_no_answer():
    provider = LocalProvider("m", Chunks(piece("half")), Settings())
    with pytest.raises(ProviderError, match="without a finish reason"):
        list(provider.stream(Request("", "", [Message("user", "Hi")]), Cancel()))
