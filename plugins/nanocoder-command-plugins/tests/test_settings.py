"""Changing a value: where it goes, what stays, and what is refused."""

import fcntl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nanocoder import ConfigError, ConfigFile
from nanocoder_command_setup.editing import with_value, without_value

pytestmark = pytest.mark.timeout(60)


def document(text, path):
    return ConfigFile(path / "config.toml", text.encode())


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


@pytest.mark.parametrize("text", ["tools = { disable = [] }\n", "tools.disable = [\n # why\n]\n"])
def test_what_cannot_be_changed_without_loss_is_left_to_the_person(tmp_path, text):
    key = ("tools", "disable")
    if "why" not in text:
        with pytest.raises(ConfigError, match=r"config.toml:1: tools.always: too complex"):
            with_value(document(text, tmp_path), ("tools", "always"), ["a"])
    else:
        with pytest.raises(ConfigError, match="by hand"):
            with_value(document(text, tmp_path), key, ["a"])


def test_a_value_is_removed_and_a_missing_one_named(tmp_path):
    two = document("mode = 'plan'\n[tools]\ndisable = ['a']\n", tmp_path)
    assert without_value(two, ("tools", "disable")).text == "mode = 'plan'\n"
    with pytest.raises(ConfigError, match="does not set max_turns"):
        without_value(two, ("max_turns",))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("[tools]\ndisable = ['a']\n", ""),
        ("mode = 'plan'\n\n[tools]\ndisable = ['a']\n\n[wrap]\nx = 1\n", None),
        ("[tools]\ndisable = ['a']\n# why\n", "[tools]\n# why\n"),
        ("[tools]\ndisable = ['a']\nalways = ['b']\n", "[tools]\nalways = ['b']\n"),
        ("tools.disable = ['a']\n", ""),
    ],
)
def test_a_table_goes_with_its_last_value_unless_a_comment_is_there(tmp_path, text, rest):
    changed = without_value(document(text, tmp_path), ("tools", "disable")).text
    assert changed == ("mode = 'plan'\n\n[wrap]\nx = 1\n" if rest is None else rest)


def test_set_writes_the_persons_file(nanocoder):
    file = nanocoder.home / ".config/nanocoder/config.toml"
    done = nanocoder("config", "set", "mode", "plan")
    assert (done.returncode, done.stdout) == (0, f'mode = "plan" ({file}:1)\n'), done.stderr
    assert nanocoder("config", "set", "plugins.policy-rules.deny", "bash(rm *)").returncode == 0
    assert nanocoder("config", "set", "max_turns", "20").returncode == 0
    lines = file.read_text().splitlines()
    assert lines[:2] == ['mode = "plan"', "max_turns = 20"]
    assert lines[-2:] == ["[plugins.policy-rules]", 'deny = ["bash(rm *)"]']
    assert nanocoder("config", "unset", "mode").stdout == 'mode = "ask" (default)\n'


def test_set_says_which_list_it_replaced(nanocoder):
    key = "plugins.policy-rules.deny"
    assert nanocoder("config", "set", key, "bash(rm *)").stderr == ""
    assert nanocoder("config", "set", key, '["bash(rm *)"]').stderr == ""
    replaced = nanocoder("config", "set", key, '["bash(dd *)"]')
    assert replaced.stderr == 'nanocoder: it was ["bash(rm *)"]\n'


@pytest.mark.rows(5)
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("modle", "x", "did you mean 'model'?"),
        ("deny", "x", "did you mean 'plugins.policy-rules.deny'?"),
        ("plugins.deny", "x", "did you mean 'plugins.policy-rules.deny'?"),
        ("mode", "everything", "expected one of plan, ask, edits, auto"),
        ("max_turns", "many", "expected a whole number"),
        ("max_turns", "many", "nothing was changed, because this would be wrong"),
        ("plugins.tool-gerp.x", "1", "there is no configuration key"),
        ("api_key", "sk-1", "a vendor's key belongs in its variable, which `nanocoder models`"),
        ("plugins.policy-rules.deny", "((", "policy-rules"),
        (
            "plugins.policy-rules.deny",
            '["bsh(git push *)"]',
            "would be wrong: 'bsh(git push *)' is about the tool 'bsh', which is not installed",
        ),
        ("tools.disable", '["bsh"]', "nothing was changed, because this would be wrong: there is"),
    ],
)
def test_a_wrong_key_or_value_is_refused_and_nothing_is_written(nanocoder, key, value, message):
    done = nanocoder("config", "set", key, value)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (nanocoder.home / ".config/nanocoder/config.toml").exists()


def test_a_refused_value_names_no_line_that_is_not_there(nanocoder):
    done = nanocoder("config", "set", "max_turns", "-1")
    assert "would be wrong: max_turns: expected a whole number" in done.stderr
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("max_turns = -1\n")
    done = nanocoder("config", "set", "plugins.tool-bash.timeout_s", "1")
    assert f"{file}:1: max_turns" in done.stderr, "a line that is there is named"


def test_a_stronger_layer_is_named_and_a_call_of_a_tool_may_not_set_anything(nanocoder):
    done = nanocoder("config", "set", "mode", "auto", env={"NANOCODER_MODE": "plan"})
    assert "NANOCODER_MODE overrides it here" in done.stderr
    inside = nanocoder("config", "set", "mode", "auto", env={"NANOCODER_CALL": "call_1"})
    assert inside.returncode == 2
    assert "a tool call may not" in inside.stderr


def test_a_name_that_nothing_has_is_not_written(nanocoder):
    for key, name in (("sandbox", "bwrapp"), ("dialect", "nanoo"), ("store", "filess")):
        done = nanocoder("config", "set", key, name)
        assert done.returncode == 2
        assert f"nothing was changed: there is no {key} {name!r}; did you mean" in done.stderr
    assert not (nanocoder.home / ".config/nanocoder/config.toml").exists()
    for key, name in (("sandbox", "none"), ("dialect", ""), ("store", "files")):
        assert nanocoder("config", "set", key, name).returncode == 0


def test_a_slip_in_the_file_keeps_nobody_from_removing_it(nanocoder):
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[plugins.policy-rules]\ndeny = ['bsh(rm *)']\nask = ['raed_file']\n")
    done = nanocoder("config", "set", "plugins.policy-rules.deny", '["bash(rm *)"]')
    assert done.returncode == 0, done.stderr
    assert nanocoder("config", "unset", "plugins.policy-rules.ask").returncode == 0
    assert file.read_text() == '[plugins.policy-rules]\ndeny = ["bash(rm *)"]\n'


def waits_for(lock):
    """Return True if a process waits for the lock of a file."""
    inode = f":{lock.stat().st_ino} "
    lines = Path("/proc/locks").read_text().splitlines()
    return any("->" in line and inode in line for line in lines)


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the system names no locks")
@pytest.mark.parametrize("words", [("set", "mode", "plan"), ("unset", "max_tokens")])
def test_what_another_command_changes_meanwhile_stays(nanocoder, words):
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("max_tokens = 5\n")
    lock = nanocoder.home / ".local/state/nanocoder/config.lock"
    lock.parent.mkdir(parents=True)
    with ThreadPoolExecutor() as pool:
        with lock.open("w") as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            done = pool.submit(nanocoder, "config", *words)
            while not (waits_for(lock) or done.done()):
                time.sleep(0.01)
            file.write_text("max_tokens = 5\nmax_turns = 30\n")
        assert done.result().returncode == 0
    assert "max_turns = 30\n" in file.read_text()
    assert ("max_tokens" in file.read_text()) is (words[0] == "set")
    assert ("plan" in file.read_text()) is (words[0] == "set")
