"""Sessions in files, for stores and for plugins that work with stored sessions.

Names load their module when they are first used: a start needs the journal alone. Undo is in
`nanocoder_kit_sessions.undo`, and rewinding in `nanocoder_kit_sessions.rewinding`.
"""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
