"""What plugins that shorten or measure a conversation share.

Names load their module when they are first used: every run asks how much room there is, and few
need more.
"""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_kit_context.earlier": "restore",
    "nanocoder_kit_context.parts": "add_note first_kept latest_request",
    "nanocoder_kit_context.report": "aligned window_rows",
    "nanocoder_kit_context.room": "ASSUMED_WINDOW ROOM Room",
    "nanocoder_kit_context.sources": "FILE_MARK Source prompt_files sources_of",
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
