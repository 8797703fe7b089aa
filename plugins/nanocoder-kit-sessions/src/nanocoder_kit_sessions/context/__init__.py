"""The common part of plugins that shorten or measure a conversation.

Names import their module at first use: every run needs the room left in the window, and few
need more.
"""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
