"""What a pipe gets of a run: the answer on standard output, everything else beside it."""

import fcntl
import io
import pty
import struct
import sys
import termios
from contextlib import suppress

import pyte
import pytest
from nanocoder import Event, Mode, SessionInfo
from nanocoder_ui_plain import nanocoder_screens


@pytest.fixture
def shown(tmp_path, capsys):
    """Return a function that shows events, and returns what standard output and error got."""

    def show(*events, **info):
        (screen,) = nanocoder_screens()
        display = screen.open(SessionInfo("s", tmp_path, **info), None)
        for kind, data in events:
            display.show(Event(kind, data))
        display.close()
        return capsys.readouterr()

    return show


def everything(seen):
    """Return all that was written to a terminal that nobody writes to any more."""
    pieces = []
    with suppress(OSError):  # that is how Linux says that it is the end
        while piece := seen.read(4_096):
            pieces.append(piece)
    return b"".join(pieces).decode()


def text(piece):
    return ("text", {"text": piece})


def test_the_answer_alone_is_on_standard_output_and_ends_its_line(shown):
    call = ("call.started", {"tool": "grep", "arguments": {"pattern": "x"}})
    refused = ("call.returned", {"status": "denied", "output": "denied: not here"})
    finished = ("request.finished", {"truncated": False})
    remark = ("message", {"role": "assistant", "text": "I look. ", "calls": [{}]})
    answer = ("message", {"role": "assistant", "text": "Done."})
    printed = shown(
        *(text("I look. "), remark, finished, call, refused, text("Done."), answer, finished)
    )
    assert printed.out == "Done.\n"
    assert printed.err == "I look. \n- grep pattern=x\ndenied: not here\n"


def test_a_pipe_gets_a_reply_when_it_is_complete_and_as_it_turned_out(shown):
    message = ("message", {"role": "assistant", "text": "Four"})
    finished = ("request.finished", {"truncated": False})
    printed = shown(text("a plan"), text("Four"), message, finished, ("message", {"role": "user"}))
    assert printed.out == "Four\n"
    assert shown(message, finished).out == "", "what was not shown as text is not printed"


def test_what_a_person_should_know_begins_a_line_of_its_own(shown):
    retrying = ("request.retrying", {"message": "overloaded, again in 1 s"})
    printed = shown(
        text("Half"), retrying, text(" done"), ("request.finished", {"truncated": True})
    )
    assert printed.out == " done\n", "a reply that broke off is no part of the answer"
    assert printed.err.splitlines() == [
        "nanocoder: overloaded, again in 1 s",
        "nanocoder: the reply was cut off by the model's token limit",
    ]


def test_the_end_names_the_changed_files_or_why_there_are_none(shown, tmp_path):
    changed = ("run.finished", {"files_changed": ["a.py", "b.py"], "untracked": False})
    assert shown(changed).err == f"changed a.py, b.py in {tmp_path}\n"
    nothing = ("run.finished", {"files_changed": [], "untracked": False})
    assert shown(nothing).err == ""
    assert shown(nothing, mode=Mode.PLAN).err == "plan mode: nothing was changed\n"


def progress(text):
    return ("request.progress", {"text": text})


def test_a_pipe_gets_nothing_of_what_the_model_does_just_now(shown):
    printed = shown(progress("reading the prompt, 34 %"), text("Done."))
    assert (printed.out, printed.err) == ("Done.\n", "")


@pytest.mark.parametrize(("untracked", "line"), [(False, "no file was changed\r\n"), (True, "")])
def test_a_person_at_a_terminal_reads_that_no_file_was_changed(shown, monkeypatch, untracked, line):
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8") as stderr, open(ours, "rb", buffering=0) as seen:
        monkeypatch.setattr(sys, "stderr", stderr)
        claim = text("I have changed the file.\n")
        shown(claim, ("run.finished", {"files_changed": [], "untracked": untracked}))
        stderr.close()
        assert everything(seen) == line


@pytest.mark.parametrize("columns", [80, 20, 0])
def test_on_a_terminal_one_line_changes_and_gives_way_to_the_answer(shown, monkeypatch, columns):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with open(theirs, "w", encoding="utf-8") as stderr, open(ours, "rb", buffering=0) as seen:
        monkeypatch.setattr(sys, "stderr", stderr)
        call = ("call.started", {"tool": "grep", "arguments": {}})
        first, second = progress("reading the prompt, 34 %"), progress("reading, 9\x1b[2J %")
        assert shown(first, second, call, text("Done.")).out == "Done.\n"
        stderr.close()
        written = everything(seen)
    screen = pyte.Screen(columns or 80, 5)
    pyte.Stream(screen).feed(written)
    assert [line.rstrip() for line in screen.display] == ["- grep", "", "", "", ""]
    assert "reading the prompt" in written
    assert "\x1b" not in written


def test_a_closed_standard_error_takes_nothing_from_the_answer(shown, monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert shown(text("Done."), ("notice", {"text": "beside"})).out == "Done.\n"
