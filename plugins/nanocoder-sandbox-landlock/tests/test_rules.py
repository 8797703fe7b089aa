"""The rules for files outside of the workspace follow the disk."""

from nanocoder_sandbox_landlock.rules import SystemRules


def test_what_appears_in_a_folder_of_the_system_is_in_the_next_rules(tmp_path):
    kept = SystemRules()
    secret = str(tmp_path / "secret")
    # Above the secret each folder is listed; EMPTY_PLACES are not, and tmp_path is in /tmp.
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        rules = dict(kept._surroundings(str(tmp_path), frozenset((secret,))))
        assert str(tmp_path / name) in rules
    (tmp_path / "secret").mkdir()
    assert secret not in dict(kept._surroundings(str(tmp_path), frozenset((secret,))))
    (tmp_path / "first").rmdir()
    (tmp_path / "first").write_text("a file now")
    rules = dict(kept._surroundings(str(tmp_path), frozenset((secret,))))
    assert rules[str(tmp_path / "first")] != rules[str(tmp_path / "second")]
