"""What looks like a secret: names of variables, and values by their form."""

import re
from collections.abc import Mapping
from typing import Final

SECRET_NAME: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|AUTH|PRIVATE|SIGNATURE|_PAT$|_DSN$",
    re.IGNORECASE,
)
SECRET_VALUE: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?:-----[^-]*-----END [A-Z ]*PRIVATE KEY-----)?"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"  # a user and password in an address
    r"|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bnpm_\w{30,}|\bpypi-[\w-]{16,}"
    r"|\bsk-[\w-]{16,}|\bsk_live_\w{16,}|\bAKIA[0-9A-Z]{16,}|\bASIA[0-9A-Z]{16,}|\bAIza[\w-]{30,}"
    r"|\bxox[abeprs]-[\w-]{10,}|\bhf_\w{30,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]*)?"
)
REMOVED: Final = "[secret removed]"
SHORTEST: Final = 8
"""A shorter value of a secret's variable may be any word of a text."""


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """Return *text* without values that look secret, and without those of secret variables."""
    values = {
        value
        for name, value in environment.items()
        if len(value) >= SHORTEST and SECRET_NAME.search(name)
    }
    for value in sorted(values, key=len, reverse=True):  # one may be part of another
        text = text.replace(value, REMOVED)
    return SECRET_VALUE.sub(REMOVED, text)
