"""Takes secrets out of text: one redactor for results, journals, logs, exports and recordings.

Names load their module when they are first used: a key that is read needs none of the forms.
"""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_kit_redact.known": "is_secret_name remember",
    "nanocoder_kit_redact.placeholders": "placeholder placeholders_in",
    "nanocoder_kit_redact.redactor": "Redactor RedactorStream",
    "nanocoder_kit_redact.structure": "redact_value",
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
