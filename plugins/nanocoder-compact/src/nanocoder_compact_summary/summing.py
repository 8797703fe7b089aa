"""Sum up the older part of a transcript with the session's model."""

from collections.abc import Callable, Sequence
from typing import Final

from nanocoder import Message, OutputLimit, clip, message_tokens, repeats_itself
from nanocoder_kit_sessions.context import (
    SUMMARY,
    Earlier,
    NoteWriter,
    earlier_note,
    first_kept,
    transcript_text,
    typed_requests,
)

from nanocoder_compact_summary.instructions import INSTRUCTIONS, SYSTEM, WISH, WISHED

LEAST_MESSAGES: Final = 4
"""A shorter part is not worth a request."""
REQUESTS_PART: Final = 0.15
"""The share of the limit for the user's own words."""
MOST_REQUESTS: Final = 0.5
"""The part of the replaced messages that they may take."""
MOST_KEPT: Final = 0.7
"""Largest share of the latest messages at which a summary of the others helps."""
SCRIPT_PART: Final = 0.6
"""The share of the limit to summarize at once; the rest is for instructions and summary."""
SUMMARY_PART: Final = 0.15
LEAST_REPEATED: Final = 600
"""Length of repeated text from which a summary is useless."""
CHARS_PER_TOKEN: Final = 3
TOKENS_PER_WORD: Final = 2
LEAST_WORDS: Final = 150
CUTS: Final = (
    (OutputLimit.of(1_200, 30, head=0.6), 6_000),
    (OutputLimit.of(400, 10, head=0.5), 2_000),
    (OutputLimit.of(120, 4, head=0.5), 600),
)
"""Limits of each result and text for the summary; the first that fits is used."""

Ask = Callable[[str, Sequence[Message]], str]


def summarize(
    notes: NoteWriter, ask_model: Ask | None, *, focus: str, recent: float
) -> list[Message] | None:
    """Return the user's requests, a note with a summary, and the latest messages.

    Without *ask_model* the note has no summary, only the transcript's facts. Returns None if there
    is too little to summarize, or the model's summary is useless.
    """
    messages, limit_tokens = notes.messages, notes.limit_tokens
    # A user may request it long before the window is full.
    room = min(limit_tokens, sum(map(message_tokens, messages)))
    first = first_kept(messages, room * recent)
    earlier = earlier_note(messages)
    if first - earlier.index - 1 < LEAST_MESSAGES:
        return None
    if sum(map(message_tokens, messages[first:])) > limit_tokens * MOST_KEPT:
        return None
    summary = focus and WISHED.format(focus)
    if ask_model is not None:
        summary = _ask(messages[:first], earlier, limit_tokens, ask_model, focus)
        if not summary or repeats_itself(summary, LEAST_REPEATED):
            return None
    # A short conversation keeps its requests when compacted, too, but not nearly all of it.
    most = sum(map(message_tokens, messages[:first])) * MOST_REQUESTS
    requests = typed_requests(messages[:first], min(limit_tokens * REQUESTS_PART, most))
    replaced = first - len(requests) - (earlier.index >= 0)
    return [*requests, notes.write(first, replaced=replaced, summary=summary), *messages[first:]]


def _ask(
    messages: Sequence[Message], earlier: Earlier, limit_tokens: int, ask_model: Ask, focus: str
) -> str:
    words = max(LEAST_WORDS, int(limit_tokens * SUMMARY_PART / TOKENS_PER_WORD))
    wish = WISH.format(focus) if focus else ""
    script = script_of(messages, earlier, limit_tokens)
    request = Message("user", f"{script}\n\n{INSTRUCTIONS.format(words)}{wish}")
    summary = ask_model(SYSTEM, [request]).strip()
    # A model that ignores the word limit must not fill the freed tokens.
    half = int(limit_tokens * SUMMARY_PART) * CHARS_PER_TOKEN
    return clip(summary, head=half, tail=half)


def script_of(messages: Sequence[Message], earlier: Earlier, limit_tokens: int) -> str:
    """Return the transcript as a text within the limit; an earlier summary stays uncut."""
    before = earlier.sections.get(SUMMARY, "")
    summary = f"<earlier-summary>\n{before}\n</earlier-summary>\n\n" if before else ""
    most = int(limit_tokens * SCRIPT_PART) * CHARS_PER_TOKEN - len(summary)
    others = [each for index, each in enumerate(messages) if index != earlier.index]
    for result, text_chars in CUTS:
        text = transcript_text(others, result=result, text_chars=text_chars)
        if len(text) <= most:
            break
    text = clip(text, head=max(most // 3, 0), tail=max(most - most // 3, 0))
    return f"{summary}<conversation>\n{text}\n</conversation>"
