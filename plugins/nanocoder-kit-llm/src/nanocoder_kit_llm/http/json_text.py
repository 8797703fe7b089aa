"""JSON at the boundary: output is valid UTF-8, input is validated."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from nanocoder import BadArguments, ProviderError, parse_json

_HEX: Final = "[0-9a-fA-F]{2}"
# Every escape matches, so that the backslash of one is never the beginning of the next; the group
# is a lone surrogate.
# Possessive: the search for the end of an open string happens once, not at each quote in it.
_STRING: Final = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'
_ESCAPE: Final = rf"\\(?:u[dD][89abAB]{_HEX}\\u[dD][c-fC-F]{_HEX}|(u[dD][89a-fA-F]{_HEX})|.)"


def replace_surrogates(text: str) -> str:
    """Join split surrogate pairs and replace the lone ones, which no server accepts."""
    if text.isascii() or not re.search("[\ud800-\udfff]", text):  # no copy of a long text
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode_json(value: Any) -> bytes:
    """Return *value* as compact JSON in UTF-8; raises ProviderError for NaN and infinity."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise ProviderError(
            f"the request cannot be written as JSON: {error}", kind="bad_request"
        ) from error
    return replace_surrogates(text).encode()


def decode_json(data: bytes) -> Any:
    """Read JSON that a server sent, bad UTF-8 replaced; raises ProviderError when it is no JSON."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise ProviderError(
            f"the server sent something that is not JSON ({_reason(error)}): cut or damaged",
            kind="protocol",
        ) from error


def decode_objects(texts: Sequence[bytes]) -> Sequence[dict[str, Any]] | None:
    """Parse JSON objects at once; return None if one is damaged or no object."""
    try:
        values = json.loads((b"[%b]" % b",".join(texts)).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    # Two damaged texts may be whole when they are joined, but then there is one fewer.
    is_sound = len(values) == len(texts) and all(isinstance(value, dict) for value in values)
    return values if is_sound else None


def without_spaces(text: str) -> str:
    """Return JSON without the white space between its tokens; damaged JSON may lose more."""
    return re.sub(rf"({_STRING})|\s+", lambda match: match[1] or "", text, flags=re.DOTALL)


def parse_arguments(text: str) -> tuple[Mapping[str, Any], str]:
    """Return a call's arguments and "", or {} and their problem; an empty text is {}.

    Unambiguous faults are repaired: a fence around the object, unescaped line ends in a string, a
    trailing comma, JSON within a JSON string.
    """
    text = _with_whole_characters(replace_surrogates(text))
    try:
        arguments = _parse(text)
        if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
            arguments = _parse(arguments)
    except BadArguments as error:
        return {}, f"the arguments are {error}"
    if not isinstance(arguments, dict):
        return {}, f"the arguments must be a JSON object, not {type(arguments).__name__}"
    return arguments, ""


def _parse(text: str) -> Any:
    try:
        return parse_json(text)
    except BadArguments:
        repaired = _repaired(text)
        if repaired != text:
            with suppress(BadArguments):
                return parse_json(repaired)
        raise


def _repaired(text: str) -> str:
    """Return JSON without the faults that can mean but one thing."""
    fenced = re.fullmatch(r"\s*```\w*\s*\n(.*?)\s*```\s*", text, re.DOTALL)
    text = fenced[1] if fenced else text
    return re.sub(rf"({_STRING})|,(?=\s*[\]}}])", _escaped, text, flags=re.DOTALL)


def _escaped(match: re.Match[str]) -> str:
    """Return a string with its control characters escaped; of a comma nothing is left."""
    string = match[1] or ""
    return re.sub(r"[\x00-\x1f]", lambda char: json.dumps(char[0])[1:-1], string)


def _with_whole_characters(text: str) -> str:
    """Replace the escapes in JSON that are half of a surrogate pair: models cut pairs apart."""
    if "\\u" not in text:
        return text
    return re.sub(_ESCAPE, lambda match: "\\ufffd" if match[1] else match[0], text)


def _reason(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)
