"""Every plugin of ours declares what it does, and its source uses no more than that."""

from pathlib import Path

import pytest
import repository
from nanocoder_kit_process.capabilities import outline, read_manifest, scan

NEEDED = {"read": "fs.read", "write": "fs.write", "execute": "exec", "network": "net:*"}


def packages() -> list[Path]:
    """Return the folders of the packages of ours that are plugins."""
    return [
        package.folder / "src" / module
        for package in repository.packages()
        for module in package.entry_points.values()
    ]


@pytest.mark.parametrize("package", packages(), ids=lambda package: package.name)
def test_a_plugin_declares_what_it_does(package: Path) -> None:
    manifest = read_manifest(package)
    assert manifest is not None, f"{package} has no nanocoder-plugin.toml"
    declared = manifest.capabilities
    beyond = [str(use) for use in scan(package) if use.capability not in declared]
    for tool in outline(package).tools:
        needed = (NEEDED[effect] for effect in tool.effects if effect in NEEDED)
        beyond += [f"{tool.name}: {name}" for name in needed if name not in declared]
    assert not beyond


def test_there_are_plugins_to_look_at() -> None:
    assert len(packages()) > 50
