"""Ask a SearXNG: one address with a query, one JSON object with results."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from attrs import evolve, frozen
from nanocoder import Cancel, ToolError
from nanocoder_kit_llm.net import Answer, Guard, Limits, Target, fetch, parse_url

SNIPPET_CHARS = 400
TITLE_CHARS = 200
TIMEOUT_S = 20.0
_OK = 200
_FORBIDDEN = 403


@frozen
class Hit:
    """One result; all three are single lines."""

    title: str
    url: str
    snippet: str


def search(instance: str, query: str, count: int, cancel: Cancel) -> list[Hit]:
    """Return the first *count* results; raises ToolError."""
    target = _target(instance, query)
    # The user configured this address, which may lie in a private network.
    guard = Guard(trusted=(target.host, target.port))
    answer = fetch(
        target,
        guard,
        cancel=cancel,
        limits=Limits(seconds=TIMEOUT_S),
        headers={"accept": "application/json"},
    )
    results = _results(answer)
    hits = [_hit(entry) for entry in results if isinstance(entry, Mapping) and entry.get("url")]
    return hits[:count]


def _target(instance: str, query: str) -> Target:
    base = parse_url(instance)
    path = base.path.partition("?")[0].rstrip("/").removesuffix("/search")
    parameters = urlencode({"q": query, "format": "json"})
    return evolve(base, path=f"{path}/search?{parameters}")


def _results(answer: Answer) -> list[Any]:
    if answer.status == _FORBIDDEN:
        raise ToolError(
            "the search instance does not return JSON; its settings.yml needs json among"
            " search.formats",
            error_class="search_failed",
        )
    if answer.status != _OK:
        raise ToolError(
            f"the search instance answered with status {answer.status}", error_class="search_failed"
        )
    try:
        results = json.loads(answer.body)["results"]
    except (ValueError, TypeError, KeyError, RecursionError):
        results = None
    if not isinstance(results, list):
        raise ToolError(
            "the server at the search instance's address is not a SearXNG",
            error_class="search_failed",
        )
    return results


def _hit(entry: Mapping[str, Any]) -> Hit:
    return Hit(
        _line(entry.get("title"), TITLE_CHARS) or "(no title)",
        _line(entry.get("url"), SNIPPET_CHARS),
        _line(entry.get("content"), SNIPPET_CHARS),
    )


def _line(value: Any, limit: int) -> str:
    return " ".join(value.split())[:limit] if isinstance(value, str) else ""
