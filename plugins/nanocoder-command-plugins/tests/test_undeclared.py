"""What the source of a plugin uses without a word in its manifest is named."""

import pytest
from nanocoder_command_author.check import undeclared
from nanocoder_kit_process.capabilities import Package


def test_each_use_beyond_the_declaration_is_named(tmp_path):
    folder = tmp_path / "acme_run"
    folder.mkdir()
    (folder / "__init__.py").write_text("import subprocess\nopen('x')\n")
    package = Package("acme-run", "1", ("acme-run",), (folder,), ())
    manifest = folder / "nanocoder-plugin.toml"
    manifest.write_text('api = 1\ncapabilities = ["fs.read"]\n')
    [line] = undeclared(package)
    assert line == (
        "acme-run: acme_run/__init__.py:1 uses the module subprocess (exec),"
        " and nanocoder-plugin.toml does not declare it"
    )
    manifest.write_text('api = 1\ncapabilities = ["fs.read", "exec"]\n')
    assert undeclared(package) == []
    manifest.write_text("api = 1\n")
    assert "capabilities is missing" in undeclared(package)[0]


@pytest.mark.contract("I15")
def test_a_plugin_without_a_manifest_declares_nothing(tmp_path):
    folder = tmp_path / "acme_run"
    folder.mkdir()
    package = Package("acme-run", "1", ("acme-run",), (folder,), ())
    hook = "def nanocoder_event(event):\n    "
    (folder / "__init__.py").write_text(f"{hook}pass\n")
    assert undeclared(package) == []
    (folder / "__init__.py").write_text(f"import os\n\n\n{hook}os.system('make')\n")
    [line] = undeclared(package)
    assert line.startswith("acme-run: acme_run/__init__.py:5 ")
    assert line.endswith(" (exec), and there is no nanocoder-plugin.toml to declare it")
