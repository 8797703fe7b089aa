"""CommonMark for answers about code: `__init__.py`, `*args` and `src/**/*.py` are no emphasis.

CommonMark takes these for the marks of bold and italic words, so a page shows `init.py`. Models
write `**bold**` and `*italic*` for emphasis, so an underscore is always text here, and a star is a
mark only where a word begins or ends.
"""

from typing import TYPE_CHECKING, Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_inline import emphasis

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline

STAR: Final = "*"
NO_WORD: Final = frozenset("/.,;:)]}=|")
"""No emphasis begins with one of these, as in `*.py` and `(*, limit)`."""


def answer_parser(**options: Any) -> MarkdownIt:
    """Return a parser for answers, without HTML of their own; *options* are those of markdown-it.

    Tables and strikethrough are on. Syntax: https://spec.commonmark.org
    """
    parser = MarkdownIt("commonmark", {"html": False, **options})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.at("emphasis", _emphasis)
    return parser


def _emphasis(state: "StateInline", silent: bool) -> bool:  # noqa: FBT001 - markdown-it calls it so
    """Read a run of stars or underscores; those inside of words and paths become text."""
    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    start, run = state.pos, state.scanDelims(state.pos, True)
    end = start + run.length
    before, after = state.src[start - 1 : start], state.src[end : end + 1]
    if marker != STAR or (_is_word(before) and _is_word(after)):
        state.pending += state.src[start:end]
        state.pos = end
        return True
    first = len(state.delimiters)
    emphasis.tokenize(state, silent)
    for delimiter in state.delimiters[first:]:
        delimiter.open = delimiter.open and before != "/" and after not in NO_WORD
        delimiter.close = delimiter.close and "/" not in {before, after}
    return True


def _is_word(character: str) -> bool:
    """Return True if a letter or digit of code is next to a mark; "" is the end of the text.

    Texts without spaces between words, such as Chinese, have marks inside of them.
    """
    return character.isascii() and character.isalnum()
