"""The setting by which a person corrects or completes the table."""

from typing import Any, Final

# No project may set it: a false price would defeat a limit on costs.
MODELS_SETTING: Final[dict[str, Any]] = {
    "description": "Context and prices (input, output, cache_read, cache_write in dollars for a"
    " million tokens) by model, before those of the built-in table.",
    "user_only": True,
}
"""The metadata of the field `models` of a provider's settings, by the model's name."""
