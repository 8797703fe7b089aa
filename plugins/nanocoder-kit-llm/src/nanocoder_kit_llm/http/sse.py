"""Server-sent events, cut on bytes: only LF, CR and CRLF end a line."""

from typing import Final, NamedTuple

from nanocoder import ProviderError

EVENT_LIMIT_BYTES: Final = 16 * 1024 * 1024
WHOLE_REPLY: Final = "whole-reply"
"""Event type of a reply that is one JSON body although a stream was requested."""
_BOM: Final = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event: its type ("" when the server gave none) and its data, lines joined by LF.

    *is_last*: the stream ended with it, where its own end would come; it may be cut.
    """

    event: str
    data: bytes
    is_last: bool = False


class LineParser:
    """Parser of newline-delimited JSON: each line of a stream becomes an event."""

    def __init__(self, limit_bytes: int = EVENT_LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._tail = bytearray()  # an incomplete line

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the lines that *chunk* completes; raises ProviderError when one is too large."""
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = bytes(self._tail) + lines[0]
            self._tail.clear()
        self._tail += rest
        if len(self._tail) > self._limit:
            raise _too_large(self._limit)
        return [SseEvent("", line) for line in lines if line.strip()]

    def finish(self) -> list[SseEvent]:
        """Return the last line of a stream that ended without a line end."""
        line = bytes(self._tail)
        return [SseEvent("", line, is_last=True)] if line.strip() else []


class SseParser:
    """Parser of server-sent events in chunks that are cut anywhere, in linear time."""

    def __init__(self, limit_bytes: int = EVENT_LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._tail: list[bytes] = []  # parts of an incomplete line
        self._size = 0  # bytes in the tail and in the present event
        self._data: list[bytes] = []
        self._event = ""
        self._skip_lf = False  # the last chunk ended in CR; a following LF belongs to it
        self._at_start = True

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that *chunk* completes; raises ProviderError when one is too large."""
        chunk = self._with_plain_newlines(chunk)
        cut = chunk.rfind(b"\n")
        if cut < 0:
            self._tail.append(chunk)
            self._grow(len(chunk))
            return []
        self._tail.append(chunk[:cut])
        text = b"".join(self._tail)
        rest = chunk[cut + 1 :]
        self._tail = [rest] if rest else []
        events = self._take(text)
        self._size = sum(map(len, self._data))
        self._grow(len(rest))
        return events

    def finish(self) -> list[SseEvent]:
        """Return the last event of a stream that ended without an empty line."""
        text = b"".join(self._tail) + b"\n"
        self._tail = []
        return [event._replace(is_last=True) for event in self._take(text)]

    def _with_plain_newlines(self, chunk: bytes) -> bytes:
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk[1:] if chunk[:1] == b"\n" else chunk
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _grow(self, added: int) -> None:
        self._size += added
        if self._size > self._limit:
            raise _too_large(self._limit)

    def _take(self, text: bytes) -> list[SseEvent]:
        if self._at_start:
            self._at_start = False
            text = text.removeprefix(_BOM)
        if text.startswith(b"data: ") and text.endswith(b"\n") and not (self._data or self._event):
            # Most servers send nothing but events of one line: those are split in one go.
            pieces = text[len(b"data: ") : -1].split(b"\n\ndata: ")
            if text.count(b"\n") == 2 * len(pieces) - 1:
                return [SseEvent("", piece) for piece in pieces]
        return self._take_lines(text.split(b"\n"))

    def _take_lines(self, lines: list[bytes]) -> list[SseEvent]:
        events = []
        for line in lines:
            if line.startswith(b"data: "):
                self._data.append(line[6:])
            elif line:
                self._field(line)
            else:
                if self._data:
                    data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                    events.append(SseEvent(self._event, data))
                    self._data = []
                self._event = ""
        return events

    def _field(self, line: bytes) -> None:
        # Comments (": ping"), id and retry are irrelevant to a reply that is never resumed.
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")


def _too_large(limit: int) -> ProviderError:
    return ProviderError(
        f"the server sent an event of over {limit:,} bytes; the reply was abandoned",
        kind="protocol",
    )
