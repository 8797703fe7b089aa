"""The command as a process: exit codes, closed pipes, odd homes and locales, hostile checkouts."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import plugin_in

pytestmark = pytest.mark.timeout(60)
COMMAND = str(Path(sys.executable).with_name("nanocoder"))

CALL_BASH = {"calls": [{"name": "bash", "arguments": {"command": "echo hi > made.txt"}}]}
READ = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
DONE = {"text": "All done."}


# Exit codes


def test_0_when_the_model_answered(nanocoder):
    done = nanocoder("run", "--model", nanocoder.script(DONE), "go")
    assert (done.returncode, done.stdout, done.stderr) == (0, "All done.\n", "")


def test_1_when_the_model_turns_in_circles(nanocoder):
    (nanocoder.cwd / "a.txt").write_text("x")
    done = nanocoder("run", "--model", nanocoder.script(*[READ] * 9), "go")
    assert done.returncode == 1
    assert "6 turns in a row" in done.stderr


def test_1_when_a_called_tool_fails(nanocoder):
    done = nanocoder("call", "read_file", '{"path": "gone.txt"}')
    assert done.returncode == 1
    assert "gone.txt" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu", "go"], "did you mean 'run'?"),
        (["run", "go", "--modle", "x"], "did you mean '--model' or"),
        (["run", "go", "--mode", "edit"], "did you mean 'edits'?"),
        (["run", ""], "the prompt is empty"),
        (["run", "go", "--model", "scriptd/x"], "did you mean 'scripted'?"),
        (["run", "go", "--cwd", "gone"], "the directory 'gone' cannot be used"),
        (["run", "go", "--output", "jso"], "no output format 'jso'"),
        (["run", "go", "--dialect", "klingon"], "there is no dialect 'klingon'"),
        (["run", "go", "--session", "20200101-000000-aaaa"], "20200101-000000-aaaa"),
        (["run", "go", "--set", "defualt"], "did you mean 'default'?"),
        (["call", "read_file", "{nope"], "not JSON"),
        (
            ["call", "read_file", "a.txt"],
            """«a.txt»; write a JSON object, as in '{"path": "a.py"}'""",
        ),
        (["call", "read_file", "[1]"], "must be a JSON object"),
        (["plugins", "lsit"], "did you mean 'list'?"),
        (["plugins", "new", "tool", "Bad Name"], "did you mean 'bad-name'?"),
        (["config", "where", "modle"], "did you mean"),
        (["sessions", "show", "nope"], "nope"),
    ],
)
def test_2_for_what_makes_no_sense_with_the_nearest_that_does(nanocoder, words, said):
    done = nanocoder(*words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_2_for_a_wrong_configuration_with_its_line(nanocoder):
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('\nmode = "yolo"\n')
    done = nanocoder("run", "--model", nanocoder.script(DONE), "go")
    assert done.returncode == 2
    assert "config.toml:2" in done.stderr


@pytest.mark.contract("MA-111")
@pytest.mark.usefixtures("no_sandbox")
def test_3_when_consent_is_needed_and_nobody_is_there(nanocoder):
    words = ("--model", nanocoder.script(CALL_BASH, DONE), "go")
    done = nanocoder("run", *words)
    assert done.returncode == 3, done.stderr
    assert not (nanocoder.cwd / "made.txt").exists()
    done = nanocoder("call", "bash", '{"command": "echo hi > made.txt"}')
    assert done.returncode == 3
    assert not (nanocoder.cwd / "made.txt").exists()


def test_4_when_the_model_cannot_be_had(nanocoder):
    done = nanocoder(
        "run", "go", env={"NANOCODER_MODEL": nanocoder.script({"error": "overloaded"})}
    )
    assert done.returncode == 4
    assert "overloaded" in done.stderr


def test_5_at_the_turn_limit(nanocoder):
    (nanocoder.cwd / "a.txt").write_text("x")
    script = nanocoder.script(READ, DONE)
    done = nanocoder("run", "--model", script, "--max-turns", "1", "go")
    assert done.returncode == 5
    assert "All done." in done.stdout


def test_6_when_a_policy_denies_a_call(nanocoder, denying):
    done = nanocoder("call", "read_file", '{"path": "a.txt"}', env=denying)
    assert done.returncode == 6, done.stderr
    assert "no reading here" in done.stderr


def test_130_without_a_traceback_when_interrupted_while_still_importing(nanocoder, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'nanocoder.version':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
    )
    done = nanocoder("tools", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (130, "")


@pytest.fixture
def denying(tmp_path):
    """Return an environment in which one more plugin is installed: a policy that denies reading."""
    source = (
        "from nanocoder import Decision, Verdict, hookimpl\n@hookimpl\n"
        "def nanocoder_before_execute(call):\n"
        "    return Verdict(Decision.DENY, 'no reading here')\n"
    )
    return plugin_in(tmp_path / "site", "policy-nothing", source)


class running:  # noqa: N801 - reads as what it is
    """A command that is still running; killed at the end at the latest."""

    def __init__(self, nanocoder, *words):
        command = [COMMAND, *words]
        self.process = subprocess.Popen(
            command,
            cwd=nanocoder.cwd,
            env=nanocoder.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


# Output that goes nowhere


@pytest.mark.parametrize("words", [["tools"], ["--help"], ["plugins", "list"], ["config", "show"]])
def test_a_reader_that_leaves_early_sees_no_traceback(nanocoder, words):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        done = nanocoder(*words, stdout=gone, stderr=subprocess.PIPE, text=True)
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert done.returncode in {0, 1}


def test_a_full_disk_behind_stdout_is_said(nanocoder):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = nanocoder("tools", stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_whose_reader_leaves_ends_and_keeps_its_session(nanocoder):
    script = nanocoder.script(*[{"text": "word " * 1000, "deltas": 50, **READ}] * 2, DONE)
    (nanocoder.cwd / "a.txt").write_text("x")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        words = ("run", "--model", script, "go")
        done = nanocoder(*words, stdout=gone, stderr=subprocess.PIPE, text=True)
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert done.returncode == 1
    assert len(list((nanocoder.home / ".local/state/nanocoder/sessions").glob("*.jsonl"))) == 1


@pytest.mark.parametrize("redirect", ["<&-", "2>&-", "<&- 2>&-", ">&-", "<&- >&- 2>&-"])
def test_closed_descriptors_break_nothing(nanocoder, redirect):
    script = nanocoder.script(DONE)
    command = f"{COMMAND} run --model {script} go {redirect}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=nanocoder.cwd,
        env=nanocoder.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if ">&- " in f"{redirect} ".replace("2>&-", "") else 0)


@pytest.mark.parametrize("redirect", ["<&-", "2>&-", "<&- 2>&-"])
def test_a_run_whose_chatter_nobody_can_hear_goes_on_to_its_end(nanocoder, redirect):
    script = nanocoder.script(READ, DONE)
    (nanocoder.cwd / "a.txt").write_text("x")
    command = f"{COMMAND} run --model {script} go {redirect}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=nanocoder.cwd,
        env=nanocoder.environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "All done.\n")


# Locales


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "ascii"}, {"LANG": "nowhere"}],
)
def test_any_locale_shows_any_text(nanocoder, env):
    (nanocoder.cwd / "a.txt").write_text("\u00e4\u732b", encoding="utf-8")
    script = nanocoder.script(READ, {"text": "Read: \u00e4\u732b \ud83d\ude00"})
    done = nanocoder("run", "--model", script, "go \u00e4", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Read: ")


# Homes


def test_without_a_home_it_works_and_says_what_is_not_kept(nanocoder):
    script = nanocoder.script(DONE)
    environment = {name: one for name, one in nanocoder.environment.items() if name != "HOME"}
    done = subprocess.run(
        [COMMAND, "run", "--model", script, "go"],
        env=environment,
        cwd=nanocoder.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "All done.\n"


@pytest.mark.parametrize("home", ["a file", "gone", "/proc", "/dev/full"])
def test_a_home_that_cannot_be_written_is_said_and_the_run_goes_on(nanocoder, tmp_path, home):
    script = nanocoder.script(DONE)
    if home == "a file":
        (tmp_path / "file").write_text("")
        home = str(tmp_path / "file")
    elif home == "gone":
        home = "/proc/gone"
    done = nanocoder("run", "--model", script, "go", env={"HOME": home})
    assert done.returncode == 0, done.stderr
    assert done.stdout == "All done.\n"
    assert "not saved" in done.stderr or "not kept" in done.stderr
    assert "Traceback" not in done.stderr


# Hostile checkouts


MARK = "import os; open(os.environ['MARK'], 'a').write(__file__)\n"


@pytest.fixture
def mark(nanocoder, tmp_path):
    """Fill the workspace with modules that tell when they are imported; returns where."""
    names = ("attr", "attrs", "json", "pluggy", "cattrs", "argparse", "nanocoder_evil", "site")
    # Not contextlib and the like: with -m, Python itself imports those before any line of ours.
    for name in (*names, "sitecustomize", "usercustomize", "tomllib", "hashlib", "secrets"):
        (nanocoder.cwd / f"{name}.py").write_text(MARK)
    info = nanocoder.cwd / "nanocoder_evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: nanocoder-evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nanocoder]\nevil = nanocoder_evil\n")
    return tmp_path / "mark"


@pytest.mark.rows(3)
@pytest.mark.parametrize("command", [COMMAND, f"{sys.executable} -m nanocoder"])
@pytest.mark.parametrize("words", [["--version"], ["tools"], ["doctor"], ["run", "go"]])
def test_a_checkout_full_of_modules_is_not_imported(nanocoder, mark, command, words):
    more = ["--model", nanocoder.script(DONE)] if words[0] == "run" else []
    # Without a cache every plugin is described in a child process, which must not look here either.
    shutil.rmtree(nanocoder.home / ".cache")
    done = nanocoder(*words, *more, env={"MARK": str(mark)}, command=command)
    assert done.returncode == 0, done.stderr
    assert "evil" not in done.stdout + done.stderr
    assert not mark.exists(), mark.read_text()


def test_a_package_called_nanocoder_in_a_checkout_is_not_ours(nanocoder, mark):
    (nanocoder.cwd / "nanocoder").mkdir()
    (nanocoder.cwd / "nanocoder" / "__init__.py").write_text(MARK)
    done = nanocoder("tools", env={"MARK": str(mark)}, command=COMMAND)
    assert done.returncode == 0
    assert not mark.exists(), mark.read_text()


# What a start costs


def modules_of(nanocoder, *words):
    """Return what a command has imported, asked of the interpreter that ran it."""
    done = nanocoder(*words, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0, done.stderr
    return [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line][1:]


def test_version_imports_next_to_nothing(nanocoder):
    bare = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "pass"],
        capture_output=True,
        text=True,
        check=True,
    )
    before = {line.rsplit("|", 1)[1].strip() for line in bare.stderr.splitlines() if "|" in line}
    added = set(modules_of(nanocoder, "--version")) - before
    assert len(added) <= 40, sorted(added)
    family = {name for name in added if name.startswith("nanocoder_")}
    assert family == {"nanocoder_schema", "nanocoder_schema.lazy_exports"}  # the core's front door


# PLUG-007
@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["tools"], ["plugins", "list"]])
def test_these_commands_import_no_plugin_and_nothing_slow(nanocoder, words):
    loaded = modules_of(nanocoder, *words)
    names = ("config", "console", "discovery", "files", "schema")
    family = tuple(f"nanocoder_{name}" for name in names)  # the core stands on them
    plugins = [name for name in loaded if name.startswith("nanocoder_")]
    assert [name for name in plugins if not name.startswith(family)] == []
    slow = (
        "asyncio",
        "cattrs",
        "httpx",
        "importlib.metadata",
        "importlib_metadata",
        "prompt_toolkit",
        "rich",
        "pydoc",
    )
    assert [name for name in loaded if name in slow] == []


def test_the_garbage_collector_rests_during_the_start_alone(nanocoder, tmp_path):
    script = tmp_path / "main.py"
    script.write_text(
        "import gc, os, sys; from nanocoder.cli import main; leave = os._exit\n"
        "def tell(code):\n"
        "    os.write(1, f'{gc.isenabled()} {gc.get_freeze_count() > 10_000}'.encode())\n"
        "    leave(code)\n"
        "os._exit = tell; main()"
    )
    done = nanocoder("plugins", "list", command=f"{sys.executable} {script}")
    assert done.stdout.endswith("True True"), done.stderr


# Output for programs


def test_call_prints_one_object(nanocoder):
    (nanocoder.cwd / "a.txt").write_text("hello\n")
    done = nanocoder("call", "read_file", '{"path": "a.txt"}', "--output", "json")
    found = json.loads(done.stdout)
    assert (found["tool"], found["status"], found["error_class"]) == ("read_file", "ok", "")
    assert found["output"] == "1\thello"
    done = nanocoder("call", "read_file", '{"path": "../x"}', "--output", "json")
    assert json.loads(done.stdout)["error_class"] == "path_outside_workspace"
    assert done.returncode == 1


@pytest.mark.contract("NT-54")
def test_tools_are_shown_with_owner_version_and_cost(nanocoder):
    found = {one["name"]: one for one in json.loads(nanocoder("tools", "--output", "json").stdout)}
    assert found["read_file"]["plugin"] == "tool-read"
    assert found["read_file"]["version"]
    assert 0 < found["read_file"]["tokens"] <= 250


def test_a_prompt_may_come_from_standard_input(nanocoder):
    script = nanocoder.script(DONE)
    done = nanocoder("run", "--model", script, "-", stdin=None, input="go\n")
    assert done.returncode == 0
    assert nanocoder("run", "--model", script, "-", stdin=None, input=" ").returncode == 2


# Management with everything broken


@pytest.mark.parametrize("words", [["plugins", "list"], ["--version"], ["--help"], ["doctor"]])
def test_management_works_with_a_broken_policy(nanocoder, denying, tmp_path, words):
    (tmp_path / "site" / "policy_nothing.py").write_text(
        "raise RuntimeError('boom')\ndef nanocoder_before_execute(): ...\n"
    )
    done = nanocoder(*words, env=denying)
    assert done.returncode == (1 if words == ["doctor"] else 0), done.stderr
    if words[0] in {"plugins", "doctor"}:
        assert "boom" in done.stdout
    refused = nanocoder("call", "read_file", '{"path": "a"}', env=denying)
    assert refused.returncode == 2
    assert "policy-nothing" in refused.stderr


def test_the_doctor_works_when_the_plugin_that_adds_checks_to_it_is_broken(nanocoder, tmp_path):
    everything = nanocoder("doctor").stdout
    listed = json.loads(nanocoder("plugins", "list", "--output", "json").stdout)
    (owner,) = (plugin["name"] for plugin in listed if "doctor" in plugin["commands"])
    (tmp_path / "site").mkdir()
    module = f"nanocoder_{owner.replace('-', '_')}"
    (tmp_path / "site" / f"{module}.py").write_text("raise RuntimeError('boom')\n")
    done = nanocoder("doctor", env={"PYTHONPATH": str(tmp_path / "site")})
    assert done.returncode == 1
    assert f"plugin {owner}" in done.stdout
    assert f"boom (site/{module}.py:1); without it: nanocoder plugins remove {owner}" in done.stdout
    assert "model  " in everything
    assert "model  " not in done.stdout
    assert "Something is wrong, see above." in done.stdout


def test_the_doctor_of_the_core_has_the_same_form_as_the_full_one(nanocoder):
    listed = json.loads(nanocoder("plugins", "list", "--output", "json").stdout)
    (owner,) = (plugin["name"] for plugin in listed if "doctor" in plugin["commands"])
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[plugins]\ndisable = ["{owner}"]\n')
    data = json.loads(nanocoder("doctor", "--output", "json").stdout)
    assert data["ok"] is True
    assert {"nanocoder", "configuration", "tools"} <= {row["check"] for row in data["checks"]}
    config.write_text("modle = 'x'\n")
    data = json.loads(nanocoder("doctor", "--output", "json").stdout)
    assert data["ok"] is False
    assert data["checks"][-1]["check"] == "configuration"


@pytest.mark.contract("NT-70")
def test_with_no_plugin_at_all_it_says_what_is_missing(nanocoder):
    disabled = json.loads(nanocoder("plugins", "list", "--output", "json").stdout)
    names = ", ".join(f'"{one["name"]}"' for one in disabled)
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[plugins]\ndisable = [{names}]\n")
    assert nanocoder("doctor").returncode == 0
    assert "No tool is installed" in nanocoder("tools").stdout
    done = nanocoder("run", "go")
    assert done.returncode == 4
    assert "No model is configured" in done.stderr
    alone = nanocoder()
    assert alone.returncode == 2
    assert "nanocoder run" in alone.stderr


def test_a_rule_in_the_table_of_a_misspelt_plugin_stops_the_start(nanocoder):
    folder = Path(nanocoder.environment["HOME"]) / ".config/nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[plugins.policy-rule]\ndeny = ["bash(git push)"]\n')
    done = nanocoder("call", "list_files", "{}")
    assert done.returncode == 2
    assert "there is no plugin 'policy-rule'; did you mean 'policy-rules'?" in done.stderr


def test_a_single_call_is_no_conversation_to_continue(nanocoder):
    model = nanocoder.script({"text": "seven"}, {"text": "still seven"})
    first = nanocoder("run", "--model", model, "--output", "json", "Remember seven.")
    nanocoder("call", "list_files", "{}")
    again = nanocoder("run", "--model", model, "--continue", "--output", "json", "Which number?")
    assert json.loads(again.stdout)["session_id"] == json.loads(first.stdout)["session_id"]
    assert json.loads(again.stdout)["text"] == "still seven"


def test_plain_output_ends_with_the_files_that_changed_and_where(nanocoder):
    call = {"name": "write_file", "arguments": {"path": "new.txt", "content": "hi\n"}}
    model = nanocoder.script({"calls": [call]}, {"text": "Written."})
    done = nanocoder("run", "--mode", "edits", "--model", model, "Write.")
    assert done.stdout == "Written.\n"
    assert done.stderr.splitlines()[-1] == f"changed new.txt in {nanocoder.cwd}"


@pytest.mark.parametrize(
    "words", ["config trust", "plugins install x", "plugins remove x", "plugins lock"]
)
def test_no_call_of_a_session_extends_what_a_session_may_do(words, nanocoder):
    (nanocoder.cwd / ".nanocoder").mkdir()
    (nanocoder.cwd / ".nanocoder/config.toml").write_text('mode = "auto"\n')
    done = nanocoder(*words.split(), env={"NANOCODER_CALL": "1"})
    assert done.returncode == 2
    assert "run this yourself" in done.stderr
    assert "ask" in nanocoder("config", "show").stdout


def test_a_rule_for_a_misspelt_tool_stops_the_start_and_names_the_right_one(nanocoder):
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True)
    file = folder / "config.toml"
    file.write_text('[plugins.policy-rules]\ndeny = ["read_fil(a.txt)"]\n')
    done = nanocoder("call", "read_file", '{"path": "a.txt"}')
    assert done.returncode == 2
    assert "'read_fil(a.txt)' is about the tool 'read_fil'" in done.stderr
    assert "did you mean 'read_file'?" in done.stderr
    file.write_text('[plugins.policy-rules]\ndeny = ["acme_deploy", "mcp_*"]\n')
    assert nanocoder("call", "read_file", '{"path": "a.txt"}').returncode != 2
    assert "the tool 'acme_deploy', which is not installed" in nanocoder("doctor").stdout


@pytest.mark.parametrize(
    ("lines", "notice"),
    [
        (
            'deny = ["acme_deploy(*)", "mcp_*"]',
            "'acme_deploy(*)' is about the tool 'acme_deploy', which is not installed",
        ),
        (
            'deny = ["acme_deploy", "acme_ship"]',
            "not installed; and 1 more such (nanocoder doctor)",
        ),
        ('[plugins]\ndisable = ["policy-rules"]', "switches off 'policy-rules', so its rules"),
    ],
)
def test_a_rule_that_does_not_hold_is_told_once_at_the_start(nanocoder, lines, notice):
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True)
    head = "" if lines.startswith("[") else "[plugins.policy-rules]\n"
    (folder / "config.toml").write_text(f"{head}{lines}\n")
    model = nanocoder.script({"text": "Hi."})
    assert nanocoder("run", "--model", model, "Hi").stderr.count(notice) == 1
    assert nanocoder("call", "list_files", "{}").stderr.count(notice) == 1
    done = nanocoder("run", "--output", "jsonl", "--model", model, "Hi")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["type"] for event in events[:2]] == ["session.started", "notice"]
    assert notice in events[1]["text"]
    assert notice in nanocoder("doctor").stdout or "more such" in notice


def test_a_directory_that_was_removed_under_the_shell_does_no_harm_to_another(nanocoder):
    work = nanocoder.cwd
    (work / "a.txt").write_text("here\n")
    (work / "gone").mkdir()
    start = f"cd gone && rmdir ../gone && exec {COMMAND} "
    for words in ('call read_file \'{"path": "a.txt"}\'', "run --model scripted/s.json go"):
        (work / "s.json").write_text(json.dumps({"turns": [DONE]}))
        (work / "gone").mkdir(exist_ok=True)
        done = nanocoder(f"{start}{words} --cwd {work}", command="sh -c")
        assert (done.returncode, done.stderr) == (0, "")
    (work / "gone").mkdir()
    done = nanocoder(f"{start} run go", command="sh -c")
    assert done.returncode == 2
    assert done.stderr == (
        "nanocoder: the directory '.' cannot be used: No such file or directory\n"
    )


def test_the_command_that_reads_a_new_plugin_says_so_and_where_a_broken_one_fails(
    nanocoder, denying, tmp_path
):
    nanocoder("tools")
    first = nanocoder("config", "set", "mode", "ask", env=denying)
    assert "new or changed plugins (1): policy-nothing\n" in first.stderr
    assert "new or changed" not in nanocoder("tools", env=denying).stderr

    (tmp_path / "site/policy_nothing.py").write_text("import json\n\nundefined_name\n")
    broken = nanocoder("tools", env=denying).stderr
    assert "NameError: name 'undefined_name' is not defined (site/policy_nothing.py:3)" in broken
    assert "Traceback" not in broken
    debugged = nanocoder("tools", env={**denying, "NANOCODER_DEBUG": "1"}).stderr
    assert "Traceback (most recent call last):" in debugged
    assert f'File "{tmp_path}/site/policy_nothing.py", line 3, in <module>' in debugged


def test_many_new_plugins_are_one_short_line(nanocoder, denying, tmp_path):
    nanocoder("tools")
    names = "\n".join(f"hooks-number-{number} = policy_nothing" for number in range(40))
    (tmp_path / "site/nanocoder_policy_nothing-1.0.dist-info/entry_points.txt").write_text(
        f"[nanocoder]\n{names}\n"
    )
    (line,) = nanocoder("tools", env=denying).stderr.splitlines()
    assert line.startswith("nanocoder: new or changed plugins (40): hooks-number-0, ")
    assert line.endswith("…")
    assert len(line) < 100


def test_the_list_of_plugins_names_no_hook_and_cuts_nothing(nanocoder):
    done = nanocoder("plugins", "list")
    assert "nanocoder_" not in done.stdout
    assert "…" not in done.stdout
    assert "hooks only" in done.stdout
    assert "commands: plugins, tools, config, models, doctor; package: nanocoder-" in done.stdout
