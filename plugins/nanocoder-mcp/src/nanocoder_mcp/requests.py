"""Requests that a server sends during a call: only a person answers them.

A server can ask only while a call of it runs. It gets an answer from the model only if its
setting allows that and the user agrees.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import mcp_types
from nanocoder import Question, ToolContext, for_terminal, one_line
from nanocoder_kit_ui.questions import DECLINE, Form, object_of

from nanocoder_mcp.sampling import sampled

ANSWER: Final = "answer"
FINISHED: Final = "done"
SKIP: Final = "leave it empty"
MESSAGE_CHARS: Final = 1_000
LABEL_CHARS: Final = 200
MAX_FIELDS: Final = 20
MAX_QUESTIONS: Final = 20
"""Limit of the requests that reach the user in one call, one after the other."""
ADDRESS_CHARS: Final = 2_000
NO_CALL: Final = "no call runs that could ask for it, or it asked too often"
ADDRESS: Final = re.compile(r"https?://[^\s/?#@\\]+(?:[/?#]\S*)?")
"""No name before the host: `https://bank.example@other.example` is an address of the other."""
REFUSED: Final = -1
"""JSON-RPC error code for a request that the user refused."""
Ask = Callable[[Question], str | None]


class ServerRequests:
    """The requests of one server, about the call that runs; its coroutines run on the loop."""

    def __init__(self, server: str, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._contexts: list[ToolContext] = []
        self._asked = 0
        self._turn = asyncio.Lock()

    @contextmanager
    def during(self, ctx: ToolContext) -> Iterator[None]:
        """Accept the server's requests while the call of *ctx* runs."""
        self._contexts.append(ctx)
        self._asked = 0
        try:
            yield
        finally:
            self._contexts.remove(ctx)

    async def list_roots(self, context: Any) -> mcp_types.ListRootsResult:
        """Name the workspace, and nothing else."""
        del context
        root = {"uri": self._folder.as_uri(), "name": self._folder.name}
        return mcp_types.ListRootsResult.model_validate({"roots": [root]})

    async def elicit(self, context: Any, params: Any) -> mcp_types.ElicitResult:
        """Put the server's question to the person."""
        del context
        async with self._turn:
            if not self._may_ask():
                return mcp_types.ElicitResult(action="cancel")
            put = self._open_address if params.mode == "url" else self._fill_form
            return await asyncio.to_thread(put, self._contexts[-1].ask, params)

    async def sample(self, context: Any, params: Any) -> Any:
        """Return an answer of the model, if the person agrees."""
        del context
        async with self._turn:
            if not self._may_ask():
                return mcp_types.ErrorData(code=REFUSED, message=NO_CALL)
            result = await asyncio.to_thread(sampled, self._contexts[-1], self._server, params)
        if result.is_error:
            return mcp_types.ErrorData(code=REFUSED, message=result.output)
        return mcp_types.CreateMessageResult(
            role="assistant",
            content=mcp_types.TextContent(type="text", text=result.output),
            model="nanocoder",
            stop_reason="endTurn",
        )

    def _may_ask(self) -> bool:
        """Return True if a call runs, and the server has asked fewer questions than its limit."""
        self._asked += 1
        return bool(self._contexts) and self._asked <= MAX_QUESTIONS

    def _open_address(self, ask: Ask, params: Any) -> mcp_types.ElicitResult:
        if not ADDRESS.fullmatch(params.url) or len(params.url) > ADDRESS_CHARS:
            return mcp_types.ElicitResult(action="cancel")
        text = (
            f"{self._intro(params.message)}\nOpen this address yourself: {for_terminal(params.url)}"
        )
        answer = ask(Question(text, (FINISHED, DECLINE), custom=False))
        action = {FINISHED: "accept", DECLINE: "decline"}.get(answer or "", "cancel")
        return mcp_types.ElicitResult.model_validate({"action": action})

    def _fill_form(self, ask: Ask, params: Any) -> mcp_types.ElicitResult:
        schema = as_mapping(params.requested_schema)
        fields = list(as_mapping(schema.get("properties")).items())[:MAX_FIELDS]
        form = Form(self._intro(params.message), (ANSWER, DECLINE), custom=False, fields=schema)
        start = ask(form)
        filled = object_of(start)
        if filled is not None:
            content = {name: filled[name] for name, _ in fields if name in filled}
            return mcp_types.ElicitResult(action="accept", content=content)
        if start != ANSWER:
            return mcp_types.ElicitResult(action="decline" if start == DECLINE else "cancel")
        content = {}
        for name, field in fields:
            is_filled, value = ask_field(ask, name, as_mapping(field))
            if is_filled:
                content[name] = value
            elif name in schema.get("required", ()):
                return mcp_types.ElicitResult(action="cancel")
        return mcp_types.ElicitResult(action="accept", content=content)

    def _intro(self, message: str) -> str:
        return f"The MCP server {self._server} asks: {one_line(message, MESSAGE_CHARS)}"


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return *value* if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def ask_field(ask: Ask, name: str, field: Mapping[str, Any]) -> tuple[bool, Any]:
    """Ask for one field and return (is_filled, value); the default is the first choice."""
    label = one_line(str(field.get("title") or name), LABEL_CHARS)
    hint = one_line(str(field.get("description") or ""), LABEL_CHARS)
    values = choices_of(field)
    texts = {one_line(text, LABEL_CHARS): value for text, value in values.items()}
    first = [SKIP]
    if "default" in field:
        default = next((text for text, value in texts.items() if value == field["default"]), None)
        first = [default or one_line(str(field["default"]), LABEL_CHARS)]
        texts = {first[0]: field["default"], **texts}
    choices = tuple(dict.fromkeys([*first, *texts]))
    question = Question(f"{label}: {hint}" if hint else label, choices, custom=not values)
    answer = ask(question)
    if answer is None or answer == SKIP:
        return False, None
    if answer in texts:
        return True, texts[answer]
    return typed_value(answer, str(field.get("type", "string")))


def choices_of(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a field may have by the text that a person chooses."""
    if field.get("type") == "boolean":
        return {"yes": True, "no": False}
    options = field.get("oneOf") or field.get("anyOf") or ()
    titled = {str(each.get("title", each.get("const"))): each.get("const") for each in options}
    names = field.get("enumNames") or field.get("enum") or ()
    return titled or {
        str(text): value for text, value in zip(names, field.get("enum") or (), strict=False)
    }


def typed_value(text: str, kind: str) -> tuple[bool, Any]:
    """Parse a typed answer as the type of a field; return (is_valid, value)."""
    if kind == "array":
        return True, [part.strip() for part in text.split(",") if part.strip()]
    if kind not in {"number", "integer"}:
        return True, text
    try:
        return True, int(text) if kind == "integer" else float(text)
    except ValueError:
        return False, None
