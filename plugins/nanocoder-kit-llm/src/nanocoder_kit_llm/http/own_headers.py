"""Headers of the user's configuration, such as those that a company's gateway requires."""

import re
from collections.abc import Mapping
from typing import Final

from nanocoder import ConfigError

from nanocoder_kit_llm.http.keys import Key

# As text: most sessions have no such headers, and compile nothing.
_NAME: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_VARIABLE: Final = r"\$(?:(\w+)|\{(\w+)\})"
_TELLTALE: Final = (
    r"(?i)(?:^|[-_])(?:authorization|cookie|api-?key|key|token|secret|password)(?:$|[-_])"
)
_OURS: Final = frozenset({"host", "content-length", "content-type", "transfer-encoding"})


def own_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return *headers* by their lower-case names, with each `$VARIABLE` replaced by its secret.

    Variables are read like those of keys. Raises: ConfigError, which shows no value.
    """
    return {name.lower(): _value(name, value) for name, value in headers.items()}


def _value(name: str, value: str) -> str:
    if not re.fullmatch(_NAME, name) or name.lower() in _OURS:
        raise ConfigError(f"the setting headers: {name!r} is not a header that can be set")
    if re.search(_TELLTALE, name) and not re.search(_VARIABLE, value):
        raise ConfigError(
            f"the setting headers: {name!r} contains a secret; write $NAME_OF_A_VARIABLE instead"
        )
    text = re.sub(_VARIABLE, lambda match: _secret(name, match[1] or match[2]), value)
    if not (text.isascii() and text.isprintable()):
        raise ConfigError(f"the setting headers: {name!r} has a line end or is not ASCII")
    return text


def _secret(name: str, variable: str) -> str:
    secret = Key(variable).read()
    if not secret:
        raise ConfigError(f"the setting headers: {name!r} needs {variable}, which is not set")
    return secret
