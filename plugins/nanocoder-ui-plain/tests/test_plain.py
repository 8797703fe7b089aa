"""What a pipe gets of a run: the answer on standard output, everything else beside it."""

import io
import sys

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


def text(piece):
    return ("text", {"text": piece})


def test_the_answer_alone_is_on_standard_output_and_ends_its_line(shown):
    call = ("call.started", {"tool": "grep", "arguments": {"pattern": "x"}})
    refused = ("call.returned", {"status": "denied", "output": "denied: not here"})
    finished = ("request.finished", {"truncated": False})
    printed = shown(text("I look. "), finished, call, refused, text("Done."), finished)
    assert printed.out == "I look. \nDone.\n"
    assert printed.err == "- grep pattern=x\ndenied: not here\n"


def test_what_a_person_should_know_begins_a_line_of_its_own(shown):
    retrying = ("request.retrying", {"message": "overloaded, again in 1 s"})
    printed = shown(
        text("Half"), retrying, text(" done"), ("request.finished", {"truncated": True})
    )
    assert printed.out == "Half\n done\n"
    assert printed.err.splitlines() == [
        "nanocoder: overloaded, again in 1 s",
        "nanocoder: the reply was cut off by the model's token limit",
    ]


def test_the_end_names_the_changed_files_or_why_there_are_none(shown, tmp_path):
    changed = ("run.finished", {"files_changed": ["a.py", "b.py"]})
    assert shown(changed).err == f"changed a.py, b.py in {tmp_path}\n"
    nothing = ("run.finished", {"files_changed": []})
    assert shown(nothing).err == ""
    assert shown(nothing, mode=Mode.PLAN).err == "plan mode: nothing was changed\n"


def test_a_closed_standard_error_takes_nothing_from_the_answer(shown, monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert shown(text("Done."), ("notice", {"text": "beside"})).out == "Done.\n"
