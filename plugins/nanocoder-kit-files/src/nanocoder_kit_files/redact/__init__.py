"""Redaction of secrets in text: one redactor for results, journals, logs, exports and recordings.

Names import their module at first use: reading a key needs no forms.
"""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
