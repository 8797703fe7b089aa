"""The log file of real sessions, and what several processes do to it."""

import json
import stat
import subprocess
import sys

import pytest
from nanocoder_telemetry_log import Settings
from nanocoder_telemetry_log.log_file import LogFile

pytestmark = [pytest.mark.timeout(90), pytest.mark.contract("NT-81")]
TOKEN = "ghp_" + "c" * 36
MANY = """
import sys
from nanocoder_telemetry_log.log_file import LogFile
log = LogFile(sys.argv[1], 20_000, 99)
for number in range(300):
    log.append({"process": sys.argv[2], "number": number, "rest": "x" * 50})
"""


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


def records(nanocoder):
    file = nanocoder.home / ".local/state/nanocoder/log/nanocoder.jsonl"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return [json.loads(line) for line in file.read_text().splitlines()]


def configure(nanocoder, **settings):
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in settings.items()]
    file.write_text("[plugins.telemetry-log]\n" + "".join(lines))


def test_a_session_is_logged_with_times_tokens_and_verdicts_and_no_text(nanocoder):
    (nanocoder.cwd / "a.txt").write_text("what is in it\n")
    script = nanocoder.script(
        call("read_file", path="a.txt"), call("write_file", path="b", content="x"), {"text": "Bye."}
    )
    nanocoder("run", "--model", script, f"a prompt {TOKEN}")
    lines = records(nanocoder)
    assert [line["event"] for line in lines if "call" not in line] == [
        "session.started",
        "session.changed",
        "run.started",
        *["request.finished"] * 3,
        "run.finished",
        "session.finished",
    ]
    read, write = (line for line in lines if line["event"] == "call.returned")
    assert (read["tool"], read["status"], read["level"]) == ("read_file", "ok", "info")
    assert read["duration_ms"] > 0
    assert (write["status"], write["error_class"]) == ("approval_needed", "approval_needed")
    [denied] = [line for line in lines if line["event"] == "call.denied"]
    assert (denied["level"], denied["stage"]) == ("warning", "policy")
    assert lines[-1]["usage"]["input_tokens"] >= 0
    text = json.dumps(lines)
    for private in (TOKEN, "a prompt", "Bye", "what is in it", "a.txt"):
        assert private not in text


@pytest.mark.parametrize("name", [TOKEN, "N" * 200_000])
def test_the_name_of_a_tool_that_does_not_exist_is_not_logged(nanocoder, name):
    configure(nanocoder, level="debug")
    script = nanocoder.script(call(name), call("read_file", path="a.txt"), {"text": "Bye."})
    nanocoder("run", "--model", script, "go")
    lines = records(nanocoder)
    returned = [line["tool"] for line in lines if line["event"] == "call.returned"]
    assert returned == ["unknown", "read_file"]
    assert name not in json.dumps(lines)


def test_a_level_leaves_out_what_is_below_it_and_texts_come_without_secrets(nanocoder):
    configure(nanocoder, level="warning", texts=True)
    arguments = {"path": f"{TOKEN}.txt", "content": "x"}
    script = nanocoder.script(call("write_file", **arguments), {"text": "Bye."})
    nanocoder("run", "--model", script, "go")
    lines = records(nanocoder)
    assert {line["event"] for line in lines} == {"call.denied"}
    assert "approval" in lines[0]["message"]
    assert TOKEN not in json.dumps(lines)


def test_processes_that_write_at_once_lose_no_line_when_the_file_is_replaced(tmp_path):
    file = tmp_path / "log.jsonl"
    command = [sys.executable, "-c", MANY, str(file)]
    writers = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    files = sorted(tmp_path.glob("log.jsonl*"))
    assert len(files) > 4
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    seen = {(line["process"], line["number"]) for line in lines}
    assert len(lines) == len(seen) == 1_200
    assert all(file.stat().st_size <= 20_000 for file in files)


@pytest.mark.parametrize("keep", [0, 2])
def test_only_so_many_earlier_files_are_kept(tmp_path, keep):
    log = LogFile(str(tmp_path / "log"), 100, keep)
    for number in range(20):
        log.append({"number": number, "rest": "x" * 60})
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["log", "log.1", "log.2"][: keep + 1]
    assert json.loads((tmp_path / "log").read_text())["number"] == 19


def test_a_file_that_cannot_be_written_is_said_once_and_the_session_goes_on(nanocoder):
    folder = nanocoder.home / "folder"
    folder.mkdir()
    configure(nanocoder, file=str(folder))
    script = nanocoder.script({"text": "Bye."})
    done = nanocoder("run", "--model", script, "go")
    assert (done.returncode, done.stdout) == (0, "Bye.\n")
    assert done.stderr.count("telemetry-log") == 1
    assert "Traceback" not in done.stderr


def test_a_relative_file_is_refused():
    with pytest.raises(ValueError, match="must begin with / or ~"):
        Settings(file="here.jsonl")


def test_a_project_cannot_move_the_log(nanocoder):
    folder = nanocoder.cwd / ".nanocoder"
    folder.mkdir()
    (folder / "config.toml").write_text('[plugins.telemetry-log]\nfile = "here.jsonl"\n')
    nanocoder("call", "list_files", "{}")
    assert not (nanocoder.cwd / "here.jsonl").exists()


def test_a_home_that_cannot_be_written_is_said_in_words_and_no_plugin_is_blamed(nanocoder):
    script = nanocoder.script(call("list_files"), {"text": "Bye."})
    done = nanocoder("run", "--model", script, "go", env={"HOME": "/proc/none"})
    assert (done.returncode, done.stdout) == (0, "Bye.\n")
    log = "/proc/none/.local/state/nanocoder/log/nanocoder.jsonl"
    problem = f"plugin 'telemetry-log': {log} cannot be written: No such file or directory"
    assert done.stderr.count(problem) == 1
    assert "nanocoder_event failed" not in done.stderr
