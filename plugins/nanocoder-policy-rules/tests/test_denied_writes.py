"""Rules that deny a tool to change files keep these files from commands, too."""

import attrs
import pytest
from nanocoder import Mode, SessionInfo
from nanocoder_policy_rules import Settings, nanocoder_readable
from nanocoder_policy_rules.rule_tables import RuleTable


def table(**keys):
    return {"rules": (RuleTable("deny", **keys),)}


# A folder is kept with all that is in it, and all that will be.
KEPT = {
    "secrets/**": ("secrets", "Secrets"),
    "secrets/*": ("secrets",),
    "*.lock": ("u.lock", "a/b/u.lock", "U.LOCK"),
    "data/*.csv": ("data/a.csv",),
    "**/generated/**": ("generated", "a/generated"),
    "{one,two}.py": ("one.py", "a/two.py"),
    "/data/**": ("data",),
    "./a": ("a",),
    "{src/gen/a,package.json}": ("src/gen/a", "package.json"),
    "{src,rel/conf}/**": ("src", "rel/conf"),
    "src/g*/*": ("src/gen", "src/g"),
}
FREE = {
    "secrets/**": ("a/secrets", "secret", "secrets.py"),
    "secrets/*": ("a/secrets",),
    "*.lock": ("lock", "u.lock.py"),
    "data/*.csv": ("data", "a.csv", "data/a/b.csv"),
    "**/generated/**": ("generated.py",),
    "{one,two}.py": ("three.py",),
    "/data/**": ("a/data",),
    "./a": ("b/a",),
    "{src/gen/a,package.json}": ("a", "src/a"),
    "{src,rel/conf}/**": ("rel", "conf"),
    "src/g*/*": ("gen", "src/a"),
}


def kept(tmp_path, tools, path, mode="edits", **settings):
    session = SessionInfo("s", tmp_path, Mode(mode))
    folder, _, name = path.rpartition("/")
    rules = nanocoder_readable(tools, session, Settings(**settings))
    return rules.read_only(folder, [name, "other"]).get(name, "")


@pytest.mark.parametrize("pattern", KEPT)
@pytest.mark.parametrize("tool", ["write_file", "edit_file", "delete_file", "*_file", "stranger"])
def test_a_rule_that_denies_changes_is_about_commands(tmp_path, tools, pattern, tool):
    rule = f"{tool}({pattern})"
    for path in KEPT[pattern]:
        assert kept(tmp_path, tools, path, deny=(rule,)) == f"the rule {rule!r} forbids it"
    for path in FREE[pattern]:
        assert kept(tmp_path, tools, path, deny=(rule,)) == ""


@pytest.mark.parametrize(
    ("settings", "mode", "is_kept"),
    [
        (table(effect="write", pattern="a"), "edits", True),
        (table(tool="write_file", pattern="a", mode="plan"), "edits", False),
        (table(tool="write_file", pattern="a", mode="auto"), "auto", True),
        (table(tool="write_file", pattern="a", agent="review"), "edits", False),
        ({"deny": ("write_file(a) @review",)}, "edits", False),
        ({"deny": ("read_file(a)",)}, "edits", False),
        ({"deny": ("bash(a)",)}, "edits", False),
        ({"deny": ("write_file",)}, "edits", False),
        ({"deny": ("write_file(**)",)}, "edits", False),
        ({"ask": ("write_file(a)",)}, "edits", False),
    ],
)
def test_a_rule_is_about_commands_where_it_holds(tmp_path, tools, settings, mode, is_kept):
    assert bool(kept(tmp_path, tools, "a", mode, **settings)) is is_kept


def test_an_absolute_pattern_is_about_the_workspace_and_its_copies(tmp_path, tools):
    rules = Settings(deny=(f"write_file({tmp_path}/ws/data/**)",))
    session = SessionInfo("s", tmp_path / "ws")
    copy = attrs.evolve(session, cwd=tmp_path / "copy", origins=(tmp_path / "ws",))
    for each in (session, copy):
        filter_ = nanocoder_readable(tools, each, rules)
        assert filter_.read_only("", ["data", "b"]).keys() == {"data"}


@pytest.mark.parametrize("tool", ["read_file", "write_file"])
def test_a_pattern_for_a_folder_above_the_workspace_is_about_all_of_it(tmp_path, tools, tool):
    workspace = tmp_path / "ws"
    for pattern in (f"{tmp_path}/**", f"{workspace}/**"):
        rules = Settings(deny=(f"{tool}({pattern})",))
        filter_ = nanocoder_readable(tools, SessionInfo("s", workspace), rules)
        if tool == "write_file":
            assert filter_.read_only("a", ["b"]).keys() == {"b"}
        else:
            assert "b" in filter_.suspects("a", ["b"])
            assert filter_.refuses("a/b")


@pytest.mark.parametrize("path", ["rel/conf/c", "package.json", "x.lock"])
def test_each_of_several_patterns_in_braces_keeps_files_from_being_read(tmp_path, tools, path):
    rules = Settings(deny=("read_file({rel/conf/c,package.json,deep/k*,*.lock})",))
    filter_ = nanocoder_readable(tools, SessionInfo("s", tmp_path), rules)
    folder, _, name = path.rpartition("/")
    assert name in filter_.suspects(folder, [name])
    assert filter_.refuses(path)


RULE = "the rule 'write_file(data/**)' forbids it"


@pytest.mark.parametrize("command", ["echo x > data/a", "sed -i s/a/b/ ./data/a", "rm -r data"])
def test_a_command_that_no_sandbox_holds_asks_by_its_words(judge, command):
    where = {"deny": ["write_file(data/**)"], "mode": "auto"}
    asked = judge("bash", {"command": command}, **where)
    assert str(asked.decision) == "ask"
    assert f"{RULE}, and no sandbox keeps the command from" in asked.reason
    outside = {"command": command, "access": "outside", "reason": "why"}
    assert RULE in judge("bash", outside, sandbox="bwrap", allow=["bash"], **where).reason
    held = judge("bash", {"command": command}, sandbox="bwrap", **where)
    assert str(held.decision) == "allow"


def test_a_command_that_only_reads_a_kept_file_is_not_asked_about(judge):
    verdict = judge("bash", {"command": "cat data/a"}, deny=["write_file(data/**)"])
    assert str(verdict.decision) == "allow"
