"""`nanocoder config`: where values and files are, and what trust is given to."""

import pytest

pytestmark = pytest.mark.timeout(60)


@pytest.mark.finding("F9")
def test_path_and_show_say_where_the_files_are(nanocoder):
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
