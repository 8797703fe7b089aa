"""The replies that the model may give: one JSON object with a tool's action or an answer."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import frozen
from nanocoder import ToolCall, ToolDefinition

from nanocoder_kit_actions.blocks import (
    CONTENT,
    PATH,
    code_pattern,
    grammar,
    has_block,
    other_pattern,
    read_block,
    write_block,
)
from nanocoder_kit_actions.schemas import bound_numbers, restrict

ACTION: Final = "action"
TEXT: Final = "text"
ARGUMENTS: Final = "arguments"
OF_JSON: Final = (".json", ".jsonl", ".ndjson")
MISPLACED: Final = (
    "the content is the action {!r}, which would only be written down: nothing was written."
    " Give the text that {!r} shall hold as content, or make that action itself"
)
GRAMMAR: Final = "x-grammar"
"""The key of a schema that has a grammar for engines that know llguidance."""

SEPARATORS: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""The separators of `json.dumps`, so that an action encoded again has the same bytes."""


@frozen
class Actions:
    """The actions of one set of tools: prompt lines, schema, and the way to calls and back.

    Arguments are beside the action's name, `{"action": "grep", "pattern": "x"}`; only a tool with a
    parameter named "action" (those in *nested*) has them one level deeper. The content of a file of
    code follows in a block behind the object for the tools in *with_block*.
    """

    tools: tuple[ToolDefinition, ...]
    nested: frozenset[str]
    answer: str
    chat: str
    with_block: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tools: Sequence[ToolDefinition], *, blocks: bool = False) -> "Actions":
        """Return the actions for *tools*; *blocks* is for engines that take a grammar."""
        names = {tool.name for tool in tools}
        nested = frozenset(tool.name for tool in tools if ACTION in _properties(tool))
        answer = "answer" if "answer" not in names else "final_answer"
        chat = "chat" if "chat" not in names else "just_chat"
        with_block = frozenset(tool.name for tool in tools if blocks and has_block(tool))
        return cls(tuple(tools), nested, answer, chat, with_block)

    @property
    def endings(self) -> tuple[str, str]:
        """The actions that end a request."""
        return self.answer, self.chat

    def lines(self) -> str:
        """Return one line for each action: `grep(pattern, path?): Search …`."""
        lines = [_line(tool) for tool in self.tools]
        lines.append(f"{self.answer}({TEXT}): Tell the user the result. This ends the request.")
        lines.append(
            f"{self.chat}({TEXT}): Talk with the user, when there is nothing to look at and "
            "nothing to do. This ends the request."
        )
        return "\n".join(lines)

    def schema(self, *, bare: bool, has_separators: bool = True) -> dict[str, Any]:
        """Return the JSON Schema of a reply.

        *has_separators* is for engines that know llguidance: it fixes white space, and gives
        numbers an end.

        For a *bare* request, without a file or a result to answer from, the model can only talk.
        With "answer" allowed it described files that it had not read.
        """
        end = {ACTION: {"const": self._ending(bare=bare)}, TEXT: {"type": "string", "minLength": 1}}
        ending = _closed_object(end, [TEXT])
        guidance = {"x-guidance": dict(SEPARATORS)} if has_separators else {}
        bounded = bound_numbers if has_separators else lambda calls: calls
        calls = bounded([self._schema_of(tool) for tool in self.tools])
        schema = {"anyOf": [*calls, ending], **guidance}
        if not self.with_block:
            return schema
        others = bounded([self._schema_of(tool, other_pattern()) for tool in self.tools])
        heads = [_head(name) for name in sorted(self.with_block)]
        choices = {"anyOf": [*others, ending], **guidance}, {"anyOf": heads, **guidance}
        return schema | {GRAMMAR: grammar(*choices)}

    def write(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the reply that makes a call, as the model itself would have written it."""
        rest = {ARGUMENTS: dict(arguments)} if name in self.nested else arguments
        block = write_block(arguments) if name in self.with_block else ""
        if block:
            rest = {PATH: arguments[PATH]}
        return json.dumps({ACTION: name, **rest}, ensure_ascii=False) + block

    def write_answer(self, text: str, *, bare: bool) -> str:
        """Return the reply that ends a request, *bare* or not, with *text*."""
        return self.write(self._ending(bare=bare), {TEXT: text})

    def read(self, reply: str) -> "ToolCall | str":
        """Return the call that *reply* makes, or its answer; raises ValueError for neither."""
        head, content = read_block(reply) if self.with_block else (reply, None)
        value = json.loads(head)
        if not isinstance(value, dict) or not isinstance(value.get(ACTION), str):
            raise ValueError(f"not an action: {reply[:80]!r}")  # noqa: TRY004 - as json.loads
        name = value.pop(ACTION)
        if name in self.endings:
            return str(value.get(TEXT, ""))
        arguments = value.get(ARGUMENTS, {}) if name in self.nested else value
        if content is not None:
            arguments |= {CONTENT: content}
        error = self._misplaced(arguments)
        call_id = f"call_{os.urandom(6).hex()}"
        return ToolCall(id=call_id, name=name, arguments=arguments, error=error)

    def _misplaced(self, arguments: Mapping[str, Any]) -> str:
        """Say what is wrong with a file whose whole content is an action; "" for any other.

        A file of JSON may well describe one.
        """
        path, content = str(arguments.get(PATH, "")), arguments.get(CONTENT)
        if not isinstance(content, str) or content.lstrip()[:1] != "{" or path.endswith(OF_JSON):
            return ""
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return ""
        name = value.get(ACTION)
        if name not in {tool.name for tool in self.tools}.union(self.endings):
            return ""
        return MISPLACED.format(name, path)

    def _ending(self, *, bare: bool) -> str:
        return self.chat if bare else self.answer

    def _schema_of(self, tool: ToolDefinition, path_pattern: str = "") -> dict[str, Any]:
        """Return the schema of a call; with a block, *path_pattern* is for paths without one."""
        parameters = restrict(tool.parameters)
        properties = parameters.get("properties", {})
        if path_pattern and tool.name in self.with_block:
            properties = {**properties, PATH: {"type": "string", "pattern": path_pattern}}
        if tool.name in self.nested:
            return _closed_object(
                {ACTION: {"const": tool.name}, ARGUMENTS: parameters}, [ARGUMENTS]
            )
        return _closed_object(
            {ACTION: {"const": tool.name}, **properties}, parameters.get("required", [])
        )


def _closed_object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [ACTION, *required],
        "additionalProperties": False,
    }


def _head(name: str) -> dict[str, Any]:
    """Return the schema of the object before a block."""
    path = {"type": "string", "pattern": code_pattern()}
    return _closed_object({ACTION: {"const": name}, PATH: path}, [PATH])


def _line(tool: ToolDefinition) -> str:
    parameters = restrict(tool.parameters)
    required = parameters.get("required", [])
    names = [name if name in required else f"{name}?" for name in parameters.get("properties", {})]
    return f"{tool.name}({', '.join(names)}): {' '.join(tool.description.split())}"


def _properties(tool: ToolDefinition) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = restrict(tool.parameters).get("properties", {})
    return properties
