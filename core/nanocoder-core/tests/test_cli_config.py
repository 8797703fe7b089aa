"""What the core lists by itself: values, files, tools and plugins; and what plugins add to it."""

import json

import pytest
from nanocoder import Event
from nanocoder.cli.run import AnswerOnly

pytestmark = pytest.mark.timeout(60)


def test_path_and_show_say_where_the_files_are(nanocoder):
    file = nanocoder.home / ".config/nanocoder/config.toml"
    assert nanocoder("config", "path").stdout == f"{file}\n"
    (yours,) = (
        line
        for line in nanocoder("config", "show").stdout.splitlines()
        if line.startswith("yours ")
    )
    assert f"{file}  none yet" in yours
    assert nanocoder("config", "path", "--project").stdout == (
        f"{nanocoder.cwd}/.nanocoder/config.toml\n"
    )


@pytest.fixture
def alone(nanocoder):
    """Return the command without the plugins that offer what a test names."""

    def switch_off(what, name):
        listed = json.loads(nanocoder("plugins", "list", "--output", "json").stdout)
        owners = [plugin["name"] for plugin in listed if name in plugin[what]]
        assert owners
        config = nanocoder.home / ".config/nanocoder/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f"[plugins]\ndisable = {json.dumps(owners)}\n")
        return nanocoder

    return switch_off


def test_the_core_alone_lists_tools_plugins_and_values(alone):
    nanocoder = alone("commands", "config show")
    tools = json.loads(nanocoder("tools", "--output", "json").stdout)
    assert {"read_file", "grep"} <= {tool["name"] for tool in tools}
    assert "read_file" in nanocoder("tools").stdout
    assert "tool-grep" in nanocoder("plugins", "list").stdout
    rows = json.loads(nanocoder("config", "show", "--output", "json").stdout)
    (mode,) = (row for row in rows if row["key"] == "mode")
    assert mode == {"key": "mode", "value": "ask", "origin": "default"}
    assert "max_turns" in nanocoder("config", "show").stdout


@pytest.mark.parametrize(
    "words", ["tools read_file", "plugins list tool-grep", "config where mode"]
)
def test_what_a_plugin_shows_says_why_it_is_not_there(alone, words):
    done = alone("commands", "config where")(*words.split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert "plugins.disable names it" in done.stderr


def test_without_a_screen_for_text_a_pipe_gets_the_answer_and_notices(alone):
    nanocoder = alone("screens", "plain")
    call = {"name": "list_files", "arguments": {}}
    script = nanocoder.script(
        {"text": "I look.", "calls": [call]}, {"text": "Done.", "notice": "x"}
    )
    done = nanocoder("run", "--model", script, "go")
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert "nanocoder: x" in done.stderr
    assert "list_files" not in done.stderr


def test_without_a_screen_for_text_only_the_answer_is_on_standard_output(capsys):
    display = AnswerOnly()
    display.show(Event("text", {"text": "one "}))
    display.show(Event("message", {"role": "assistant", "text": "I look", "calls": [{}]}))
    assert capsys.readouterr() == ("", "")
    display.show(Event("run.finished", {"text": "one two\x1b"}))
    assert capsys.readouterr().out == "one two\\x1b\n"
    display.show(Event("request.retrying", {"message": "the server is busy"}))
    assert capsys.readouterr().err == "nanocoder: the server is busy\n"
