"""The managed layer: what an administrator sets, no other layer loosens."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import field, frozen
from nanocoder.config import Config
from nanocoder.values import Mode
from nanocoder_config import ConfigFile, Layer
from nanocoder_files import writable_by_others
from nanocoder_schema import ConfigError, UsageError

COMMAND = str(Path(sys.executable).with_name("nanocoder"))
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files that count")


@frozen
class Settings:
    deny: tuple[str, ...] = field(default=(), metadata={"tighten": "union"})
    limit: int = field(default=30, metadata={"tighten": "min"})
    allow: tuple[str, ...] = ()


def layered(tmp_path, **texts):
    """Return a configuration of one file per layer."""
    layers = []
    for name in ("managed", "user", "project"):
        if name in texts:
            document = ConfigFile(tmp_path / f"{name}.toml", texts[name].encode())
            layers.append(Layer(name, document.data, document))
    flags = texts.get("flags", {})
    return Config([*layers, Layer("flag", flags, names={key: f"--{key}" for key in flags})])


@pytest.mark.contract("C8")
@pytest.mark.contract("M1")
@pytest.mark.parametrize(
    ("managed", "user", "expected"),
    [
        ('deny = ["a"]', 'deny = ["b"]', {"deny": ("a", "b")}),
        ('deny = ["a"]', "deny = []", {"deny": ("a",)}),
        ('deny = ["a"]', "limit = 5", {"deny": ("a",), "limit": 5}),
        ("limit = 10", "limit = 5", {"limit": 5}),
        ("limit = 10", "limit = 20", {"limit": 10}),
        ('allow = ["a"]', 'allow = ["b"]', {"allow": ("a",)}),
        ("allow = []", 'allow = ["b"]', {"allow": ()}),
    ],
)
def test_other_layers_add_to_lists_and_lower_limits_and_change_nothing_else(
    tmp_path, managed, user, expected
):
    table = "[plugins.policy-x]\n"
    config = layered(tmp_path, managed=table + managed, user=table + user)
    assert config.settings("policy-x", Settings) == Settings(**expected)


@pytest.mark.parametrize(
    ("asked", "mode"), [("plan", "plan"), ("ask", "ask"), ("edits", "ask"), ("auto", "ask")]
)
def test_a_managed_mode_is_the_loosest_one_from_any_layer(tmp_path, asked, mode):
    for texts in ({"user": f'mode = "{asked}"'}, {"flags": {"mode": asked}}):
        config = layered(tmp_path, managed='\nmode = "ask"', **texts)
        assert config.core.mode == mode
        if asked != mode:
            assert f"managed.toml:2 (managed) sets it, so {asked} cannot replace" in str(
                config.notices
            )


def test_a_stricter_value_of_one_layer_may_be_loosened_by_the_next_up_to_the_limit(tmp_path):
    texts = {"managed": "max_turns = 20", "user": "max_turns = 5"}
    assert layered(tmp_path, **texts, flags={"max_turns": 15}).core.max_turns == 15
    assert layered(tmp_path, **texts, flags={"max_turns": 25}).core.max_turns == 5


def test_a_session_cannot_leave_a_managed_mode(tmp_path):
    config = layered(tmp_path, managed='mode = "ask"\nmodel = "acme/m"')
    config.refuse_change("mode", Mode.PLAN)
    with pytest.raises(UsageError, match="auto cannot replace the stricter ask"):
        config.refuse_change("mode", Mode.AUTO)
    with pytest.raises(UsageError, match="nothing else may"):
        config.refuse_change("model", "other/m")


def test_a_plugin_with_managed_settings_cannot_be_disabled(tmp_path):
    config = layered(
        tmp_path,
        managed='[plugins.policy-x]\ndeny = ["a"]',
        user='[plugins]\ndisable = ["policy-x", "tool-y"]',
    )
    assert config.disabled_plugins == {"tool-y"}
    assert "'policy-x' has managed settings" in config.notices[0]


def test_a_managed_table_without_its_plugin_is_surely_a_mistake(tmp_path):
    config = layered(tmp_path, managed="[plugins.policy-x]\n", user="[plugins.tool-z]\n")
    (line,) = config.unknown_plugins(frozenset({"tool-a"}), surely=True)
    assert "managed.toml:1 (managed): there is no plugin 'policy-x'" in line


def load(folder, managed_dir):
    workspace = folder / "ws"
    workspace.mkdir(exist_ok=True)
    environment = {"HOME": str(folder / "home"), "XDG_CONFIG_DIRS": str(folder / "other")}
    return Config.load(workspace, environment=environment, managed_dir=managed_dir)


@needs_root
@pytest.mark.contract("C8")
@pytest.mark.parametrize("attack", ["file mode", "file owner", "folder", "link", "target", "above"])
def test_a_managed_file_that_others_can_change_stops_the_start(tmp_path, attack):  # CONF-013
    folder = tmp_path / "etc" / "nanocoder"
    folder.mkdir(parents=True)
    file = folder / "config.toml"
    file.write_text("max_turns = 3\n")
    assert load(tmp_path, folder).core.max_turns == 3
    if attack == "file mode":
        file.chmod(0o664)
    elif attack == "file owner":
        os.chown(file, 1000, -1)
    elif attack == "folder":
        folder.chmod(0o777)
    elif attack == "link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
        os.chown(file, 1000, -1, follow_symlinks=False)
    elif attack == "target":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
        os.chown(tmp_path / "elsewhere", 1000, -1)
    else:
        folder.parent.chmod(0o777)
    with pytest.raises(ConfigError, match="users other than root can change"):
        load(tmp_path, folder)


@needs_root
@pytest.mark.parametrize("content", ["mode =", "mode = 'yolo'", "moode = 'ask'", "\0"])
def test_a_broken_managed_file_stops_the_start(tmp_path, content):  # CONF-014
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "config.toml").write_text(content)
    with pytest.raises(ConfigError, match=str(folder)):
        load(tmp_path, folder)


def test_a_missing_managed_file_changes_nothing(tmp_path):
    assert load(tmp_path, tmp_path / "etc").notices == ()


def test_what_root_alone_can_change_is_recognised(tmp_path):
    assert writable_by_others(tmp_path / "missing") in {"", str(tmp_path)}
    assert os.geteuid() != 0 or not writable_by_others(tmp_path / "missing")


@needs_root
@pytest.mark.contract("C8")
@pytest.mark.timeout(60)
def test_the_real_place_holds_against_user_environment_and_flags(nanocoder, tmp_path):  # CONF-012
    etc = tmp_path / "etc"
    (etc / "nanocoder").mkdir(parents=True)
    for name in ("passwd", "group", "ld.so.cache"):
        (etc / name).write_bytes(Path("/etc", name).read_bytes())
    (etc / "nanocoder/config.toml").write_text('mode = "ask"\nmax_turns = 2\n')
    own = nanocoder.home / ".config/nanocoder/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('mode = "auto"\nmax_turns = 50\n')
    moved = {
        "NANOCODER_MODE": "auto",
        "NANOCODER_MANAGED_DIR": str(nanocoder.home),
        "XDG_CONFIG_DIRS": str(nanocoder.home),
    }
    mounted = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(etc)]
    process = subprocess.run(
        [*mounted, COMMAND, "config", "show"],
        env={**nanocoder.environment, **moved},
        cwd=nanocoder.cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    shown = {line.split()[0]: line for line in process.stdout.splitlines() if line.strip()}
    assert '"ask"' in shown["mode"]
    assert "/etc/nanocoder/config.toml:1 (managed)" in shown["mode"]
    assert "/etc/nanocoder/config.toml:2 (managed)" in shown["max_turns"]
    assert "auto cannot replace the stricter ask" in process.stderr
