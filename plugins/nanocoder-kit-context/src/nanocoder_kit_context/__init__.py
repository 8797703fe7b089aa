"""What plugins that shorten or measure a conversation share.

Names load their module when they are first used: every run asks how much room there is, and few
need more.
"""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
