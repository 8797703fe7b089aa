"""`nanocoder keys set`, `get` and `remove`."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getpass
from typing import Final

import keyring
from keyring.errors import KeyringError, NoKeyringError, PasswordDeleteError
from nanocoder import Host, UsageError

SERVICE: Final = "nanocoder"
NO_KEYRING: Final = (
    "this system has no keyring that can be used here; keep the key in a file with mode 600 and"
    " name it in a variable such as OPENAI_API_KEY_FILE"
)
USE: Final = """To use it, write into your config.toml, below the table of the provider's plugin:
key_command = ["nanocoder", "keys", "get", "{name}"]"""


def set_key(arguments: Namespace, host: Host) -> int:
    """Store a key under a name, replacing an older one; raises UsageError."""
    typed = getpass(f"key for {arguments.name}: ") if host.is_interactive else sys.stdin.readline()
    key = typed.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("this is not a key: it is empty, or has spaces or non-ASCII characters")
    with _reported():
        keyring.set_password(SERVICE, arguments.name, key)
    host.say(USE.format(name=arguments.name))
    return 0


def get_key(arguments: Namespace, host: Host) -> int:
    """Print a key; raises UsageError for a name without one."""
    with _reported():
        key = keyring.get_password(SERVICE, arguments.name)
    if key is None:
        raise UsageError(
            f"the keyring has no key {arguments.name!r}; add it with"
            f" `nanocoder keys set {arguments.name}`"
        )
    host.print_line(key)
    return 0


def remove_key(arguments: Namespace, host: Host) -> int:
    """Remove a key; raises UsageError for a name without one."""
    with _reported():
        try:
            keyring.delete_password(SERVICE, arguments.name)
        except PasswordDeleteError:
            raise UsageError(f"the keyring has no key {arguments.name!r}") from None
    host.say(f"removed the key {arguments.name!r}")
    return 0


@contextmanager
def _reported() -> Iterator[None]:
    """Translate a keyring's error into a UsageError."""
    try:
        yield
    except NoKeyringError:
        raise UsageError(NO_KEYRING) from None
    except KeyringError as error:
        raise UsageError(f"the keyring did not answer: {error or type(error).__name__}") from error
