"""The note that replaces earlier messages: lasting facts, and the path of the full transcript.

It is a message of its own. A later note includes the facts of an earlier one, so repeated
compactions lose nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from attrs import frozen
from nanocoder import (
    Effect,
    Message,
    SessionInfo,
    Tool,
    ToolCall,
    ToolResult,
    brief,
    one_line,
)

from nanocoder_kit_sessions.context.transcript import write_transcript

SUMMARY: Final = "summary"
CHANGED: Final = "changed-files"
LATEST: Final = "latest-"
FAILED: Final = "failed-calls"
TRANSCRIPT: Final = "transcript"
HEAD: Final = "[Earlier messages ({:,}) were replaced by this note to make room."
REST: Final = (
    " Files may have changed since. The requests before this note are done, but for open tasks"
    " that it names.]"
)
WHERE: Final = "{} ({:,} lines): read or search it for what this note leaves out."
_HEAD: Final = re.compile(r"\[Earlier messages \(([\d,]{1,12})\) were replaced by this note")
_SECTION: Final = re.compile(r"^<([\w-]{1,80})>\n(.*?)\n</\1>$", re.MULTILINE | re.DOTALL)
_WRITTEN: Final = re.compile(r"\((\d[\d,]{0,11}) lines\)")
_TAG: Final = re.compile(r"^<", re.MULTILINE)
LINE_CHARS: Final = 160
FAILED_CHARS: Final = 240
MOST_FAILED: Final = 3
MOST_FILES: Final = 60
PART: Final = 0.15
"""The share of the limit for facts, without the summary."""
CHARS_PER_TOKEN: Final = 3

Tools = Mapping[str, Tool[..., Any]]


@frozen
class Earlier:
    """An earlier note of a transcript; *index* is that of its message, -1 if there is none."""

    index: int = -1
    count: int = 0
    sections: Mapping[str, str] = {}

    @property
    def written_lines(self) -> int:
        """The number of lines of the transcript's file that the note replaces."""
        match = _WRITTEN.search(self.sections.get(TRANSCRIPT, ""))
        return int(match[1].replace(",", "")) if match else 0


def earlier_note(messages: Sequence[Message]) -> Earlier:
    """Return the latest note of *messages*, or an empty one."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.typed == "" and (head := _HEAD.match(message.text)):
            sections = dict(_SECTION.findall(message.text))
            return Earlier(index, int(head[1].replace(",", "")), sections)
    return Earlier()


@frozen
class NoteWriter:
    """Writes the note that replaces a part of *messages*, within a limit of *limit_tokens*.

    *tools* are all tools by name. The replaced messages are appended, without secrets, to a file in
    the session's folder of outputs, which the agent may read.
    """

    messages: Sequence[Message]
    limit_tokens: int
    tools: Tools
    session: SessionInfo

    def write(self, first: int, *, replaced: int, summary: str = "") -> Message:
        """Return the note for *replaced* of the messages before the one at *first*.

        It names the changed files, the latest lasting fact of each tool, the latest errors, and
        the file with the full transcript.
        """
        earlier = earlier_note(self.messages)
        new = self.messages[earlier.index + 1 : first]
        path, lines = write_transcript(self.session.outputs, new, earlier.written_lines)
        most_chars = int(self.limit_tokens * PART) * CHARS_PER_TOKEN
        sections = {
            **({SUMMARY: summary} if summary else {}),
            **_facts(earlier.sections, new, self.tools, most_chars),
            **({TRANSCRIPT: WHERE.format(path, lines)} if path else {}),
        }
        parts = [f"<{name}>\n{_TAG.sub(' <', text)}\n</{name}>" for name, text in sections.items()]
        head = HEAD.format(earlier.count + replaced) + REST
        return Message("user", "\n\n".join([head, *parts]), typed="")


def _facts(
    earlier: Mapping[str, str], messages: Sequence[Message], tools: Tools, most_chars: int
) -> dict[str, str]:
    changed = dict(line.partition(": ")[::2] for line in earlier.get(CHANGED, "").splitlines())
    lasting = {name: text for name, text in earlier.items() if name.startswith(LATEST)}
    failed = earlier.get(FAILED, "").splitlines()
    for call, result in calls_of(messages):
        name = f"{LATEST}{call.name}"
        for path in _changed_paths(call, result, tools):
            changed.pop(path, None)  # the latest come last
            changed[path] = one_line(f"{call.name}({brief(call.arguments)})", LINE_CHARS)
        if isinstance(text := result.metadata.get("lasting"), str):
            lasting[name] = text
        if result.is_error:
            what = one_line(f"{call.name}({brief(call.arguments)})", LINE_CHARS)
            failed.append(f"{what}: {_ends(result.output)}")
    files = [f"{one_line(path, LINE_CHARS)}: {how}" for path, how in changed.items()]
    texts = {
        CHANGED: _last(files, MOST_FILES, most_chars // 2),
        **{name: text[: most_chars // 3] for name, text in lasting.items()},
        FAILED: _last(failed, MOST_FAILED, most_chars // 3),
    }
    return {name: text for name, text in texts.items() if text}


def calls_of(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, ToolResult]]:
    """Yield each call of *messages* with its result."""
    for message, after in pairwise(messages):
        results = {result.call_id: result for result in after.results}
        yield from ((call, results[call.id]) for call in message.calls if call.id in results)


def _changed_paths(call: ToolCall, result: ToolResult, tools: Tools) -> list[str]:
    """Return the paths that a call changed; tools of a dialect report only `files_changed`."""
    tool = tools.get(call.name)
    if result.is_error or (tool is not None and Effect.WRITE not in tool.effects):
        return []
    own = [result.metadata.get("path")] if tool is not None else []
    paths = [*own, *result.metadata.get("files_changed", ())]
    return [path for path in paths if isinstance(path, str) and path]


def _ends(output: str) -> str:
    """Return the beginning and the end of an output on one line; errors sit at the end."""
    if len(output) <= FAILED_CHARS:
        return one_line(output, FAILED_CHARS)
    half = FAILED_CHARS // 2
    return f"{one_line(output[:half], half)} … {one_line(output[-half:], half)}"


def _last(lines: Sequence[str], most: int, most_chars: int) -> str:
    """Return the last of *lines*, as many as fit."""
    selected, chars = list[str](), 0
    for line in reversed(lines[-most:]):
        chars += len(line)
        if selected and chars > most_chars:
            break
        selected.append(line)
    return "\n".join(reversed(selected))
