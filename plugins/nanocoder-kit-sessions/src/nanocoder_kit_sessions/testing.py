"""A plugin for tests that save sessions: it offers the store `files`.

`opened(folder, plugins=[my_plugin, nanocoder_kit_sessions.testing], persist=True, …)`
"""

from nanocoder import Store, hookimpl

from nanocoder_kit_sessions.store import open_user_store


@hookimpl
def nanocoder_stores() -> list[Store]:
    """Offer the store "files"."""
    return [Store("files", open_user_store)]
