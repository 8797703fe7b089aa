"""The settings of the Ollama provider, and its address."""

import os
from typing import Final, Literal
from urllib.parse import urlsplit

from attrs import field, frozen, validators
from nanocoder_kit_llm.http import HttpSettings

PORT: Final = 11434
_ANY_INTERFACE: Final = "0.0.0.0"  # noqa: S104 - a server listens there, a client asks this machine


@frozen(kw_only=True)
class Settings(HttpSettings):
    """`[plugins.provider-ollama]`: the common HTTP settings and these."""

    context: int = field(
        default=32_768,
        validator=validators.ge(1_024),
        metadata={"description": "Tokens of context to ask for, if the model has as many."},
    )
    think: Literal["", "off", "low", "medium", "high"] = field(
        default="",
        metadata={"description": "How much the model thinks; empty: as usual, if it can."},
    )
    keep_alive: str = field(
        default="",
        metadata={"description": "How long the model stays loaded, such as '1h'; empty: as usual."},
    )
    api_key_env: str = field(
        default="OLLAMA_API_KEY",
        metadata={"description": "Environment variable that holds the key.", "user_only": True},
    )


def address(settings: Settings) -> str:
    """Return the URL of the server, completed as Ollama itself completes OLLAMA_HOST."""
    text = settings.base_url or os.environ.get("OLLAMA_HOST", "").strip() or "localhost"
    scheme, _, rest = text.rpartition("://")
    parts = urlsplit(f"//{rest}")
    try:
        port = parts.port or (None if scheme == "https" else PORT)
    except ValueError:
        return text  # the client reports the problem
    host = parts.hostname or "localhost"
    host = "127.0.0.1" if host == _ANY_INTERFACE else f"[{host}]" if ":" in host else host
    behind = parts.path.rstrip("/") + (f"?{parts.query}" if parts.query else "")
    return f"{scheme or 'http'}://{host}{f':{port}' if port else ''}{behind}"
