"""Hostile cases of sessions and of concurrency, against the program; names are the cases'."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.timeout(60), pytest.mark.usefixtures("no_sandbox")]
COMMAND = str(Path(sys.executable).with_name("nanocoder"))
DONE = {"text": "All done."}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def journals(nanocoder):
    return sorted((nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl"))


def test_sess_013_a_session_of_another_directory_names_both_and_works_in_the_new_one(
    nanocoder, tmp_path
):
    nanocoder("run", "--model", nanocoder.script(DONE), "go")
    (journal,) = journals(nanocoder)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write = {"calls": [call("write_file", path="new.txt", content="x")]}
    script = nanocoder.script(DONE, write, DONE)
    words = ("run", "--session", journal.stem, "--mode", "edits", "--model", script, "go on")
    done = nanocoder(*words, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert f"was started in {nanocoder.cwd} and resumes in {elsewhere}" in done.stderr
    assert (elsewhere / "new.txt").exists()
    assert not (nanocoder.cwd / "new.txt").exists()
    # What was changed elsewhere is put back elsewhere, by somebody who says so.
    undo = ("sessions", "undo", journal.stem, "--yes")
    refused = nanocoder(*undo)
    assert refused.returncode == 1
    assert f"--cwd {elsewhere}" in refused.stderr
    assert (elsewhere / "new.txt").exists()
    assert nanocoder(*undo, "--cwd", str(elsewhere)).returncode == 0
    assert not (elsewhere / "new.txt").exists()


def test_sess_015_a_large_session_is_listed_and_gone_on_with(nanocoder):
    nanocoder("run", "--model", nanocoder.script(DONE), "go")
    (journal,) = journals(nanocoder)
    write = (
        "import sys; from pathlib import Path; from nanocoder_kit_sessions import SessionStore\n"
        "store = SessionStore(Path(sys.argv[1]))\n"
        "_, journal = store.open(sys.argv[2])\n"
        "for number in range(20_000):\n"
        "    journal.append('call.progress', {'text': 'x' * 1_000, 'number': number})\n"
        "journal.close()\n"
    )
    folder = str(journal.parent.parent)
    subprocess.run([sys.executable, "-c", write, folder, journal.stem], check=True)
    assert journal.stat().st_size > 20_000_000
    rows = json.loads(nanocoder("sessions", "list", "--output", "json").stdout)
    assert [row["id"] for row in rows] == [journal.stem]
    done = nanocoder("run", "--continue", "--model", nanocoder.script(DONE, DONE), "go on")
    assert (done.returncode, done.stdout) == (0, "All done.\n")


def test_sess_019_records_keep_their_order_and_continue_finds_the_last(nanocoder, tmp_path):
    """The clock falls back by a day after the first session."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(
        "import time\nreally = time.time\ntime.time = lambda: really() - 86_400\n"
    )
    back = {"PYTHONPATH": str(tmp_path / "site")}
    nanocoder("run", "--model", nanocoder.script(DONE), "before")
    nanocoder("run", "--model", nanocoder.script(DONE), "after", env=back)
    rows = json.loads(nanocoder("sessions", "list", "--output", "json", env=back).stdout)
    assert [row["title"] for row in rows] == ["after", "before"]
    script = nanocoder.script(DONE, DONE)
    nanocoder("run", "--continue", "--model", script, "and on", env=back)
    last = journals(nanocoder)[0].with_name(f"{rows[0]['id']}.jsonl")
    records = [json.loads(line) for line in last.read_text().splitlines()]
    assert [one["seq"] for one in records] == list(range(1, len(records) + 1))
    assert [one["at"] for one in records] == sorted(one["at"] for one in records)
    prompts = [one["data"]["prompt"] for one in records if one["kind"] == "run.started"]
    assert prompts == ["after", "and on"]


def test_conc_012_a_read_beside_a_write_is_the_old_or_the_new_file(nanocoder):
    (nanocoder.cwd / "f").write_text("old\n")
    read = call("read_file", path="f")
    turn = {"calls": [read, call("write_file", path="f", content="new\n"), read]}
    script = nanocoder.script(turn, DONE)
    done = nanocoder("run", "--mode", "edits", "--model", script, "--output", "json", "go")
    assert done.returncode == 0, done.stderr
    shown = json.loads(nanocoder("sessions", "show", "--output", "json").stdout)
    (first, _, last) = next(one["results"] for one in shown["messages"] if one["role"] == "tool")
    assert first["output"].endswith("old")
    assert last["output"].endswith("new")


def test_conc_007_two_that_trust_at_once_leave_a_file_that_holds_both(nanocoder, tmp_path):
    folders = [tmp_path / f"project{number}" for number in range(8)]
    for folder in folders:
        folder.mkdir()
        (folder / ".nanocoder").mkdir()
        (folder / ".nanocoder/config.toml").write_text('mode = "plan"\n')
    running = [
        subprocess.Popen(
            [COMMAND, "config", "trust", "--yes"],
            cwd=folder,
            env=nanocoder.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for folder in folders
    ]
    assert [one.wait(40) for one in running] == [0] * len(folders)
    for one in running:
        one.stderr.close()
    trusted = nanocoder.home / ".local/state/nanocoder/trusted.json"
    assert set(json.loads(trusted.read_text())["folders"]) == set(map(str, folders))


def test_conc_004_a_yes_does_not_count_when_the_mode_was_tightened_meanwhile(nanocoder):
    """The person switches to plan mode while the question is open, and then says yes to it."""
    program = (
        "import nanocoder\n"
        "def approve(request):\n"
        "    session.set_mode(nanocoder.Mode.PLAN)\n"
        "    return nanocoder.ApprovalAnswer(request.id, request.digest, approved=True)\n"
        "with nanocoder.open_session(mode='ask', interactive=True, approve=approve) as session:\n"
        "    *_, last = session.call('bash', {'command': 'touch M'})\n"
        "    print(last.data['status'])\n"
    )
    done = nanocoder("-c", program, command=sys.executable)
    assert (done.stdout, done.stderr) == ("denied\n", "")
    assert not (nanocoder.cwd / "M").exists()
