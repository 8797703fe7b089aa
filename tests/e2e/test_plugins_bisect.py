"""The plugin that ends the process of a run is found, and kept out, while the others work."""

import pytest
from place import Place

GREET = """
from nanocoder import hookimpl, tool

@tool(risk="safe", effects={"read"}, examples=[{}])
def greet() -> str:
    \"\"\"Greet.\"\"\"
    return "hello"

@hookimpl
def nanocoder_tools():
    return [greet]
"""
PLAIN = "from nanocoder import hookimpl\n\n@hookimpl\ndef nanocoder_event(event):\n    pass\n"
FATAL = "import os\n" + PLAIN.replace("pass", "os._exit(9)")
FAILING = PLAIN.replace("pass", "raise RuntimeError('boom')")


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    for name in (
        "command-plugins",
        "kit-files",
        "kit-process",
        "kit-sessions",
        "store-memory",
    ):
        place.bring(f"nanocoder-{name}")
    config = place.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('store = "memory"\n')
    place.install("acme-greet", {"acme_greet.py": GREET}, "acme-greet")
    for number in range(4):
        name = f"acme-plain{number}"
        place.install(name, {f"{name.replace('-', '_')}.py": PLAIN}, name)
    return place


@pytest.mark.timeout(180)
def test_the_plugin_that_ends_a_run_is_found(place):
    assert place.greet().returncode == 0, place.greet()
    place.install("acme-fatal", {"acme_fatal.py": FATAL}, "acme-fatal")
    assert place.greet().returncode == 9
    done = place.run("plugins", "bisect", "call", "greet", "{}")
    assert done.returncode == 0, done
    assert "`nanocoder call greet '{}'` works without acme-fatal\n" in done.stdout
    assert "config set plugins.disable '[\"acme-fatal\"]'" in done.stdout


@pytest.mark.timeout(120)
def test_a_plugin_that_keeps_failing_is_out_in_the_next_session(place):
    place.install("acme-broken", {"acme_broken.py": FAILING}, "acme-broken")
    assert place.greet().returncode == 0
    again = place.greet()
    assert again.returncode == 0
    assert "plugin 'acme-broken' is disabled: nanocoder_event failed: RuntimeError" in again.stderr
    assert "(nanocoder plugins restore acme-broken)" in again.stderr
    assert place.run("plugins", "restore", "acme-broken").returncode == 0
    assert "is disabled" not in place.run("plugins", "list").stderr
