"""The settings of the embedded model."""

from typing import Final

from attrs import field, frozen, validators

DEFAULT_MODEL: Final = "qwen2.5-coder-1.5b"


@frozen
class Settings:
    """The table `[plugins.provider-local]`.

    *context* is the context window and *max_tokens* the longest reply, both in tokens. *threads* 0
    means one for each core. *temperature* 0 always selects the likeliest token. *weights* is a
    GGUF file to use instead of the installed weights. With *stands_in* the embedded model answers
    if the chosen model is unavailable.
    """

    context: int = field(default=8_192, validator=validators.ge(1_024))
    threads: int = field(default=0, validator=validators.ge(0))
    max_tokens: int = field(default=1_536, validator=validators.ge(16))
    temperature: float = field(default=0.0, validator=validators.ge(0.0))
    weights: str = field(default="", metadata={"user_only": True})
    stands_in: bool = field(default=False, metadata={"user_only": True})
