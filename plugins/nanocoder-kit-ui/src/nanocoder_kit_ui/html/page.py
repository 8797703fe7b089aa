"""A whole page around fragments: one file that loads nothing and runs nothing."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

from nanocoder_kit_ui.html.text import text_html

POLICY: Final = (
    "default-src 'none'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'"
)
"""Nothing but the page's own style sheet, by its digest, and pictures that are in the page."""


def page_html(title: str, styles: Iterable[Path], parts: Iterable[str]) -> str:
    """Return the page; *styles* are files of style sheets, *parts* fragments of HTML."""
    style = "\n".join(path.read_text(encoding="utf-8") for path in styles)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(digest)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{text_html(title)}</title>",
            f"<style>{style}</style></head><body><main>",
            *parts,
            "</main></body></html>",
        ]
    )
