"""`nanocoder config`: where a value goes, changing one, and what trusting a folder means."""

import sys
from pathlib import Path

import pytest
from nanocoder.config.document import Document
from nanocoder.config.editing import with_value, without_value
from nanocoder.errors import ConfigError

pytestmark = pytest.mark.timeout(60)
COMMAND = str(Path(sys.executable).with_name("nanocoder"))


def answered(nanocoder, answer):
    """Run `config trust` at a terminal, give the answer, and return what was printed."""
    import pexpect

    talk = pexpect.spawn(
        COMMAND,
        ["config", "trust"],
        cwd=str(nanocoder.cwd),
        env=nanocoder.environment,
        encoding="utf-8",
        dimensions=(40, 200),
        timeout=40,
    )
    talk.expect_exact("Trust these settings? [y/N] ")
    before = talk.before
    talk.send(f"{answer}\r")
    talk.expect(pexpect.EOF)
    talk.close()
    assert talk.exitstatus == 0
    return before, talk.before


def document(text, path):
    return Document(path / "config.toml", text.encode())


@pytest.mark.finding("F9")
@pytest.mark.parametrize(
    ("text", "key", "value", "expected"),
    [
        ("", "model", "a/b", 'model = "a/b"\n'),
        ("", "tools.disable", ["bash"], '[tools]\ndisable = ["bash"]\n'),
        ("# mine\nmodel = 'x'  # why\n", "model", "y", '# mine\nmodel = "y"  # why\n'),
        ("# mine\n[tools]\n", "model", "y", 'model = "y"\n\n# mine\n[tools]\n'),
        (
            "[tools]\ndisable = [\n 'a',\n]\nalways = []\n",
            "tools.disable",
            ["b"],
            '[tools]\ndisable = ["b"]\nalways = []\n',
        ),
        ("[tools]\n# c\n", "tools.always", ["a"], '[tools]\nalways = ["a"]\n# c\n'),
        ("tools.disable = []", "tools.always", ["a"], 'tools.disable = []\ntools.always = ["a"]\n'),
        ("max_turns = 1", "mode", 'q"\n', 'max_turns = 1\nmode = "q\\"\\n"\n'),
    ],
)
def test_one_value_is_changed_and_every_other_line_stays(tmp_path, text, key, value, expected):
    changed = with_value(document(text, tmp_path), tuple(key.split(".")), value)
    assert changed.text == expected


@pytest.mark.finding("F9")
@pytest.mark.parametrize("text", ["tools = { disable = [] }\n", "tools.disable = [\n # why\n]\n"])
def test_what_cannot_be_changed_without_loss_is_left_to_the_person(tmp_path, text):
    key = ("tools", "disable")
    if "why" not in text:
        with pytest.raises(ConfigError, match=r"config.toml:1: tools.always: too tangled"):
            with_value(document(text, tmp_path), ("tools", "always"), ["a"])
    else:
        with pytest.raises(ConfigError, match="by hand"):
            with_value(document(text, tmp_path), key, ["a"])


@pytest.mark.finding("F9")
def test_a_value_is_removed_and_a_missing_one_named(tmp_path):
    two = document("mode = 'plan'\n[tools]\ndisable = ['a']\n", tmp_path)
    assert without_value(two, ("tools", "disable")).text == "mode = 'plan'\n[tools]\n"
    with pytest.raises(ConfigError, match="does not set max_turns"):
        without_value(two, ("max_turns",))


@pytest.mark.finding("F9")
def test_set_writes_the_persons_file_and_path_and_show_say_where_it_is(nanocoder):
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
    done = nanocoder("config", "set", "mode", "plan")
    assert (done.returncode, done.stdout) == (0, f'mode = "plan" ({file}:1)\n'), done.stderr
    assert nanocoder("config", "set", "plugins.policy-rules.deny", "bash(rm *)").returncode == 0
    assert nanocoder("config", "set", "max_turns", "20").returncode == 0
    lines = file.read_text().splitlines()
    assert lines[:2] == ['mode = "plan"', "max_turns = 20"]
    assert lines[-2:] == ["[plugins.policy-rules]", 'deny = ["bash(rm *)"]']
    assert nanocoder("config", "unset", "mode").stdout == 'mode = "ask" (default)\n'


@pytest.mark.finding("F9")
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("modle", "x", "did you mean 'model'?"),
        ("mode", "everything", "expected one of plan, ask, edits, auto"),
        ("max_turns", "many", "expected a whole number"),
        ("max_turns", "many", "nothing was changed, because this would be wrong"),
        ("plugins.tool-gerp.x", "1", "unknown configuration key"),
        ("plugins.policy-rules.deny", "((", "policy-rules"),
    ],
)
def test_a_wrong_key_or_value_is_refused_and_nothing_is_written(nanocoder, key, value, message):
    done = nanocoder("config", "set", key, value)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (nanocoder.home / ".config/nanocoder/config.toml").exists()


@pytest.mark.finding("F9")
def test_a_stronger_layer_is_named_and_a_call_of_a_tool_may_not_set_anything(nanocoder):
    done = nanocoder("config", "set", "mode", "auto", env={"NANOCODER_MODE": "plan"})
    assert "NANOCODER_MODE overrides it here" in done.stderr
    inside = nanocoder("config", "set", "mode", "auto", env={"NANOCODER_CALL": "call_1"})
    assert inside.returncode == 2
    assert "a tool call may not" in inside.stderr


@pytest.fixture
def project(nanocoder):
    file = nanocoder.cwd / ".nanocoder/config.toml"
    file.parent.mkdir()
    file.write_text('mode = "auto"\nmax_turns = 3\n[plugins.policy-rules]\nallow = ["bash"]\n')
    return file


@pytest.mark.finding("D18")
def test_trust_shows_what_it_loosens_and_asks_at_a_terminal(nanocoder, project):
    printed, end = answered(nanocoder, "n")
    assert "Not trusted." in end
    assert 'mode = "auto"  (now "ask")' in printed
    assert 'plugins.policy-rules.allow = ["bash"]  (now [])' in printed
    assert "max_turns" not in printed  # it may lower that already
    assert '"ask"' in nanocoder("config", "where", "mode").stdout
    _, end = answered(nanocoder, "y")
    assert "Trusted. Its settings now apply" in end
    assert '"auto"' in nanocoder("config", "where", "mode").stdout
    assert "trusted already" in nanocoder("config", "trust").stdout


@pytest.mark.finding("D18")
def test_trust_without_a_terminal_takes_yes(nanocoder, project):
    done = nanocoder("config", "trust")
    assert done.returncode == 3
    assert "Pass --yes" in done.stderr
    assert '"ask"' in nanocoder("config", "where", "mode").stdout
    done = nanocoder("config", "trust", "--yes", env={"NANOCODER_MODE": "auto"})
    assert done.returncode == 0
    assert 'mode = "auto"  (now "ask")' in done.stdout
    assert '"auto"' in nanocoder("config", "where", "mode").stdout


@pytest.mark.finding("D18")
def test_a_file_that_changes_while_it_is_shown_is_not_trusted(nanocoder, project):
    from nanocoder.config.trust import trust

    with pytest.raises(ConfigError, match="changed while it was shown"):
        trust(nanocoder.cwd, reviewed=b"else", environment={"HOME": str(nanocoder.home)})
