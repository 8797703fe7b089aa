"""The file with what compactions have replaced: it grows at its end, and is never read whole."""

import tracemalloc

import pytest
from nanocoder import Message, ToolCall, ToolResult
from nanocoder_kit_sessions.context.transcript import CHUNK_BYTES, TRANSCRIPT, write_transcript

LINE = "x" * 99 + "\n"


def said(text):
    return [Message("user", text, typed=text)]


@pytest.mark.parametrize("written", [0, 1, 20_000])
@pytest.mark.parametrize("taken_back", [0, 1, 30_000])
def test_what_follows_the_lines_that_count_is_replaced(tmp_path, written, taken_back):
    path = tmp_path / TRANSCRIPT
    path.write_text(LINE * (written + taken_back))
    shown, lines = write_transcript(tmp_path, said("one\ntwo"), written)
    assert (shown, lines) == (str(path), written + 2)
    assert path.read_text() == LINE * written + "User: one\ntwo\n"


def test_a_file_that_is_shorter_than_it_was_goes_on_at_its_end(tmp_path):
    (tmp_path / TRANSCRIPT).write_text(LINE)
    assert write_transcript(tmp_path, said("one"), 5)[1] == 2
    assert (tmp_path / TRANSCRIPT).read_text() == f"{LINE}User: one\n"


def test_a_long_file_takes_no_more_memory_than_a_short_one(tmp_path):
    lines = 200 * CHUNK_BYTES // len(LINE)
    (tmp_path / TRANSCRIPT).write_text(LINE * lines)
    write_transcript(tmp_path, said("warm"), lines)
    tracemalloc.start()
    try:
        write_transcript(tmp_path, said("one"), lines + 1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * CHUNK_BYTES


def test_secrets_in_texts_arguments_and_results_are_left_out(tmp_path):
    secret = f"ghp_{'a1B2' * 9}"
    call = ToolCall("c1", "bash", {"command": f"echo {secret}"})
    messages = [
        *said(f"use {secret}"),
        Message("assistant", f"I use {secret}", calls=(call,)),
        Message("tool", results=(ToolResult(f"got {secret}", call_id="c1"),)),
    ]
    write_transcript(tmp_path, messages, 0)
    text = (tmp_path / TRANSCRIPT).read_text()
    assert text.count("[secret: ") == 4
    assert secret not in text
