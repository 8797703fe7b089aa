"""A program that only reads is one of the system: others may read the workspace before they do."""

import os
import shutil

import pytest


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_program_in_another_folder_on_path_is_not_taken_for_it(
    is_inside, tmp_path, tmp_path_factory, judge, monkeypatch
):
    def decision(path):
        monkeypatch.setenv("PATH", path)
        return str(judge("bash", {"command": "cat a.py"}).decision)

    folder = tmp_path / "bin" if is_inside else tmp_path_factory.mktemp("bin")
    folder.mkdir(exist_ok=True)
    assert decision(f"{folder}:{os.defpath}") == "allow"
    shutil.copy(shutil.which("cat"), folder / "cat")
    # Where the programs are is remembered for each PATH.
    assert decision(f"{folder}/:{os.defpath}") == "ask"
    assert decision(f"{os.defpath}:{folder}") == "allow"
    (folder / "cat").chmod(0o644)
    assert decision(f"{folder}//:{os.defpath}") == "allow"
    assert decision("bin:.") == "ask"
