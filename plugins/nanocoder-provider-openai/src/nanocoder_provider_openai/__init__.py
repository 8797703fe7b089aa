"""OpenAI, and every server that speaks its Chat Completions, as a provider.

The wire is imported when the provider is opened; describing the plugin imports no HTTP client.
"""

import os
from typing import TYPE_CHECKING

from nanocoder import ProviderSpec, hookimpl

from nanocoder_provider_openai.settings import Settings

if TYPE_CHECKING:
    from nanocoder import Provider


@hookimpl
def nanocoder_settings() -> type:
    """Return the settings class."""
    return Settings


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer `openai/MODEL`."""
    return [
        ProviderSpec(
            name="openai",
            open=open_provider,
            description="OpenAI, or any server that speaks Chat Completions.",
            default_model="gpt-5.5",
            key_variables=("OPENAI_API_KEY",),
            rank=11,
            hint="set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs no key",
        )
    ]


def open_provider(model: str, settings: Settings | None) -> "Provider":
    """Open *model*; raises ProviderError (no key for OpenAI itself), ConfigError (address)."""
    from nanocoder_provider_openai.chat import OpenAIProvider  # brings the HTTP kit

    settings = settings or Settings()
    base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL", "")
    return OpenAIProvider(model, settings, base_url)
