"""Streaming HTTP for providers: server-sent events, retries, timers, cancelling.

Importing this module does not import httpcore; the first request does.
"""

from nanocoder_kit_http.client import WHOLE_REPLY, Client
from nanocoder_kit_http.encoded_messages import EncodedMessages
from nanocoder_kit_http.failures import FinalError, failure_in_stream, failure_of_status
from nanocoder_kit_http.json_text import (
    decode_json,
    decode_objects,
    encode_json,
    parse_arguments,
    replace_surrogates,
)
from nanocoder_kit_http.keys import KEY_FILE, Key
from nanocoder_kit_http.listening import is_listening
from nanocoder_kit_http.provider import HttpProvider, Pieces
from nanocoder_kit_http.replies import (
    CallParts,
    Deltas,
    Reply,
    ReplyContext,
    ReplyDecoder,
    as_int,
    as_mapping,
    as_str,
    close_calls,
    read_reply,
)
from nanocoder_kit_http.retry import Retry
from nanocoder_kit_http.settings import HttpSettings
from nanocoder_kit_http.sizes import is_small
from nanocoder_kit_http.sse import SseEvent, SseParser
from nanocoder_kit_http.timers import Timeouts
from nanocoder_kit_http.written_calls import WrittenCalls

__all__ = [
    "KEY_FILE",
    "WHOLE_REPLY",
    "CallParts",
    "Client",
    "Deltas",
    "EncodedMessages",
    "FinalError",
    "HttpProvider",
    "HttpSettings",
    "Key",
    "Pieces",
    "Reply",
    "ReplyContext",
    "ReplyDecoder",
    "Retry",
    "SseEvent",
    "SseParser",
    "Timeouts",
    "WrittenCalls",
    "as_int",
    "as_mapping",
    "as_str",
    "close_calls",
    "decode_json",
    "decode_objects",
    "encode_json",
    "failure_in_stream",
    "failure_of_status",
    "is_listening",
    "is_small",
    "parse_arguments",
    "read_reply",
    "replace_surrogates",
]
