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
