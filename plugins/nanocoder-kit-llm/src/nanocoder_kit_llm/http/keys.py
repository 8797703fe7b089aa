"""The key of a server and the user's own headers, read anew for each request."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import nanocoder_files
from nanocoder import ConfigError
from nanocoder_kit_files.redact import remember

if TYPE_CHECKING:
    from nanocoder_kit_llm.http.key_command import KeyCommand

KEY_FILE: Final = "_FILE"
KEY_BYTES: Final = 16 * 1024
OTHERS: Final = 0o077
NO_VARIABLE: Final = (
    "the setting for the key's variable (api_key_env) must be the name of an environment variable,"
    " such as MY_API_KEY; set that variable to the key"
)

# As text: most sessions have no such headers, and compile nothing.
_NAME: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_VARIABLE: Final = r"\$(?:(\w+)|\{(\w+)\})"
_TELLTALE: Final = (
    r"(?i)(?:^|[-_])(?:authorization|cookie|api-?key|key|token|secret|password)(?:$|[-_])"
)
_OURS: Final = frozenset({"host", "content-length", "content-type", "transfer-encoding"})


class Key(NamedTuple):
    """A key in an environment variable, in the file that `VARIABLE_FILE` names, or of a program.

    It is sent in *header*, after "Bearer " in `authorization`. The file is read for each request,
    so a token may be rotated. *command* is the argv of the program, used if neither variable is
    set; it runs again after a server rejected its key.
    """

    variable: str
    header: str = "authorization"
    command: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The current source of the key: the name of a variable, or the program."""
        for variable in (self.variable, self.variable + KEY_FILE):
            if os.environ.get(variable):
                return variable
        return f"key_command ({self.command[0]})" if self.command else self.variable

    def read(self) -> str:
        """Return the key, "" without one; raises ConfigError for an unusable key or file."""
        if self.variable and not self.variable.isidentifier():
            # It may well be the key itself, so the message does not repeat it.
            raise ConfigError(NO_VARIABLE)
        source = self.source
        key = _unquoted(self._value(source).strip())
        if not (key.isascii() and (key.isprintable() or not key)) or " " in key:
            raise ConfigError(
                f"{source} holds no usable key: it has spaces, line breaks or non-ASCII characters"
            )
        remember(key, source)
        return key

    def is_renewed(self, sent: str) -> bool:
        """Return True if there is another key now than *sent*, which a server refused."""
        if program := self._program():
            program.forget()
        return self.read() not in {"", sent}

    def headers(self) -> dict[str, str]:
        """Return the header that carries the key; none without a key."""
        key = self.read()
        value = f"Bearer {key}" if self.header == "authorization" else key
        return {self.header: value} if key else {}

    def _program(self) -> "KeyCommand | None":
        """Return the program that prints the key, or None if the key is in a variable."""
        if not self.command or not self.source.startswith("key_command"):
            return None
        from nanocoder_kit_llm.http.key_command import key_command_of  # few have one

        return key_command_of(self.command)

    def _value(self, source: str) -> str:
        if program := self._program():
            return program.read()
        value = os.environ.get(source, "")
        return value if source == self.variable else self._content(value)

    def _content(self, path: str) -> str:
        try:
            descriptor = nanocoder_files.open_private(Path(path).expanduser(), follow_link=True)
            with os.fdopen(descriptor, "rb") as file:
                self._refuse_open(descriptor, path)
                content = file.read(KEY_BYTES + 1)
        except (OSError, RuntimeError) as error:  # RuntimeError: there is no user of that ~name
            raise ConfigError(f"{self.source} names a file that cannot be read: {error}") from error
        if len(content) > KEY_BYTES:
            raise ConfigError(
                f"{self.source} names a file of more than {KEY_BYTES:,} bytes, which is no key"
            )
        return content.decode("utf-8", "replace")

    def _refuse_open(self, descriptor: int, path: str) -> None:
        """Raise ConfigError for a file that others may read or have written.

        On a read-only file system, as containers mount secrets, the mode cannot be changed.
        """
        status = os.fstat(descriptor)
        if status.st_uid not in {os.geteuid(), 0}:
            raise ConfigError(f"{self.source} names a file of another user: {path}")
        is_fixed = os.fstatvfs(descriptor).f_flag & os.ST_RDONLY
        if stat.S_IMODE(status.st_mode) & OTHERS and not is_fixed:
            raise ConfigError(f"{self.source} names a file that others can read: chmod 600 {path}")


def own_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return *headers* by their lower-case names, with each `$VARIABLE` replaced by its secret.

    They are of the user's configuration, such as those that a company's gateway requires.
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


def _unquoted(key: str) -> str:
    """Return *key* without quotes around it, as files of variables write them."""
    quote = key[:1]
    return key[1:-1].strip() if len(key) > 1 and quote in "\"'" and key[-1] == quote else key
