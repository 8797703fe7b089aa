"""A Python file in the person's configuration, or on the command line, is a plugin."""

import pytest

TOOL = """\
from nanocoder import ToolContext, hookimpl, tool


@tool(effects={"read"}, risk="safe")
def word_count(ctx: ToolContext, text: str) -> str:
    \"\"\"Count the words of a text.\"\"\"
    return f"{len(text.split())} words"


@hookimpl
def nanocoder_tools():
    return [word_count]
"""
POLICY = """\
from nanocoder import Decision, Verdict, hookimpl


@hookimpl
def nanocoder_before_execute(call):
    return Verdict(Decision.DENY, "not today")
"""


@pytest.fixture
def own(nanocoder):
    """Return the folder of the person's plugins of one file."""
    folder = nanocoder.home / ".config/nanocoder/plugins"
    folder.mkdir(parents=True)
    return folder


def count(nanocoder, *options):
    return nanocoder("call", *options, "word_count", '{"text": "a b c"}')


@pytest.mark.contract("A36")
def test_a_file_is_a_plugin_from_the_next_start_on(nanocoder, own):
    nanocoder("tools")
    (own / "word_count.py").write_text(TOOL)
    done = count(nanocoder)
    assert (done.stdout, done.returncode) == ("3 words\n", 0)
    assert "new or changed plugins (1): word-count" in done.stderr
    assert str(own / "word_count.py") in nanocoder("plugins", "list").stdout
    (own / "word_count.py").write_text(TOOL.replace(" words", " edited words"))
    assert count(nanocoder).stdout == "3 edited words\n"
    (own / "word_count.py").unlink()
    gone = count(nanocoder)
    assert "plugins that are gone since the last start: word-count" in gone.stderr
    assert "Unknown tool: word_count" in gone.stderr


def test_a_broken_file_disables_that_plugin_alone_and_names_its_line(nanocoder, own):
    (own / "word_count.py").write_text(TOOL)
    (own / "broken.py").write_text("from nanocoder import hookimpl\n1 / 0\n")
    done = count(nanocoder)
    assert done.stdout == "3 words\n"
    told = "ZeroDivisionError: division by zero (plugins/broken.py:2)"
    assert f"plugin 'broken' is disabled: import failed: {told}" in done.stderr


def test_a_policy_in_a_file_judges_and_stops_the_start_when_it_breaks_or_goes(nanocoder, own):
    (own / "word_count.py").write_text(TOOL)
    (own / "mine.py").write_text(POLICY)
    done = count(nanocoder)
    assert (done.returncode, "not today" in done.stderr) == (6, True)
    (own / "mine.py").write_text(f"{POLICY}\n1 / 0\n")
    broken = count(nanocoder)
    assert (broken.returncode, "division by zero" in broken.stderr) == (2, True)
    (own / "mine.py").unlink()
    assert count(nanocoder).returncode == 2
    nanocoder("plugins", "remove", "mine")
    assert count(nanocoder).stdout == "3 words\n"


def test_a_name_that_a_package_has_is_refused_to_both(nanocoder, own):
    (own / "tool_read.py").write_text(TOOL)
    done = count(nanocoder)
    assert "both provide the plugin 'tool-read'" in done.stderr
    assert str(own / "tool_read.py") in done.stderr


def test_strict_mode_loads_a_file_only_as_it_was_locked(nanocoder, own):
    (own / "word_count.py").write_text(TOOL)
    nanocoder("plugins", "lock")
    (own.parent / "config.toml").write_text("[plugins]\nstrict = true\n")
    assert count(nanocoder).stdout == "3 words\n"
    (own / "word_count.py").write_text(TOOL.replace(" words", " others"))
    assert "has other contents than the lock" in count(nanocoder).stderr
    assert "word_count has other" not in nanocoder("plugins", "sync").stdout
    assert "word-count has other contents than the lock" in nanocoder("plugins", "sync").stdout


@pytest.mark.parametrize("name", ["__init__.py", "_part.py", "notes.txt", "a b.py", "a.b.py"])
def test_other_files_of_the_folder_are_no_plugins(nanocoder, own, name):
    (own / name).write_text("1 / 0\n")
    assert name not in nanocoder("plugins", "list").stdout
    assert nanocoder("doctor").returncode == 0


def test_a_file_on_the_command_line_is_a_plugin_for_that_run(nanocoder):
    (nanocoder.cwd / "word_count.py").write_text(TOOL)
    assert count(nanocoder, "--plugin", "word_count.py").stdout == "3 words\n"
    before = nanocoder("--plugin", "./word_count.py", "call", "word_count", '{"text": "a"}')
    assert (before.stdout, before.stderr) == ("1 words\n", "")
    later = count(nanocoder)
    assert "Unknown tool" in later.stderr
    assert "gone" not in later.stderr


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "there is no such Python file"),
        ("1 / 0\n", "ZeroDivisionError: division by zero (work/mine.py:1)"),
        ("import sys\nsys.exit()\n", "SystemExit"),
        ("x = 1\n", "implements no hook"),
        ("def (\n", "SyntaxError"),
    ],
)
def test_a_file_that_is_no_plugin_ends_the_command_with_the_reason(nanocoder, content, problem):
    if content is not None:
        (nanocoder.cwd / "mine.py").write_text(content)
    done = count(nanocoder, "--plugin", "mine.py")
    assert done.returncode == 2
    assert done.stderr.startswith("nanocoder: --plugin mine.py: ")
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_strict_mode_refuses_a_file_on_the_command_line(nanocoder, own):
    (nanocoder.cwd / "word_count.py").write_text(TOOL)
    nanocoder("plugins", "lock")
    (own.parent / "config.toml").write_text("[plugins]\nstrict = true\n")
    done = count(nanocoder, "--plugin", "word_count.py")
    assert done.stderr == "nanocoder: --plugin word_count.py: plugins.strict is set\n"
