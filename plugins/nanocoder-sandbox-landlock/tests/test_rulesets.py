"""A ruleset is made once for as long as each of its paths leads to the same file."""

import os

import pytest
from nanocoder_kit_sandbox import kernel
from nanocoder_kit_sandbox.rulesets import inner_rulesets, outer_rulesets


@pytest.fixture
def rules(tmp_path):
    """Return rules for a folder, a file and a path that is not there."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    paths = [(str(tmp_path / name), kernel.READ_FILE) for name in ("folder", "file", "none")]
    version = kernel.landlock_version()
    outer = [(str(tmp_path / "folder"), kernel.CHANGE)]
    return {"inner": paths, "outer": outer, "network": False, "version": version}


def replace(path):
    beside = path.with_name("beside")
    beside.write_text("x")
    beside.rename(path)


def test_a_ruleset_is_kept_while_its_files_are_the_same(rules):
    ruleset = inner_rulesets()
    assert [ruleset.of(rules) for _ in range(3)] == [ruleset.of(dict(rules))] * 3
    assert ruleset.made == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda tmp: replace(tmp / "file"),
        lambda tmp: (tmp / "file").unlink(),
        lambda tmp: (tmp / "none").mkdir(),
        lambda tmp: (tmp / "folder").rename(tmp / "moved"),
        # A remote file system may give a new file the number of the one that it replaces.
        lambda tmp: (tmp / "file").chmod(0o600),
    ],
)
def test_another_file_at_a_path_is_another_ruleset(rules, tmp_path, change):
    ruleset = inner_rulesets()
    ruleset.of(rules)
    change(tmp_path)
    ruleset.of(rules)
    assert ruleset.made == 2


@pytest.mark.parametrize("other", [{"network": True}, {"inner": []}, {"version": 1}])
def test_other_rules_are_another_ruleset(rules, other):
    ruleset = inner_rulesets()
    ruleset.of(rules)
    ruleset.of(rules | other)
    assert ruleset.made == 2
    ruleset.of(rules)
    assert ruleset.made == 3


def test_a_folder_in_which_names_appear_stays_the_same_for_what_is_forked_ahead(rules, tmp_path):
    ruleset = outer_rulesets()
    ruleset.of(rules)
    (tmp_path / "folder/new").write_text("x")
    ruleset.of(rules)
    assert ruleset.made == 1
    (tmp_path / "folder").rename(tmp_path / "moved")
    (tmp_path / "folder").mkdir()
    ruleset.of(rules)
    assert ruleset.made == 2


def test_a_ruleset_that_is_replaced_is_closed(rules, tmp_path):
    ruleset = inner_rulesets()
    ruleset.of(rules)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        replace(tmp_path / "file")
        ruleset.of(rules)
    assert len(os.listdir("/proc/self/fd")) == before
