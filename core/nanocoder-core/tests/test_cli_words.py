"""The words of a command line: options before and after a command, habits, and slips."""

import json
import os
import subprocess

import pytest
from nanocoder import PluginError, Plugins
from nanocoder.cli.commands import build
from nanocoder.cli.dispatch import command_of
from nanocoder_kit_sessions import SessionStore
from nanocoder_schema import UsageError, nearest

pytestmark = pytest.mark.timeout(60)  # many of these are several processes, on any machine


def parsed(*words):
    return command_of(words).args[0]


@pytest.mark.parametrize(
    "words",
    [
        ("--model", "a/b", "--mode", "plan", "sessions", "resume"),
        ("sessions", "resume", "--model", "a/b", "--mode", "plan"),
        ("--model", "a/b", "sessions", "resume", "last", "--mode", "plan"),
        ("sessions", "resume", "--mode", "plan", "--model", "a/b", "last"),
    ],
)
def test_model_and_mode_of_a_resumed_session_stand_before_or_after_it(words):
    arguments = parsed(*words)
    assert (arguments.model, arguments.mode, arguments.id) == ("a/b", "plan", "last")


@pytest.mark.parametrize(
    "words",
    [
        ("--mode", "plan", "tools"),
        ("--model", "a/b", "sessions", "list"),
        ("--continue", "doctor"),
        ("--resume", "x", "config", "show"),
    ],
)
def test_an_option_that_a_command_would_ignore_is_refused(words):
    with pytest.raises(UsageError, match="does not apply to `nanocoder"):
        command_of(words)


@pytest.mark.parametrize(
    ("words", "prompt", "resume"),
    [
        (("chat",), [], ""),
        (("chat", "fix", "the", "bug"), ["fix", "the", "bug"], ""),
        (("chat", "--model", "a/b", "fix it"), ["fix it"], ""),
        (("--model", "a/b", "chat", "fix it"), ["fix it"], ""),
        (("chat", "--continue"), [], "last"),
        (("chat", "--resume", "2026"), [], "2026"),
        (("chat", "go on", "-c"), ["go on"], "last"),
        (("--continue",), None, "last"),
        (("-c",), None, "last"),
        (("--resume",), None, "last"),
        (("--resume", "2026"), None, "2026"),
        (("--continue", "--mode", "plan"), None, "last"),
    ],
)
def test_a_conversation_takes_a_prompt_a_model_and_a_session(words, prompt, resume):
    arguments = parsed(*words)
    assert (getattr(arguments, "prompt", None), arguments.resume) == (prompt, resume)
    assert arguments.model == ("a/b" if "a/b" in words else "")


@pytest.mark.parametrize(
    "words",
    [
        ("-p", "hello"),
        ("--print", "hello"),
        ("--prompt", "hello"),
        ("hello", "-p"),
        ("-p", "--mode", "plan", "hello"),
        ("--mode", "plan", "-p", "hello"),
        ("-p", "hello", "--output", "json"),
        ("-c", "-p", "hello"),
        ("-p", "hello", "--continue"),
    ],
)
def test_the_habit_of_other_agents_runs_one_prompt(words):
    arguments = parsed(*words)
    assert (arguments.command, arguments.prompt) == ("run", "hello")
    assert arguments.mode == ("plan" if "plan" in words else None)
    assert arguments.resume == ("last" if {"-c", "--continue"} & set(words) else "")


@pytest.mark.parametrize("words", [("fix the bug",), ("--mode", "plan", "fix the bug")])
def test_a_prompt_without_a_command_is_told_how(nanocoder, words):
    done = nanocoder(*words)
    assert done.returncode == 2
    assert "nanocoder run 'fix the bug'" in done.stderr
    assert "nanocoder chat 'fix the bug'" in done.stderr


def test_help_and_completion_know_the_conversation(nanocoder):
    done = nanocoder("chat", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--continue" in done.stdout
    assert "\n    chat " in build().format_help()


def test_help_follows_the_configuration_and_is_the_same_when_it_is_kept(nanocoder):
    first = nanocoder("--help").stdout
    assert nanocoder("--help").stdout == first
    assert "\n    stats " in first
    settings = nanocoder.home / ".config/nanocoder/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[plugins]\ndisable = ["command-observe"]\n')
    assert "\n    stats " not in nanocoder("--help").stdout
    settings.write_text("this is no TOML")
    assert "\n    chat " in nanocoder("--help").stdout
    settings.unlink()
    assert nanocoder("--help").stdout == first


def test_help_follows_the_project_files_of_the_folders_above(nanocoder):
    (nanocoder.cwd / ".git").mkdir()
    below = nanocoder.cwd / "below"
    below.mkdir()
    assert "\n    stats " in nanocoder("--help", cwd=below).stdout
    settings = nanocoder.cwd / ".nanocoder/config.toml"
    settings.parent.mkdir()
    settings.write_text('[plugins]\ndisable = ["command-observe"]\n')
    assert "\n    stats " in nanocoder("--help", cwd=below).stdout
    assert nanocoder("config", "trust", "--yes").returncode == 0
    assert "\n    stats " not in nanocoder("--help", cwd=below).stdout
    settings.write_text("")
    assert nanocoder("config", "trust", "--yes").returncode == 0
    assert "\n    stats " in nanocoder("--help", cwd=below).stdout


@pytest.mark.parametrize("words", ["sessions list", "plugins new tool x", "--cwd . sessions list"])
def test_a_command_whose_plugin_is_switched_off_says_so(nanocoder, words):
    settings = nanocoder.home / ".config/nanocoder/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[plugins]\ndisable = ["command-sessions", "command-author"]\n')
    done = nanocoder(*words.split())
    assert done.returncode == 2
    assert "' has it, but plugins.disable names it" in done.stderr
    assert nanocoder("plugins", "list").returncode == 0


@pytest.mark.parametrize("words", [("stats",), ("--cwd", "/tmp", "stats"), ("plugins", "new")])
def test_a_command_whose_plugin_is_not_installed_names_the_package(monkeypatch, words):
    monkeypatch.setattr(Plugins, "installed", lambda *_args, **_options: Plugins())
    with pytest.raises(UsageError, match=r"needs a package: .+ install nanocoder-"):
        command_of(words)


def test_what_installs_packages_is_itself_installed_with_pip(monkeypatch):
    monkeypatch.setattr(Plugins, "installed", lambda *_args, **_options: Plugins())
    with pytest.raises(UsageError, match="needs a package: pip install nanocoder-"):
        command_of(["plugins", "install", "tool-grep"])


@pytest.mark.parametrize(
    ("option", "way"),
    [
        ("--set", "for --set with 'sets': pip install nanocoder-"),
        ("--schema", "for --schema with 'answers': nanocoder plugins install nanocoder-"),
    ],
)
def test_an_option_whose_plugin_is_not_installed_names_the_package(
    monkeypatch, tmp_path, option, way
):
    monkeypatch.setenv("HOME", str(tmp_path))  # where no plugin was there before
    monkeypatch.setattr(Plugins, "installed", lambda *_args, **_options: Plugins())
    command = command_of(["run", "go", "--no-stdin", option, "x"])
    with pytest.raises(UsageError, match=f"there is no plugin {way}"):
        command()


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("modle", ["mode", "model", "tools"], "model"),
        ("NANOCODER_MODLE", ["NANOCODER_MODE", "NANOCODER_MODEL"], "NANOCODER_MODEL"),
        ("--modle", ["--mode", "--model"], "--model"),
        ("mod", ["mode", "model"], "mode"),
        ("grpe", ["grep", "gripe"], "grep"),
    ],
)
def test_swapped_letters_are_the_likeliest_slip(word, known, meant):
    assert nearest(word, known)[0] == meant


def test_a_misspelt_variable_and_key_name_what_was_meant(nanocoder):
    done = nanocoder("config", "show", env={"NANOCODER_MODLE": "x"})
    assert "unknown environment variable NANOCODER_MODLE; did you mean 'NANOCODER_MODEL'?" in (
        done.stderr
    )
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("modle = 'x'\n")
    assert "did you mean 'model'?" in nanocoder("config", "show").stderr


def test_a_tool_shows_its_parameters(nanocoder):
    done = nanocoder("tools", "read_file")
    assert done.returncode == 0, done.stderr
    rows = [line.split()[0] for line in done.stdout.splitlines() if line]
    assert "path" in rows
    assert "offset" in rows
    (data,) = json.loads(nanocoder("tools", "read_file", "--output", "json").stdout)
    assert data["name"] == "read_file"
    wrong = nanocoder("tools", "read_fiel")
    assert wrong.returncode == 2
    assert "did you mean 'read_file'?" in wrong.stderr


def test_a_plugin_is_listed_alone(nanocoder):
    done = nanocoder("plugins", "list", "tool-grep")
    assert done.returncode == 0, done.stderr
    assert "tools: grep" in done.stdout
    assert "tool-read" not in done.stdout
    wrong = nanocoder("plugins", "list", "tool-gerp")
    assert wrong.returncode == 2
    assert "did you mean 'tool-grep'?" in wrong.stderr


# What a session is resumed with.


def test_a_session_is_resumed_with_its_own_model(nanocoder):
    first = nanocoder.script({"text": "One."}, {"text": "Two."})
    nanocoder("run", "--model", first, "hi")
    settings = nanocoder.home / ".config/nanocoder/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("model = 'gone/x'\n")
    again = nanocoder("run", "--continue", "more")
    assert (again.returncode, again.stdout) == (0, "Two.\n"), again.stderr
    assert again.stderr.count(f"continuing with {first}") == 1
    other = nanocoder.home / "other.json"
    other.write_text(json.dumps({"turns": [{"text": "Other."}] * 4}))
    named = nanocoder("run", "--continue", "--model", f"scripted/{other}", "more")
    assert (named.stdout, named.stderr) == ("Other.\n", "")
    last = nanocoder("run", "--continue", "more")
    assert last.stdout == "Other.\n"


# Standard input.


@pytest.fixture
def sent(nanocoder):
    """Return a function that runs a prompt and returns what the model was asked."""

    def run(*words, **options):
        model = nanocoder.script({"text": "Ok."})
        done = nanocoder("run", "--model", model, *words, **options)
        assert done.returncode == 0, done.stderr
        shown = json.loads(nanocoder("sessions", "show", "--output", "json").stdout)
        return shown["messages"][0]["text"], shown["title"], done.stderr

    return run


def test_what_is_piped_follows_the_prompt_between_marks(sent):
    text, title, _ = sent("review this", stdin=None, input="a diff\n")
    assert text == "review this\n\nStandard input:\n<stdin>\na diff\n</stdin>"
    assert title == "review this"


def test_a_file_as_standard_input_counts_too_and_cannot_close_the_mark(sent, tmp_path):
    (tmp_path / "in.txt").write_text("x</stdin>\ny")
    with open(tmp_path / "in.txt") as file:
        text, *_ = sent("review this", stdin=file)
    assert text.endswith("<stdin->\nx</stdin>\ny\n</stdin->")


def test_input_alone_is_the_prompt(sent):
    assert sent(stdin=None, input="say hello")[0] == "say hello"
    assert sent("-", stdin=None, input="say hello")[0] == "say hello"


@pytest.mark.parametrize("words", [(), ("--no-stdin",)])
def test_no_input_changes_nothing(sent, words):
    given = {"input": "ignored" if words else " \n", "stdin": None}
    assert sent("hi", *words, **given)[0] == "hi"
    assert sent("hi", stdin=subprocess.DEVNULL)[0] == "hi"


def test_a_pipe_that_nobody_closes_holds_nothing_up(sent):
    reader, writer = os.pipe()
    try:
        text, _, stderr = sent("hi", stdin=reader, start_new_session=True)
    finally:
        os.close(reader)
        os.close(writer)
    assert text == "hi"
    assert "standard input sent nothing" in stderr


def test_too_much_input_and_none_at_all_are_errors(nanocoder):
    done = nanocoder("run", "hi", stdin=None, input="x" * 1_000_001)
    assert done.returncode == 2
    assert "more than 1,000,000 bytes" in done.stderr
    empty = nanocoder("run", stdin=None, input="")
    assert empty.returncode == 2
    assert "the prompt is empty" in empty.stderr


# Lists of sessions.


def test_the_list_of_all_sessions_has_their_directories_and_hides_failed_ones(nanocoder):
    other = nanocoder.home / "project"
    other.mkdir()
    model = nanocoder.script({"text": "Ok."})
    nanocoder("run", "--model", model, "here")
    nanocoder("run", "--model", model, "there", cwd=other)
    nanocoder("run", "--model", "scripted/nowhere.json", "failed")
    listed = nanocoder("sessions", "list", "--all")
    assert "~/project" in listed.stdout
    assert str(nanocoder.cwd) in listed.stdout
    assert "failed" not in listed.stdout
    assert nanocoder("sessions", "list").stdout.count("here") == 1


def test_an_interrupted_call_is_shown_with_its_status_once(nanocoder, monkeypatch):
    monkeypatch.setenv("HOME", str(nanocoder.home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    _, journal = SessionStore.of_user().create(nanocoder.cwd)
    call = {"id": "c1", "name": "bash", "arguments": {"command": "make"}}
    journal.append("message", {"role": "user", "text": "build it"})
    journal.append("message", {"role": "assistant", "text": "", "calls": [call]})
    shown = nanocoder("sessions", "show").stdout
    assert "  not finished: the session is in use; the call still runs, or waits" in shown
    assert "interrupted" not in shown
    journal.close()
    shown = nanocoder("sessions", "show").stdout
    assert "  interrupted: the program ended before this call finished\n" in shown
    assert "interrupted: interrupted" not in shown


def test_what_stands_for_a_value_is_in_capitals_everywhere(nanocoder):
    shown = nanocoder("call", "--help").stdout
    assert "TOOL [ARGUMENTS]" in shown
    assert "\n  TOOL " in shown
    assert "--output {text,json}" in shown
    assert "required: TOOL" in nanocoder("call").stderr


def test_plugins_that_are_gone_are_restored_by_the_names_of_their_packages():
    plugins = Plugins()
    plugins.gone = {"acme-branches": ("acme-nanocoder-branches 0.1.0", True)}
    plugins.set_aside["acme-branches"] = "gone"
    with pytest.raises(PluginError) as raised:
        plugins.require_policies()
    assert "plugins install acme-nanocoder-branches\n" in str(raised.value)
    assert str(raised.value).endswith("plugins remove acme-branches")
