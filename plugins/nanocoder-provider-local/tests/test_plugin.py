import subprocess
import sys

import pytest
from nanocoder_provider_local import Settings, nanocoder_select_provider
from nanocoder_provider_local.settings import DEFAULT_MODEL

OWN = f"local/{DEFAULT_MODEL}"


@pytest.fixture
def weights(tmp_path):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    return file


def test_the_embedded_model_answers_where_another_failed(weights):
    settings = Settings(weights=str(weights), stands_in=True)
    assert nanocoder_select_provider(settings, ["openai/gpt-5"]) == OWN
    assert nanocoder_select_provider(settings, ["openai/gpt-5", OWN]) is None


def test_it_is_no_choice_of_a_session_that_names_no_model(weights):
    assert nanocoder_select_provider(Settings(weights=str(weights), stands_in=True), []) is None


def test_it_does_not_stand_in_unasked_or_without_weights(weights):
    failed = ["openai/gpt-5"]
    assert nanocoder_select_provider(Settings(weights=str(weights)), failed) is None
    weights.unlink()
    assert nanocoder_select_provider(Settings(weights=str(weights), stands_in=True), failed) is None


def test_importing_the_plugin_loads_no_engine():
    code = (
        "import sys, nanocoder_provider_local as plugin; "
        "plugin.nanocoder_providers(); plugin.nanocoder_settings(); "
        "print([name for name in ('xllamacpp', 'platformdirs', 'hashlib') if name in sys.modules])"
    )

    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert process.stdout == "[]\n"
