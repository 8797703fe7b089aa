"""The answer of a server."""

import codecs
from collections.abc import Mapping

from attrs import frozen


@frozen
class Answer:
    """One answer, after all redirects; *url* is where it came from.

    *headers* have lower-case names. *body* is unpacked, and *is_cut* when there was more of it.
    *hops* are the addresses that redirected, in order; *seconds* is how long all of it took.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool
    hops: tuple[str, ...]
    seconds: float

    @property
    def media_type(self) -> str:
        """The content type in lower case, without parameters, or ""."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The encoding that the server or the text's mark names; UTF-8 for want of a known one."""
        for mark, name in _MARKS:
            if self.body.startswith(mark):
                return name
        _, _, after = self.headers.get("content-type", "").lower().partition("charset=")
        named = after.partition(";")[0].strip(" \t\"'")
        return named if named and _is_text_encoding(named) else "utf-8"

    @property
    def text(self) -> str:
        """The body as text; undecodable bytes become U+FFFD."""
        return self.body.decode(self.charset, "replace").removeprefix("\ufeff")


_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

_NO_CHARSETS = frozenset({"idna", "punycode", "raw_unicode_escape", "unicode_escape"})


def _is_text_encoding(name: str) -> bool:
    try:
        b"x".decode(name, "replace")  # fails for Python's codecs that unpack or rotate
        return codecs.lookup(name).name.replace("-", "_") not in _NO_CHARSETS
    except (LookupError, ValueError):
        return False
