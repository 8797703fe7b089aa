"""Calls in a reply's text: in tags or fences, as JSON, XML or Python, and SEARCH/REPLACE blocks."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from nanocoder import ToolDefinition

from nanocoder_kit_llm.http.call_forms import BARE, MARKED, OPENINGS, own_tags, read_calls
from nanocoder_kit_llm.http.call_values import (
    GarbledCallError,
    Offered,
    TextCall,
    calls_of_python,
    fits,
)
from nanocoder_kit_llm.http.edit_blocks import edits_in

__all__ = ["GarbledCallError", "TextCall", "calls_in", "holds_call", "is_quoted", "read_text"]

Prose = Literal["announced", "plain", "any"]

_FENCE: Final = re.compile(r"```(?:json|tool_code|tool_calls?)?[ \t]*")
_CODE: Final = "```tool_code"
_SPECIAL: Final = ("<|", "<\uff5c", "[TOOL")
_MARK: Final = re.compile(OPENINGS)
_CLOSED: Final = (">", "]")
_CLOSERS: Final = (*_CLOSED, "}")
_SENTENCE_END: Final = re.compile(r"[.!?…\u3002\uff01\uff1f]\s*\Z")
_SENTENCES: Final = re.compile(r"(?<=[.!?\u2026])\s+|\n+")
_SENTENCE_CHARS: Final = 400
_ANNOUNCES: Final = re.compile(
    r"(?i)(?:[\w'\u2019]+[,:]?\s+){0,4}?(?:I(?:['\u2019]ll|['\u2019]m going to| will| am going to"
    r"| need to| have to| want to| must| should)|let me|let us|let['\u2019]s)\s"
)
_DEMONSTRATES: Final = re.compile(
    r"(?i)\b(?:not|never|without|example|show|illustrate|demonstrate|like this|as follows"
    r"|looks? like|would|could|if|instead|format|form|syntax|schema|json|xml|payload|template"
    r"|snippet|answer|reply|respond|explain|quote|says?)\b|n['\u2019]t\b"
)
_BARE_LINE: Final = re.compile(r"(?m)^[\[{]")
_LINE_NUMBERS_AND_SPACES: Final = re.compile(r"(?m)^ *\d+\t|[\s\\]+")


def calls_in(text: str, tools: Sequence[ToolDefinition], *, prose: Prose = "any") -> list[TextCall]:
    """Return the calls that *text* consists of, as `read_text` does."""
    return read_text(text, tools, prose=prose)[1]


def holds_call(text: str, tools: Sequence[ToolDefinition]) -> bool:
    """Return True if *text* consists of calls, garbled ones too."""
    try:
        return bool(calls_in(text, tools))
    except GarbledCallError:
        return True


def read_text(
    text: str, tools: Sequence[ToolDefinition], *, prose: Prose = "any"
) -> tuple[str, list[TextCall]]:
    """Return the prose and the calls that *text* consists of, all of offered *tools*.

    There are no calls in an answer. *prose* says what may come before them: "announced" only a
    sentence that announces them, such as "I will read the file:"; "plain" also other text that
    announces no quotation, before marks that only calls have; "any" all on lines of its own. Calls
    with text after or between them are a quotation. Runs in linear time. Raises:
    GarbledCallError.
    """
    offered = {tool.name: tool for tool in tools}
    text = text.strip()
    announced = _announced(text, offered)
    if announced[1]:
        return announced
    before, calls = _marked(text, offered, prose)
    if not calls:
        before, calls = edits_in(text, offered, after_prose=prose == "any")
        calls = calls if prose == "any" or not before else []
    return (before, calls) if calls else _bare(text, offered, after_prose=prose == "any")


def _announced(text: str, offered: Offered) -> tuple[str, list[TextCall]]:
    """Parse complete calls, in any format, that the preceding sentence announces."""
    fence = text.rfind("\n```", 0, -3) + 1 if text.endswith("```") else 0
    own = own_tags(offered)
    matches = (pattern.search(text) for pattern in (_MARK, own.begins, _BARE_LINE))
    at = fence or min((match.start() for match in matches if match), default=0)
    prose = text[:at]
    if not announces(prose) or f"\n{prose}".count("\n```") % 2:
        return "", []
    try:
        if fence:
            _, calls = _bare(text[at:], offered, after_prose=False)
        else:
            calls = read_calls(text, at, offered, (*MARKED, own))
    except GarbledCallError:
        return "", []
    is_whole = not any(call.is_repaired for call in calls) and all(
        fits(call.arguments, offered[call.name].parameters) for call in calls
    )
    return (prose, calls) if is_whole and (fence or text.endswith(_CLOSERS)) else ("", [])


def announces(prose: str) -> bool:
    """Return True if the last sentence of *prose* announces an action of its writer.

    A sentence about examples, conditions or formats introduces a demonstration. Only English is
    recognized.
    """
    sentence = _SENTENCES.split(prose[-_SENTENCE_CHARS:].rstrip())[-1]
    return bool(_ANNOUNCES.match(sentence)) and not _DEMONSTRATES.search(sentence)


def is_quoted(call: TextCall, sources: Iterable[str]) -> bool:
    """Return True if one of *sources*, texts that the model has read, contains *call*.

    Line numbers, spaces and backslashes are ignored: files are shown with numbers, or as JSON.
    """
    arguments = _compact(json.dumps(call.arguments, ensure_ascii=False))
    values = [_compact(value) for value in call.arguments.values() if isinstance(value, str)]
    name = re.escape(call.name)
    mark = re.compile(rf"(?:[=:.<>\[\]\"']|tool_code){name}[\[<>(:{{`\"']|<<SEARCH")
    for source in map(_compact, sources):
        is_json = f'"{call.name}"' in source and arguments in source
        is_marked = bool(values) and mark.search(source) is not None
        if is_json or (is_marked and all(value in source for value in values)):
            return True
    return False


def _compact(text: str) -> str:
    return _LINE_NUMBERS_AND_SPACES.sub("", text)


def _marked(text: str, offered: Offered, allowed: Prose) -> tuple[str, list[TextCall]]:
    """Parse calls after marks; they begin at the first mark."""
    own = own_tags(offered)
    marks = [match for match in (_MARK.search(text), own.begins.search(text)) if match]
    if not marks:
        return "", []
    mark = min(marks, key=lambda match: match.start())
    prose, at = text[: mark.start()], mark.start()
    is_special = text.startswith(_SPECIAL, at)
    if prose and not _may_precede(
        prose, allowed, is_special=is_special, is_own=mark.re is own.begins
    ):
        return "", []
    # A call in a tag that is not closed was truncated, or is quoted.
    if prose and not is_special and not text.endswith(_CLOSED):
        return "", []
    return prose, read_calls(text, at, offered, (*MARKED, own))


def _may_precede(prose: str, allowed: Prose, *, is_special: bool, is_own: bool) -> bool:
    """Return True if *prose* may precede calls, which begin a line or follow a sentence."""
    is_sentence = is_special and _SENTENCE_END.search(prose) is not None
    if f"\n{prose}".count("\n```") % 2 == 1 or (
        prose.rpartition("\n")[2].strip() and not is_sentence
    ):
        return False
    is_plain = not is_own and not prose.rstrip().endswith((":", "\uff1a", "`", '"'))
    return allowed == "any" or (allowed == "plain" and is_plain)


def _bare(text: str, offered: Offered, *, after_prose: bool) -> tuple[str, list[TextCall]]:
    """Parse calls without marks that are the whole reply, or a fenced block at its end."""
    if not text.endswith("```"):
        return "", read_calls(text, 0, offered, BARE) if text[:1] in {"{", "["} else []
    inner = text.removesuffix("```")
    start = inner.rfind("\n```") + 1
    prose, (opening, _, body) = inner[:start], inner[start:].partition("\n")
    is_open = f"\n{prose}".count("\n```") % 2 == 1 or _MARK.search(prose)
    if not _FENCE.fullmatch(opening) or is_open or (prose and not after_prose):
        return "", []
    body = body.strip()
    if body[:1] not in {"{", "["}:
        return prose, calls_of_python(body, offered) if opening.strip() == _CODE else []
    return prose, read_calls(body, 0, offered, BARE)
