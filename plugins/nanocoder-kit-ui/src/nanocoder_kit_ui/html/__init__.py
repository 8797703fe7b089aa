"""An untrusted conversation as safe HTML.

Everything in a conversation is untrusted: it is escaped, and invisible characters are shown. Each
function returns a fragment that loads nothing and runs nothing; the classes that it uses are in
`conversation.css`. `page_html` puts fragments into a page.
"""

from pathlib import Path
from typing import Final

from nanocoder_kit_ui.html.calls import attachment_html, call_html, calls_html
from nanocoder_kit_ui.html.code import code_html, diff_html, is_diff, preview_html
from nanocoder_kit_ui.html.markdown import markdown_html
from nanocoder_kit_ui.html.page import page_html
from nanocoder_kit_ui.html.text import block_html, text_html

STYLES: Final = Path(__file__).with_name("conversation.css")
"""The style sheet of the fragments, for light and dark."""

__all__ = [
    "STYLES",
    "attachment_html",
    "block_html",
    "call_html",
    "calls_html",
    "code_html",
    "diff_html",
    "is_diff",
    "markdown_html",
    "page_html",
    "preview_html",
    "text_html",
]
