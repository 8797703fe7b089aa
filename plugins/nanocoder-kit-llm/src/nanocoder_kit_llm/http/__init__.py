"""Streaming HTTP for providers: server-sent events, retries, timers, cancelling.

Names load their module when they are first used; the first request imports httpcore.
"""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
