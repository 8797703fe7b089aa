"""Installing a plugin: slips of its name, and files that run at every start of Python."""

import pytest
from place import Place

PLUGIN = "from nanocoder import hookimpl\n\n\n@hookimpl\ndef nanocoder_tools():\n    return []\n"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "name", ["nanocoder-tool-gerp", "tool-gerp", "nanocoder_tool_grepp", "tool-gerp[x]>=1"]
)
def test_a_slip_of_a_name_is_not_installed(tmp_path, name):
    place = Place(tmp_path)
    place.bring("nanocoder-kit-process")
    place.bring("nanocoder-command-plugins")
    done = place.run("plugins", "install", name)
    assert done.returncode == 2
    assert "did you mean 'nanocoder-tool-grep'? Nothing was installed" in done.stderr


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("words", "package"),
    [
        (("call", "code_map", "{}"), "nanocoder-tool-codemap"),
        (("run", "hi", "--model", "local"), "provider-local"),
    ],
)
def test_what_is_not_installed_is_named_with_its_package(tmp_path, words, package):
    place = Place(tmp_path)
    for name in ("store-memory", "kit-files", "kit-process", "kit-sessions"):
        place.bring(f"nanocoder-{name}")
    done = place.run("--ephemeral", *words)
    assert f"nanocoder plugins install {package} adds it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(120)
def test_a_group_of_commands_is_named_with_its_package(tmp_path):
    done = Place(tmp_path).run("mcp", "list")
    assert done.returncode == 2
    assert "needs a package: nanocoder plugins install nanocoder-mcp\n" in done.stderr


# PLUG-038
@pytest.mark.timeout(120)
def test_a_file_that_runs_at_every_start_is_named(tmp_path):
    place = Place(tmp_path)
    for name in ("kit-files", "kit-process", "command-plugins"):
        place.bring(f"nanocoder-{name}")
    place.install("acme-sly", {"acme_sly.py": PLUGIN, "acme_sly.pth": "import os\n"}, "acme-sly")
    active = f"{PLUGIN}import os\nos.system('true')\n"
    place.install("acme-fine", {"acme_fine.py": active, "acme_fine.pth": "/nowhere\n"}, "acme-fine")
    done = place.run("plugins", "check", "acme-fine")
    assert "acme-sly contains acme_sly.pth, which runs code whenever Python starts" in done.stderr
    assert "its installation already ran it" in done.stderr
    assert "acme_fine.pth" not in done.stderr
    assert "acme-fine: acme_fine.py:8 starts true at import (exec)" in done.stderr
