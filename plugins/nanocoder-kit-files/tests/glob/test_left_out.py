"""What a result says of what a walk has left out."""

from nanocoder_kit_files.glob.left_out import LeftOut, left_out_metadata, left_out_note


def test_files_and_folders_are_counted_once_each():
    left_out = LeftOut()
    for _ in range(2):
        left_out.add(left_out.files, ".", ["a"])
        left_out.add(left_out.folders, "deep", ["x", "y"])
    assert left_out_note(left_out) == "[1 file and 2 folders left out by rules]"
    assert left_out_metadata(left_out) == {"left_out": {"files": 1, "folders": 2}}


def test_only_wanted_files_count_but_every_folder_may_hold_one():
    left_out = LeftOut()
    left_out.add(left_out.files, ".", ["a", "b"])
    left_out.add(left_out.folders, ".", ["c"])
    assert left_out_note(left_out, lambda path: path == "x") == "[1 folder left out by rules]"


def test_nothing_left_out_says_nothing_and_a_file_of_rules_that_is_too_long_is_named():
    left_out = LeftOut()
    assert left_out_note(left_out) == ""
    assert left_out_metadata(left_out) == {}
    left_out.add(left_out.cut, ".", [".gitignore"])
    assert left_out_note(left_out) == "[.gitignore is too long: only its first patterns count]"
