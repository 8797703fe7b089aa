"""Hostile texts on the screen: what a file or a model sends can move nothing there."""

import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from catalogue import NANOCODER, Place, all_cases, is_for_the_screen

CONTROLS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
HIDDEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
TIMEOUT_S = 60.0

OWN = {"\x1b[?25l"}
"""Sequences of our own screen, which hides the cursor while it paints."""

CASES = [pytest.param(case, id=case["id"]) for case in all_cases() if is_for_the_screen(case)]


def text_of(case: dict[str, Any], place: Place) -> str:
    """Write the hostile file of a case, and return its text."""
    file = case["setup"]["file"]
    text = str(place.write_out(file["content"]))
    (place.root / "ws" / file["path"]).write_text(text, encoding="utf-8", newline="")
    return text


@pytest.mark.rows(5)
@pytest.mark.parametrize("case", CASES)
def test_a_hostile_file_is_printed_without_controls(case: dict[str, Any], tmp_path: Path) -> None:
    place = Place(tmp_path, {})
    text_of(case, place)
    path = case["setup"]["file"]["path"]
    done = place.run([*NANOCODER, "call", "read_file", json.dumps({"path": path})])
    assert done.returncode == 0, done.stderr
    for stream in (done.stdout, done.stderr):
        assert not CONTROLS.search(stream.encode("utf-8", "surrogateescape")), stream
        assert not HIDDEN.search(stream), stream


@pytest.mark.rows(5)
@pytest.mark.parametrize("case", CASES)
def test_a_hostile_answer_does_not_reach_the_terminal(case: dict[str, Any], tmp_path: Path) -> None:
    place = Place(tmp_path, {})
    text = text_of(case, place)
    script = tmp_path / "turns.json"
    script.write_text(json.dumps({"turns": [{"text": text}]}))
    shown = in_a_terminal(place, "run", "--model", f"scripted/{script}", "Show it")
    # Our own screen moves the cursor and sets colours; nothing of the text itself may do so.
    for match in re.finditer(r"[\x1b\x9b\x90][^\x1b]{1,6}", text):
        assert match[0] in OWN or match[0] not in shown, shown
    assert not HIDDEN.search(shown)
    assert "\x07" not in shown
    assert "\x08" not in shown


@pytest.mark.timeout(120)
def test_inj_055_names_and_subjects_of_a_repository_reach_no_terminal(tmp_path: Path) -> None:
    [case] = [case for case in all_cases() if case["id"] == "INJ-055"]
    place = Place(tmp_path, {})
    prepared = place.run(["bash", "-c", case["setup"]["sh"]])
    assert prepared.returncode == 0, prepared.stderr
    log = json.dumps({"command": "git log"})
    done = place.run([*NANOCODER, "call", "bash", log, "--mode", "auto"])
    assert "Author: a" in done.stdout, done.stderr
    for stream in (done.stdout, done.stderr):
        assert not CONTROLS.search(stream.encode("utf-8", "surrogateescape")), stream
    script = tmp_path / "turns.json"
    calls = [{"name": "bash", "arguments": {"command": "git log"}}]
    script.write_text(json.dumps({"turns": [{"text": "", "calls": calls}, {"text": "Done."}]}))
    shown = in_a_terminal(
        place, "run", "--model", f"scripted/{script}", "--mode", "auto", "Show it"
    )
    assert "\x1b]52" not in shown
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown


def in_a_terminal(place: Place, *words: str) -> str:
    """Return what nanocoder writes to a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*NANOCODER, *words],
        cwd=place.root / "ws",
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color", **place.env},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    written, deadline = b"", time.monotonic() + TIMEOUT_S
    with process:
        while time.monotonic() < deadline:
            if not select.select([leader], [], [], 0.1)[0]:
                continue
            try:
                written += os.read(leader, 65_536)
            except OSError:  # the other end was closed
                break
        process.kill()
    os.close(leader)
    return written.decode("utf-8", "replace")
