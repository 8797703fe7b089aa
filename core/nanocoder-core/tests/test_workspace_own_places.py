"""Where nanocoder keeps its own files, nothing is changed through a workspace that holds them."""

import os

import pytest
from nanocoder import Workspace, WorkspaceError


@pytest.fixture
def home(tmp_path):
    own = tmp_path / ".config/nanocoder"
    own.mkdir(parents=True)
    (own / "config.toml").write_text('mode = "ask"\n')
    with Workspace(tmp_path, extra_protected=[str(own)]) as workspace:
        yield workspace


CHANGES = {
    "overwriting": lambda home: home.write_text(".config/nanocoder/config.toml", "mode = 'auto'"),
    "another spelling": lambda home: home.write_text(".config/x/../nanocoder/new.toml", ""),
    "deleting": lambda home: home.delete(".config/nanocoder/config.toml"),
    "moving it away": lambda home: home.move(".config/nanocoder/config.toml", "elsewhere"),
    "moving what holds it": lambda home: home.move(".config", "elsewhere"),
    "moving over it": lambda home: home.move("mine", ".config/nanocoder/config.toml", replace=True),
}


# SESS-012, CONF-009
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_no_change_reaches_them(home, change):
    (home.root / "mine").write_text("mine")
    (home.root / ".config/x").mkdir()
    with pytest.raises(WorkspaceError) as refused:
        change(home)
    assert refused.value.error_class == "protected_path"
    assert (home.root / ".config/nanocoder/config.toml").read_text() == 'mode = "ask"\n'


def test_a_link_does_not_lead_to_them(home):
    os.symlink(".config/nanocoder", home.root / "link")
    with pytest.raises(WorkspaceError, match="settings or state of nanocoder"):
        home.write_text("link/config.toml", "")


def test_what_lies_beside_them_can_be_changed(home):
    home.write_text(".config/other.toml", "x = 1\n")
    assert (home.root / ".config/other.toml").read_text() == "x = 1\n"
