"""Answers of a model: Markdown without HTML of its own and without pictures."""

from functools import cache
from html import escape
from time import monotonic
from typing import Any, Final

from nanocoder import for_terminal

from nanocoder_kit_ui.html.code import COLOUR_S, code_html
from nanocoder_kit_ui.markdown import answer_parser

LINKS: Final = ("http://", "https://", "mailto:")


def markdown_html(text: str) -> str:
    """Return Markdown as HTML: a picture becomes its text, and few kinds of links are links."""
    parser, until = _renderer(), monotonic() + COLOUR_S
    options = type(parser.options)(parser.options)
    options["highlight"] = lambda code, language, _more: code_html(code, language, until)
    html = parser.renderer.render(parser.parse(for_terminal(text)), options, {})
    # Entities of Markdown can encode characters that were not in the text.
    return for_terminal(str(html))


@cache
def _renderer() -> Any:
    renderer = answer_parser()
    renderer.validateLink = lambda url: url.strip().casefold().startswith(LINKS)  # type: ignore[method-assign]
    renderer.add_render_rule("image", _image)
    renderer.add_render_rule("link_open", _link)
    return renderer


def _image(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """Return a picture's text: the page loads nothing."""
    token = tokens[index]
    return f"[{escape(token.content or 'picture')}: {escape(str(token.attrs.get('src', '')))}]"


def _link(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return str(renderer.renderToken(tokens, index, options, env))
