"""The key of a server: where it comes from, read anew for each request."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from nanocoder import ConfigError
from nanocoder_kit_redact import remember

KEY_FILE: Final = "_FILE"
KEY_BYTES: Final = 16 * 1024


class Key(NamedTuple):
    """A key in an environment variable, or in the file that `VARIABLE_FILE` names.

    It is sent in *header*, after "Bearer " in `authorization`. A file that changes, as a token that
    is renewed every hour does, counts from the next request on.
    """

    variable: str
    header: str = "authorization"

    @property
    def source(self) -> str:
        """Return the variable that leads to the key now."""
        has_file = not os.environ.get(self.variable) and os.environ.get(self.variable + KEY_FILE)
        return self.variable + KEY_FILE if has_file else self.variable

    def read(self) -> str:
        """Return the key, "" without one; raises ConfigError for an unusable key or file."""
        value = os.environ.get(self.source, "")
        key = (value if self.source == self.variable else self._content(value)).strip()
        if not (key.isascii() and (key.isprintable() or not key)) or " " in key:
            raise ConfigError(
                f"{self.source} holds no usable key:"
                " it has spaces, line breaks or non-ASCII characters"
            )
        remember(key, self.source)
        return key

    def headers(self) -> dict[str, str]:
        """Return the header that carries the key; none without a key."""
        key = self.read()
        value = f"Bearer {key}" if self.header == "authorization" else key
        return {self.header: value} if key else {}

    def _content(self, path: str) -> str:
        from nanocoder_files import open_private  # most keys are in variables

        try:
            descriptor = open_private(Path(path).expanduser(), follow_link=True)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(KEY_BYTES + 1)
        except (OSError, RuntimeError) as error:  # RuntimeError: the ~name of nobody
            raise ConfigError(f"{self.source} names a file that cannot be read: {error}") from error
        if len(content) > KEY_BYTES:
            raise ConfigError(
                f"{self.source} names a file of more than {KEY_BYTES:,} bytes, which is no key"
            )
        return content.decode("utf-8", "replace")
