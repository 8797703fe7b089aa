"""What a command prints is passed on while it runs."""

import threading
import time

from nanocoder_tool_bash.live_output import INTERVAL_S, PIECE_CHARS, LiveOutput


def go_on_when_heard(shell, *words):
    """Make a file of the name of each word as soon as what was passed on has it."""
    for word in words:
        while word not in "".join(text for _, text in shell.pieces):
            time.sleep(0.01)
        (shell.root / word).touch()


def test_what_a_command_prints_is_passed_on_before_it_ends(shell):
    words = ("one", "two")
    threading.Thread(target=go_on_when_heard, args=(shell, *words), daemon=True).start()
    wait = "until [ -e {} ]; do sleep 0.02; done; "
    first, second = map(wait.format, words)
    result = shell(f"echo one; {first}echo two >&2; {second}printf 'caf\\xc3'; printf '\\xa9'")
    assert "".join(text for _, text in shell.pieces) == "one\ntwo\ncafé"
    assert result.output == "one\ncafé\nSTDERR:\ntwo"


def test_of_a_flood_the_end_is_passed_on_in_few_pieces(shell):
    began = time.monotonic()
    shell("head -c 30000000 /dev/zero | tr '\\0' 'a'; echo; echo last")
    took = time.monotonic() - began
    assert len(shell.pieces) <= took / INTERVAL_S + 2
    assert max(len(text) for _, text in shell.pieces) <= PIECE_CHARS
    assert shell.pieces[-1][1].endswith("\nlast\n")


def test_bytes_that_are_no_text_are_not_passed_on(shell):
    result = shell("printf 'a\\0b'")
    assert shell.pieces == []
    assert "binary output" in result.output


def test_a_piece_that_came_too_soon_waits_and_is_not_lost():
    pieces = []
    live = LiveOutput(pieces.append)
    live.add(1, b"a")
    live.pass_on(10.0)
    live.add(2, b"b")
    live.pass_on(10.0 + INTERVAL_S / 2)
    assert pieces == ["a"]
    assert 0 < live.due_s(10.0 + INTERVAL_S / 2) <= INTERVAL_S
    live.pass_on(10.0 + 2 * INTERVAL_S)
    assert pieces == ["a", "b"]
    assert live.due_s(20.0) == float("inf")
