"""Ollama, in its own protocol, as a provider.

The HTTP client is imported when the provider is opened, not to describe the plugin.
"""

import os
from typing import TYPE_CHECKING

from nanocoder import ProviderError, ProviderSpec, hookimpl
from nanocoder_kit_llm.http import is_listening

from nanocoder_provider_ollama.provider import OllamaProvider, only_model
from nanocoder_provider_ollama.settings import Settings, address

if TYPE_CHECKING:
    from nanocoder import Provider


@hookimpl
def nanocoder_settings() -> type:
    """Return the settings class."""
    return Settings


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer `ollama/MODEL`."""
    return [
        ProviderSpec(
            name="ollama",
            open=open_provider,
            description="Ollama, on this machine or at OLLAMA_HOST.",
            rank=50,
            hint="start Ollama, and name one of its models: --model ollama/MODEL",
            probe=served_model,
        )
    ]


def served_model(settings: Settings | None) -> str:
    """Return the only model of the server, or "" if no server is named and none runs here.

    Raises ProviderError if OLLAMA_HOST names a server that does not answer, or that has several
    models.
    """
    settings = settings or Settings()
    is_named = bool(settings.base_url or os.environ.get("OLLAMA_HOST"))
    if not is_named and not is_listening(address(settings)):
        return ""

    try:
        return only_model(settings)
    except ProviderError:
        if is_named:
            raise
        return ""  # the person did not name this server


def open_provider(model: str, settings: Settings | None) -> "Provider":
    """Open *model*; the server is asked with the first request. Raises ConfigError (address)."""
    return OllamaProvider(model, settings or Settings())
