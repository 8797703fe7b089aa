"""A home without configuration and a model for sub-agents that nobody has to pay for."""

import json

import pytest


@pytest.fixture(autouse=True)
def script(tmp_path_factory, monkeypatch):
    """Return what writes the turns of the sub-agents; by default they greet."""
    home = tmp_path_factory.mktemp("home")
    path = home / "agent.json"

    def write(*turns):
        path.write_text(json.dumps({"turns": turns}), encoding="utf-8")
        return f"scripted/{path}"

    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NANOCODER_MODEL", write({"text": "Hello."}))
    return write
