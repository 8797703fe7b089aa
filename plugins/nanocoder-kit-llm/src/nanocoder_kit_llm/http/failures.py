"""Translate a server's error into a ProviderError with the cause and advice."""

import errno
import json
import re
import socket
import time
from collections.abc import Mapping
from typing import Any, Final

from nanocoder import ProviderError, ToolCall, without_password
from nanocoder_kit_files.redact import Redactor

MESSAGE_CHARS: Final = 500
SHOWN_CHARS: Final = 300
"""Limit of the part of a body that an error quotes."""
RETRIED_KINDS: Final = frozenset({"network", "overloaded", "rate_limit", "unavailable"})
"""Kinds of errors that a retry may avoid."""
_KINDS_BY_STATUS: Final = {
    400: "bad_request",
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "unavailable",
    409: "unavailable",
    413: "context_overflow",
    422: "bad_request",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}
_KINDS_BY_CODE: Final = {
    "api_error": "unavailable",
    "authentication_error": "auth",
    "billing_error": "quota",
    "1261": "context_overflow",
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "model_context_window_exceeded": "context_overflow",
    "model_max_prompt_tokens_exceeded": "context_overflow",
    "string_above_max_length": "context_overflow",
    "insufficient_quota": "quota",
    "invalid_api_key": "auth",
    "invalid_request_error": "bad_request",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "overloaded_error": "overloaded",
    "permission_error": "auth",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "request_too_large": "context_overflow",
    "server_error": "unavailable",
    "timeout_error": "unavailable",
}
# Servers report these as plain bad requests or rate limits; only the text distinguishes them.
_OVERFLOW_WORDS: Final = (
    r"context (?:window|size|length|limit)",
    r"(?:prompt|input)s? (?:is |are )?too (?:long|large)",
    r"max(?:imum)? (?:prompt|model|input) (?:length|tokens)",
    r"maximum number of tokens allowed|model token limit|max_new_tokens",
    r"prompt token count of \S+ exceeds|prompt exceeds max length",
    r"reduce the length of the (?:messages|prompt|input)|exceeds the maximum allowed length",
    r"range of input length should be|too many tokens|input tokens exceeded",
)
"""Patterns of messages for an exceeded context window; rate limits are worded alike."""
_IN_A_TIME: Final = r"per (?:second|minute|hour|day)|\b[rt]p[md]\b|rate limit"
_MEDIA_WORDS: Final = (
    r"(?<![\w-])(?:images?|image_urls?|pictures?|pdfs?|vision|multi-?modal|media types?)(?![\w-])"
)
"""Pattern of messages that a picture or file is broken, too large or not supported."""
_AUTH_WORDS: Final = (
    "api key not valid",
    "api key expired",
    "invalid api key",
    "incorrect api key",
    "unauthorized",
)
_QUOTA_WORDS: Final = ("credit balance", "insufficient_quota", "exceeded your current quota")
_ADVICE: Final = {
    "auth": "; check the key and its permissions",
    "quota": "; the account has no credit left",
    "not_found": "; check the model's name (`nanocoder models PROVIDER` lists all) and base URL",
}
_RETRY_WORDS: Final = {"true": True, "false": False}
"""Values of the header x-should-retry, which overrides the status."""
_PAGE_CHARS: Final = 200
_FORBIDDEN: Final = 403
_TOO_LARGE: Final = 413
_NO_NETWORK: Final = frozenset({errno.ENETUNREACH, errno.ENETDOWN})
_FIRST_ERROR_STATUS: Final = 400
_FIRST_SERVER_ERROR: Final = 500
_END_OF_STATUSES: Final = 600
_WORDS: Final = ("message", "detail", "msg", "error", "error_msg", "error_message", "errorMessage")
"""Keys of the message in an error object, best first."""
_REFUSED_CALL: Final = "tool_use_failed"
_NAME_OF_CALL: Final = r"[\"']name[\"']\s*:\s*[\"']([\w.-]{1,64})[\"']|<function=([\w.-]{1,64})"


class FinalError(ProviderError):
    """A failure that another try would only repeat, whatever its kind."""

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message, **{**fields, "retry": False})


class ToolUseFailedError(ProviderError):
    """The server validated a call of the model and rejected it: the model shall read the reason.

    *generation* is the model's text as the server reports it.
    """

    def __init__(self, message: str, generation: str, **fields: Any) -> None:
        super().__init__(message, **{**fields, "retry": False})
        self.generation = generation

    def call(self, call_id: str) -> ToolCall:
        """Return the rejected call with its error, and its name if it is known."""
        named = re.search(_NAME_OF_CALL, self.generation)
        return ToolCall(call_id, named[1] or named[2] if named else "unknown", error=str(self))


class UnreachedError(ProviderError):
    """No request has left this machine or its network yet: more than a second try is no help."""


def is_name_failure(error: BaseException | None) -> bool:
    """Return True if *error* is a failed name resolution, or a missing network."""
    while error is not None:
        is_unreachable = isinstance(error, OSError) and error.errno in _NO_NETWORK
        if isinstance(error, socket.gaierror) or is_unreachable:
            return True
        error = error.__cause__ or error.__context__
    return False


def failure_of_status(
    status: int,
    body: bytes,
    *,
    host: str,
    headers: Mapping[str, str] | None = None,
    key_from: str = "",
) -> ProviderError:
    """Return the error for an answer that is not 200, with the wait that its headers ask for.

    *key_from* is the environment variable that leads to the key, or "".
    """
    message, code = _describe_body(body)
    kind = _kind(status, code, message)
    if refused := _refused_call(_error_of(_json(body)), status):
        return refused
    wait = retry_after_s(headers or {}, time.time())
    advice = _advice(kind, status, key_from)
    # A gateway answers with a page, too, while the server behind it is down.
    if not advice and body.lstrip().startswith(b"<") and status < _FIRST_SERVER_ERROR:
        advice = "; is the base URL right?"
    answer = one_line(message)
    text = f"{host} answered {status}: {answer.removesuffix('.') if advice else answer}{advice}"
    if wait is not None and kind in {"rate_limit", "overloaded", "unavailable"}:
        text += f" (it asks to wait {wait:,.0f} s)"
    retry = _RETRY_WORDS.get((headers or {}).get("x-should-retry", "").strip().lower())
    return ProviderError(text, kind=kind, status=status, retry_after_s=wait, retry=retry)


def _advice(kind: str, status: int, key_from: str) -> str:
    if kind != "auth" or not key_from:
        return _ADVICE.get(kind, "")
    if status == _FORBIDDEN:
        return f"; the key in {key_from} is known, but it may not do this: check its permissions"
    return f"; the key in {key_from} is not accepted: is it expired, or for another server?"


def failure_in_stream(error: Any, *, host: str) -> ProviderError:
    """Return the error for an error object inside a reply."""
    message, code = _message_and_code(error)
    status = _status_of(error)
    if refused := _refused_call(error, status):
        return refused
    kind = _kind(status, code, message)
    text = f"{host} broke off the reply: {one_line(message or code)}"
    return ProviderError(text, kind=kind, status=status)


def failure_in_body(body: bytes, *, host: str, is_whole: bool = False) -> ProviderError | None:
    """Return the error in a body of status 200 that is no reply, or None if it names none.

    A body that *is_whole* is an answer, in whatever form. Only a failure that is known to be
    temporary is retried.
    """
    value = _json(body)
    text = body.decode("utf-8", "replace").strip()
    is_cut = text.startswith(("{", "["))
    error = _error_of(value) if isinstance(value, Mapping | list) else "" if is_cut else text
    if not error or (isinstance(value, Mapping) and not value.keys() & {*_WORDS, "errors"}):
        if not is_whole or value is None:
            return None
        error = f"JSON that is no reply: {text[:SHOWN_CHARS]}"
    message, code = _message_and_code(error)
    status = _status_of(error)
    if refused := _refused_call(error, status):
        return refused
    kind = _kind(status, code, message)
    if not status and code not in _KINDS_BY_CODE and kind == "unavailable":
        kind = "protocol"
    advice = _advice(kind, status, "")
    answer = one_line(message or code)
    text = f"{host} answered 200: {answer.removesuffix('.') if advice else answer}{advice}"
    return ProviderError(text, kind=kind, status=status)


def _status_of(error: Any) -> int:
    """Return the status that an error object names in the body, 0 for none."""
    fields = error if isinstance(error, Mapping) else {}
    for code in (fields.get("code"), fields.get("status_code"), fields.get("status")):
        number = int(code) if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code) else code
        if isinstance(number, int) and _FIRST_ERROR_STATUS <= number < _END_OF_STATUSES:
            return number
    return 0


def _refused_call(error: Any, status: int) -> ToolUseFailedError | None:
    """Return the error for a call that the server refused, None for any other error."""
    if not isinstance(error, Mapping) or error.get("code") != _REFUSED_CALL:
        return None
    message, generation = _message_and_code(error)[0], str(error.get("failed_generation") or "")
    return ToolUseFailedError(one_line(message), generation, kind="bad_request", status=status)


def last_words(partial: str) -> str:
    """Describe the text that arrived before a failure, for the end of its message."""
    if not partial:
        return ""
    return f" (after {len(partial):,} characters, ending {one_line(partial[-80:])!r})"


def one_line(text: str) -> str:
    """Return one printable line of at most 500 characters without secrets."""
    text = Redactor().redact(text)
    text = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * MESSAGE_CHARS])
    text = without_password(" ".join(text.split()))
    return text if len(text) <= MESSAGE_CHARS else text[: MESSAGE_CHARS - 2] + " …"


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait that the server asks for, in seconds, or None without a usable header."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    return seconds if seconds is not None else _until_date(value, now)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _until_date(value: str, now: float) -> float | None:
    if not value[:1].isalpha():
        return None
    from email.utils import parsedate_to_datetime  # seldom needed, and not at start

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _describe_body(body: bytes) -> tuple[str, str]:
    value = _json(body)
    if isinstance(value, Mapping | list) and value:
        return _message_and_code(_error_of(value))
    text = body.decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        return f"an HTML page{words_of_page(text)}", ""
    return text or "an empty body", ""


def _json(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _error_of(value: Any) -> Any:
    """Return the error object of a body, or the body if it has none."""
    if isinstance(value, list):
        return _error_of(value[0]) if value else ""
    if not isinstance(value, Mapping):
        return value
    error = value.get("error") or value.get("errors")
    error = error[0] if isinstance(error, list) and error else error
    # "error": true beside a message has no more information than the message.
    return error if isinstance(error, Mapping | str) else value


def words_of_page(page: str) -> str:
    """Return the first words of an HTML page in brackets, or "" if it has none."""
    words: list[str] = []
    skipped = ""
    for part in page.split("<"):
        tag, end, text = part.partition(">")
        name = tag.split(maxsplit=1)[0].lower() if tag.strip() else ""
        if skipped:
            skipped = "" if name == f"/{skipped}" else skipped
        elif name in {"script", "style"}:
            skipped = name
        if end and not skipped:
            words += text.split()
        if len(words) > _PAGE_CHARS:
            break
    excerpt = one_line(" ".join(words))[:_PAGE_CHARS]
    return f" ({excerpt})" if excerpt else ""


def _message_and_code(error: Any) -> tuple[str, str]:
    if not isinstance(error, Mapping):
        return str(error), ""
    message = next((error[name] for name in _WORDS if error.get(name)), "")
    if isinstance(message, list) and message:  # one entry for each field that is wrong
        message = "; ".join(map(_named_fault, message))
    codes = [error.get(name) for name in ("code", "type", "status")]
    texts = [code for code in codes if isinstance(code, str)]
    code = next((text for text in texts if text in _KINDS_BY_CODE), texts[0] if texts else "")
    return str(message or code or dict(error)), code


def _named_fault(entry: Any) -> str:
    """Return the message of one fault of a request, behind the field that it names."""
    message = _message_and_code(entry)[0]
    path = entry.get("loc") if isinstance(entry, Mapping) else None
    return f"{'.'.join(map(str, path))}: {message}" if isinstance(path, list) else message


def _kind(status: int, code: str, message: str) -> str:
    lower = message.lower()
    if code == "insufficient_quota" or any(word in lower for word in _QUOTA_WORDS):
        return "quota"
    by_code = _KINDS_BY_CODE.get(code, "")
    kind = _KINDS_BY_STATUS.get(status) or by_code
    is_of_size = kind not in {"auth", "not_found", "quota", "rate_limit"}
    if is_of_size and re.search(_IN_A_TIME, lower):
        kind = "rate_limit" if status == _TOO_LARGE else kind
    # Behind gateways such an answer comes with any status, a server's error among them.
    elif is_of_size and (
        by_code == "context_overflow" or any(re.search(each, lower) for each in _OVERFLOW_WORDS)
    ):
        kind = "context_overflow"
    # A server without eyes may call that a fault of its own, or an address that is not there.
    elif kind in {"", "bad_request", "not_found", "unavailable"} and re.search(_MEDIA_WORDS, lower):
        kind = "media"
    elif kind in {"", "bad_request"} and any(word in lower for word in _AUTH_WORDS):
        kind = "auth"
    if kind:
        return kind
    if _FIRST_ERROR_STATUS <= status < _FIRST_SERVER_ERROR:
        return "bad_request"
    return "unavailable"
