"""The scripts of `nanocoder completion`, as the command prints them."""

import pytest

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_every_shell_has_a_completion(nanocoder, shell):
    done = nanocoder("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "chat" in done.stdout
    if shell != "tcsh":
        assert "nanocoder sessions list" in done.stdout


def test_without_shtab_the_command_says_what_installs_it(nanocoder, tmp_path):
    (tmp_path / "shtab.py").write_text("raise ModuleNotFoundError('shtab')\n")
    done = nanocoder("completion", "bash", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert "nanocoder plugins install 'command-plugins[completion]'" in done.stderr
    assert "Traceback" not in done.stderr
