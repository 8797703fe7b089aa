"""The store `files`: each session is a file of JSON lines in the user's state directory."""

from nanocoder import Store, hookimpl
from nanocoder_kit_sessions.store import open_user_store


@hookimpl
def nanocoder_stores() -> list[Store]:
    """Offer the store "files"."""
    return [Store("files", open_user_store)]
