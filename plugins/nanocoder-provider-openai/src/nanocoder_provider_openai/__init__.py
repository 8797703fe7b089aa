"""OpenAI, and the vendors and servers that speak its protocols, as providers.

The HTTP client is imported when a provider is opened, not to describe the plugin.
"""

import os
from functools import partial
from typing import TYPE_CHECKING

from nanocoder import ProviderError, ProviderSpec, hookimpl
from nanocoder_kit_llm.http import is_listening

from nanocoder_provider_openai.provider import OpenAIProvider
from nanocoder_provider_openai.settings import Settings
from nanocoder_provider_openai.vendors import OPENAI, OTHERS, SERVERS, Vendor

if TYPE_CHECKING:
    from nanocoder import Provider


@hookimpl
def nanocoder_settings() -> type:
    """Return the settings class."""
    return Settings


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer `openai/MODEL`, and each row of the table of vendors."""
    openai = ProviderSpec(
        name=OPENAI.name,
        open=open_provider,
        description=OPENAI.description,
        default_model=OPENAI.default_model,
        key_variables=(OPENAI.key_variable,),
        rank=OPENAI.rank,
        hint="set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs no key",
        servers=SERVERS,
        probe=partial(served_model, OPENAI),
    )
    return [openai, *map(_spec, OTHERS)]


def served_model(vendor: Vendor, settings: Settings | None) -> str:
    """Return the model that the vendor's server serves, or "" if no server is found.

    OpenAI's own server has its default model for a user whose program prints the key. Without an
    address, a local server is searched at its usual address. Raises ProviderError if the address is
    set and the server does not answer, or has several models.
    """
    settings = settings or Settings()
    own = settings.base_url if vendor is OPENAI else ""
    address = own or os.environ.get(vendor.address_variable, "")
    if vendor is OPENAI and (not address or "//api.openai.com/" in f"{address}/"):
        return OPENAI.default_model if settings.key_command else ""
    if not address and not (vendor.is_local and is_listening(vendor.address)):
        return ""
    from nanocoder_provider_openai.served import model_of  # imports the HTTP kit

    try:
        return model_of(vendor, settings)
    except ProviderError:
        if address:
            raise
        return ""  # the person did not name this server


def open_provider(model: str, settings: Settings | None, *, vendor: Vendor = OPENAI) -> "Provider":
    """Open *model*; raises ProviderError (no key for a vendor), ConfigError (address)."""
    return OpenAIProvider(model, settings or Settings(), vendor)


def _spec(vendor: Vendor) -> ProviderSpec:
    hint = f"set {vendor.key_variable}"
    if vendor.is_local:
        hint = f"start it on this machine, or set {vendor.address_variable}"
    if not vendor.address:
        hint = f"set {vendor.key_variable} and {vendor.address_variable}"
    return ProviderSpec(
        name=vendor.name,
        open=partial(open_provider, vendor=vendor),
        description=vendor.description,
        default_model=vendor.default_model,
        key_variables=() if vendor.is_local else (vendor.key_variable,),
        rank=vendor.rank,
        hint=hint,
        probe=partial(served_model, vendor) if vendor.is_local else None,
    )
