"""A recording: the messages of a session, and the allowed differences of a later run."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final, Literal

from attrs import evolve, frozen
from nanocoder import BadArguments, Message, ProviderError, encode_message, parse_json
from nanocoder_kit_files.redact import Redactor

FORMAT: Final = 1
MAX_BYTES: Final = 256 * 1024 * 1024
MAX_DIFF_LINES: Final = 40
VARYING: Final = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?",  # a time
    r"\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|seconds|min)\b",  # a duration
    r"\b0x[0-9a-f]{6,16}\b",  # an address in memory
)
"""Text that differs from run to run."""
_WORKSPACE: Final = "\0"
_PATH: Final = r"(?P<workspace>/[^\s'\"`:;,()<>]*?)"


@frozen
class Recording:
    """One recorded session; *messages* are as `encode_message` writes them.

    *records* are those of its journal, each with its kind, time and data; a recording of an earlier
    release has none. *session* is its id, *mode* that of its start.
    """

    name: str
    cwd: str
    profile: Literal["full", "small"]
    messages: Sequence[Mapping[str, Any]]
    session: str = ""
    mode: str = ""
    records: Sequence[Mapping[str, Any]] = ()

    @property
    def replies(self) -> list[int]:
        """The indexes of the model's replies among the messages."""
        return [
            index for index, message in enumerate(self.messages) if message["role"] == "assistant"
        ]

    def before(self, index: int) -> Sequence[Mapping[str, Any]]:
        """Return the messages between the reply at *index* and the reply before it."""
        first = index
        while first and self.messages[first - 1]["role"] != "assistant":
            first -= 1
        return self.messages[first:index]


def read_recording(path: str) -> Recording:
    """Read the file *path*; raises ProviderError when it is missing or not a recording."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or error
        raise ProviderError(
            f"the recording {path!r} cannot be read: {problem}", kind="not_found"
        ) from error
    try:
        if len(text) > MAX_BYTES:
            raise BadArguments([f"longer than {MAX_BYTES:,} bytes"])  # noqa: TRY301
        data = parse_json(text.decode())
    except (UnicodeDecodeError, BadArguments) as error:
        raise ProviderError(
            f"the recording {path!r} is not JSON: {error}", kind="bad_request"
        ) from error
    if problem := _problem(data):
        raise ProviderError(f"the recording {path!r} {problem}", kind="bad_request")
    more = str(data.get("session", "")), str(data.get("mode", "")), data.get("records", [])
    return Recording(path, data["cwd"], data["profile"], data["messages"], *more)


def moved(recording: Recording, cwd: str) -> Recording:
    """Return *recording* as if its session had run in *cwd*: its paths are part of its calls."""
    if not recording.cwd.strip("/") or recording.cwd == cwd:
        return recording
    then, now = (json.dumps(path, ensure_ascii=False)[1:-1] for path in (recording.cwd, cwd))
    # Not the beginning of another folder's name.
    text = re.sub(re.escape(then) + r"(?![\w.-])", lambda _: now, as_json(recording))
    data = parse_json(text)
    return evolve(recording, cwd=cwd, messages=data["messages"], records=data["records"])


def of_runs(records: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield *records* without the calls between runs: the user's commands, and mentioned files.

    The prompt after them has their results. Their ids may also be those of calls of the model.
    """
    is_running = False
    for record in records:
        kind = record["kind"]
        if kind in {"run.started", "run.finished", "session.resumed"}:
            is_running = kind == "run.started"
        if is_running or not kind.startswith("call."):
            yield record


def _problem(data: Mapping[str, Any]) -> str:
    """Return the problem of a recording's content, or ""."""
    if data.get("format") != FORMAT:
        return f'has no "format": {FORMAT}; make it with `nanocoder sessions record`'
    if not isinstance(data.get("cwd"), str) or data.get("profile") not in ("full", "small"):
        return "has no cwd, or no profile that is full or small"
    messages = data.get("messages")
    if not isinstance(messages, list):
        return "has no list of messages"
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict) or message.get("role") not in (
            "user",
            "assistant",
            "tool",
        ):
            return f"has no role in message {number}"
        if not _is_sound(message):
            return f"has a text, a call or a result that makes no sense in message {number}"
    records = data.get("records", [])
    is_sound = isinstance(records, list) and all(map(_is_record, records))
    return "" if is_sound else "has a record of the journal that makes no sense"


def _is_record(record: object) -> bool:
    return isinstance(record, dict) and all(
        isinstance(record.get(name), kind)
        for name, kind in (("kind", str), ("at", int | float), ("data", dict))
    )


def _is_sound(message: Mapping[str, Any]) -> bool:
    parts = [message.get(name, []) for name in ("calls", "results")]
    return isinstance(message.get("text", ""), str) and all(
        isinstance(part, list) and all(isinstance(item, dict) for item in part) for part in parts
    )


def difference(
    recording: Recording, index: int, messages: Sequence[Message], may_differ: Sequence[str]
) -> str:
    """Return the first difference of *messages* to those before the reply at *index*, or "".

    Ignores the workspace's path and other varying texts.
    """
    sent = [encode_message(message) for message in messages]
    recorded = recording.before(index)
    for then, now in zip(recorded, sent, strict=False):
        for what, old, new in _texts(then, now):
            if not is_equal(old, new, recording.cwd, (*VARYING, *may_differ)):
                return f"{what} differs:\n{diff_of(old, new)}"
    if len(sent) != len(recorded):
        return f"{len(sent)} messages came where {len(recorded)} were recorded"
    return ""


def _texts(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the texts of two messages in pairs, each with a name for people."""
    if then["role"] != now["role"]:
        return [("the role of a message", str(then["role"]), str(now["role"]))]
    pairs = [("the request", str(then.get("text", "")), str(now.get("text", "")))]
    results = then.get("results", []), now.get("results", [])
    if len(results[0]) != len(results[1]):
        pairs.append(("the number of results", str(len(results[0])), str(len(results[1]))))
    for number, (old, new) in enumerate(zip(*results, strict=False), 1):
        name = f"result {number} of the calls"
        pairs.append((name, str(old.get("output", "")), str(new.get("output", ""))))
    return pairs


def is_equal(old: str, new: str, cwd: str, may_differ: Sequence[str]) -> bool:
    """Return True if *new* equals *old* except for the workspace's path and *may_differ*."""
    if old == new:
        return True
    new = Redactor().redact(new)  # as they were removed from the recording
    varying = re.compile("|".join(f"(?:{pattern})" for pattern in may_differ))
    old, new = (
        varying.sub("~", text) for text in (old.replace(cwd or _WORKSPACE, _WORKSPACE), new)
    )
    if _WORKSPACE not in old:
        return old == new
    first, *others = map(re.escape, old.split(_WORKSPACE))
    pattern = first + _PATH + "(?P=workspace)".join(others)
    return re.fullmatch(pattern, new) is not None


def diff_of(old: str, new: str) -> str:
    """Return the difference of two texts, of at most 40 lines."""
    diff = unified_diff(old.splitlines(), new.splitlines(), "recorded", "now", lineterm="", n=2)
    lines = list(diff)
    more = [f"[{len(lines) - MAX_DIFF_LINES} more lines]"] if len(lines) > MAX_DIFF_LINES else []
    return "\n".join([*lines[:MAX_DIFF_LINES], *more])


def as_json(recording: Recording) -> str:
    """Return the recording as the text of a file."""
    data = {
        "format": FORMAT,
        "cwd": recording.cwd,
        "profile": recording.profile,
        "session": recording.session,
        "mode": recording.mode,
        "messages": list(recording.messages),
        "records": list(recording.records),
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
