"""`nanocoder config`: where values and files are, and what trust is given to."""

import pytest
from nanocoder.errors import ConfigError

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


@pytest.mark.finding("D18")
def test_a_file_that_changes_while_it_is_shown_is_not_trusted(nanocoder):
    from nanocoder.config.trust import trust

    file = nanocoder.cwd / ".nanocoder/config.toml"
    file.parent.mkdir()
    file.write_text('mode = "auto"\n')
    with pytest.raises(ConfigError, match="changed while it was shown"):
        trust(nanocoder.cwd, reviewed=b"else", environment={"HOME": str(nanocoder.home)})
