"""What must not be shown: the user and password inside an address."""

import re


def without_password(text: str) -> str:
    """Return *text* with *** in place of the user and password of each address in it."""
    if "@" not in text:
        return text
    text = re.sub(r"://\S*@", "://***@", text)
    return re.sub(r"^[^\s/:@]+:(?!//)\S*@", "***@", text)
