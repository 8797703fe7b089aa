"""Streaming HTTP for providers: server-sent events, retries, timers, cancelling.

Names load their module when they are first used; the first request imports httpcore.
"""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
