"""OpenAI, and every server that speaks its Chat Completions, as a provider.

The HTTP client is imported when the provider is opened, not to describe the plugin.
"""

import os
from typing import TYPE_CHECKING, Final

from nanocoder import ProviderSpec, hookimpl

from nanocoder_provider_openai.settings import Settings

if TYPE_CHECKING:
    from nanocoder import Provider


@hookimpl
def nanocoder_settings() -> type:
    """Return the settings class."""
    return Settings


DEFAULT_MODEL: Final = "gpt-5.5"
SERVERS: Final = {
    "ollama": "OPENAI_BASE_URL=http://localhost:11434/v1",
    "lmstudio": "OPENAI_BASE_URL=http://localhost:1234/v1",
    "lm-studio": "OPENAI_BASE_URL=http://localhost:1234/v1",
    "llamacpp": "OPENAI_BASE_URL=http://localhost:8080/v1",
    "llama.cpp": "OPENAI_BASE_URL=http://localhost:8080/v1",
    "vllm": "OPENAI_BASE_URL=http://localhost:8000/v1",
    "litellm": "OPENAI_BASE_URL=http://localhost:4000/v1",
    "openrouter": "OPENAI_BASE_URL=https://openrouter.ai/api/v1 and OPENAI_API_KEY",
    "groq": "OPENAI_BASE_URL=https://api.groq.com/openai/v1 and OPENAI_API_KEY",
    "deepseek": "OPENAI_BASE_URL=https://api.deepseek.com/v1 and OPENAI_API_KEY",
    "mistral": "OPENAI_BASE_URL=https://api.mistral.ai/v1 and OPENAI_API_KEY",
}
"""Servers that people name as providers, at their usual addresses."""


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer `openai/MODEL`."""
    return [
        ProviderSpec(
            name="openai",
            open=open_provider,
            description="OpenAI, or any server that speaks Chat Completions.",
            default_model=DEFAULT_MODEL,
            key_variables=("OPENAI_API_KEY",),
            rank=11,
            hint="set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs no key",
            servers=SERVERS,
            probe=served_model,
        )
    ]


def served_model(settings: Settings | None) -> str:
    """Return the model that the server at the configured address serves, "" without an address.

    Raises ProviderError without an answer, or with several models to choose from.
    """
    settings = settings or Settings()
    base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not base_url or "//api.openai.com/" in f"{base_url}/":
        return ""
    from nanocoder_provider_openai.served import model_at  # brings the HTTP kit

    return model_at(base_url, settings, DEFAULT_MODEL)


def open_provider(model: str, settings: Settings | None) -> "Provider":
    """Open *model*; raises ProviderError (no key for OpenAI itself), ConfigError (address)."""
    from nanocoder_provider_openai.chat import OpenAIProvider  # brings the HTTP kit

    settings = settings or Settings()
    base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL", "")
    return OpenAIProvider(model, settings, base_url)
