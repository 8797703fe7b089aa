"""The finish reasons of replies, as vendors and servers spell them."""

from enum import Enum, auto
from functools import lru_cache
from typing import Final


class End(Enum):
    """The meaning of a finish reason; one that has none of the words is DONE."""

    DONE = auto()
    CUT = auto()  # a token limit; the model continues when the answer is sent back
    FILTERED = auto()
    FAILED = auto()  # the server failed; the text so far is no answer


_FAILED: Final = """error abort cancel fail insufficient malformed timeout unspecified
    unexpectedtoolcall toomanytoolcalls missingthoughtsignature"""
_CUT: Final = "length maxtokens maxoutputtokens tokenlimit contextwindow pauseturn"
_FILTERED: Final = """filter contentpolicy safety sensitive refus guardrail blocklist prohibited
    recitation blocked"""
_WORDS: Final = ((End.FAILED, _FAILED), (End.CUT, _CUT), (End.FILTERED, _FILTERED))
_WHOLE: Final = {"other": End.FAILED, "spii": End.FILTERED}


@lru_cache(maxsize=16)  # each reply asks several times about one of few words
def end_of(reason: str) -> End:
    """Return the meaning of the finish *reason* of a reply."""
    plain = reason.lower().replace("_", "")
    ends = (end for end, words in _WORDS if any(word in plain for word in words.split()))
    return _WHOLE.get(plain) or next(ends, End.DONE)
