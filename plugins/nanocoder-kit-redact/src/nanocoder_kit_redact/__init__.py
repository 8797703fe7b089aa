"""Takes secrets out of text: one redactor for results, journals, logs, exports and recordings."""

from nanocoder_kit_redact.known import is_secret_name, remember
from nanocoder_kit_redact.placeholders import placeholder, placeholders_in
from nanocoder_kit_redact.redactor import Redactor, RedactorStream
from nanocoder_kit_redact.structure import redact_value

__all__ = [
    "Redactor",
    "RedactorStream",
    "is_secret_name",
    "placeholder",
    "placeholders_in",
    "redact_value",
    "remember",
]
