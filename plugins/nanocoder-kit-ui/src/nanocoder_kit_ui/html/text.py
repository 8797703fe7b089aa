"""Untrusted text as text of a page."""

from html import escape

from nanocoder import for_terminal


def text_html(text: str) -> str:
    """Return *text* escaped, for elements and for attributes in quotes.

    Characters that cannot be seen, or that change how others are shown, are written out.
    """
    return escape(for_terminal(text))


def block_html(text: str) -> str:
    """Return *text* as a preformatted block."""
    return f"<pre>{text_html(text.strip(chr(10)))}</pre>"
