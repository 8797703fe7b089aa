"""The replies that the model may give: JSON objects with a tool's actions, or with an answer."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from attrs import frozen
from nanocoder import ToolCall, ToolDefinition

from nanocoder_kit_llm.actions.blocks import (
    CONTENT,
    PATH,
    code_pattern,
    has_block,
    other_pattern,
    read_block,
    write_block,
)
from nanocoder_kit_llm.actions.grammar import SEPARATOR, grammar
from nanocoder_kit_llm.actions.schemas import bound_numbers, restrict

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

TALK: Final = "Talk with the user, when there is nothing to look at and nothing to do."
NO_TOOL: Final = "Say so, when no tool above does what the user asks for."

TELLING: Final = 30
"""Length above which a parameter's description adds to its name: a unit, a default, a form."""
SHOWN_CHARS: Final = 200
_DECODER: Final = json.JSONDecoder()
_BETWEEN: Final = re.compile(rf"\s*(?:{SEPARATOR})?\s*")


@frozen
class Actions:
    """The actions of one set of tools: prompt lines, schema, and the way to calls and back.

    Arguments are beside the action's name, `{"action": "grep", "pattern": "x"}`; only a tool with a
    parameter named "action" (those in *nested*) has them one level deeper. The content of a file of
    code follows in a block after the object for the tools in *with_block*. *is_free* replies are
    constrained by a grammar, others by a schema.
    """

    tools: tuple[ToolDefinition, ...]
    nested: frozenset[str]
    answer: str
    chat: str
    is_free: bool = False
    with_block: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tools: Sequence[ToolDefinition], *, is_free: bool = False) -> "Actions":
        """Return the actions for *tools*; *is_free* is for engines that take a grammar."""
        names = {tool.name for tool in tools}
        nested = frozenset(tool.name for tool in tools if ACTION in _properties(tool))
        answer = "answer" if "answer" not in names else "final_answer"
        with_block = frozenset(tool.name for tool in tools if is_free and has_block(tool))
        # Beside a tool that writes files, "none" was chosen in place of writing a function.
        talk = "none" if is_free and not with_block else "chat"
        chat = talk if talk not in names else f"just_{talk}"
        return cls(tuple(tools), nested, answer, chat, is_free, with_block)

    @property
    def endings(self) -> tuple[str, str]:
        """The actions that end a request."""
        return self.answer, self.chat

    @property
    def has_several(self) -> bool:
        """True if a reply may have several actions.

        With a tool that writes code there is one: when allowed several, the model searched for the
        file that it should have written.
        """
        return self.is_free and not self.with_block

    def lines(self) -> str:
        """Return the lines for each action: `grep(pattern, path?): Search …`."""
        return "\n".join([*map(action_line, self.tools), *self.ending_lines()])

    def ending_lines(self) -> tuple[str, str]:
        """Return the lines for the actions that end a request."""
        talk = NO_TOOL if self.has_several else TALK
        return (
            f"{self.answer}({TEXT}): Tell the user the result. This ends the request.",
            f"{self.chat}({TEXT}): {talk} This ends the request.",
        )

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
        if not self.is_free:
            return schema
        others = bounded([self._schema_of(tool, other_pattern()) for tool in self.tools])
        heads = [_head(name) for name in sorted(self.with_block)]
        guided = [{**call, **guidance} for call in others]
        block = {"anyOf": heads, **guidance} if heads else None
        return schema | {
            GRAMMAR: grammar(guided, block, {**ending, **guidance}, several=self.has_several)
        }

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

    def read(self, reply: str) -> tuple[ToolCall, ...] | str:
        """Return the calls that *reply* makes, or its answer; raises ValueError for neither.

        It ends at an answer behind calls, which was written before they ran, and at a call that it
        has made before.
        """
        earlier: list[dict[str, Any]] = []
        calls: list[ToolCall] = []
        for value, rest in _objects(reply):
            if not calls and value[ACTION] in self.endings:
                return str(value.get(TEXT, ""))
            if value in earlier or value[ACTION] in self.endings:
                break
            earlier.append(value)
            content = read_block(rest) if self.with_block else None
            calls.append(self._call(value, content))
            if content is not None:
                break
        return tuple(calls)

    def repeats(self, reply: str) -> bool:
        """Return True if the part of a reply that has arrived makes one call twice.

        A small model that may write several actions begins again at the first.
        """
        earlier: list[dict[str, Any]] = []
        with suppress(ValueError):
            for value, _ in _objects(reply):
                if value in earlier:
                    return True
                earlier.append(value)
        return False

    def _call(self, value: Mapping[str, Any], content: str | None) -> ToolCall:
        name, arguments = value[ACTION], {key: value[key] for key in value if key != ACTION}
        if name in self.nested:
            arguments = value.get(ARGUMENTS, {})
        if content is not None:
            arguments |= {CONTENT: content}
        error = self._misplaced(arguments)
        call_id = f"call_{os.urandom(6).hex()}"
        return ToolCall(id=call_id, name=name, arguments=arguments, error=error)

    def _misplaced(self, arguments: Mapping[str, Any]) -> str:
        """Return the problem of a file whose whole content is an action, or "" for others.

        A JSON file may well describe one.
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


def _objects(reply: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each action of *reply* and the text after it; raises ValueError for other text."""
    rest = reply.strip()
    while rest or not reply.strip():
        value, end = _DECODER.raw_decode(rest)
        if not isinstance(value, dict) or not isinstance(value.get(ACTION), str):
            raise ValueError(f"not an action: {reply[:80]!r}")  # noqa: TRY004 - as json.loads
        yield value, rest[end:]
        rest = _BETWEEN.sub("", rest[end:], count=1)


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


def action_line(tool: ToolDefinition) -> str:
    """Return the line of *tool*, and one for each parameter with an informative description."""
    parameters = restrict(tool.parameters)
    required = parameters.get("required", [])
    names = [*parameters.get("properties", {})]
    listed = [name if name in required else f"{name}?" for name in names]
    described = ((name, _description(tool, name)) for name in names)
    lines = [f"{tool.name}({', '.join(listed)}): {' '.join(tool.description.split())}"]
    lines += [f"  {name}: {text[:SHOWN_CHARS]}" for name, text in described if len(text) > TELLING]
    return "\n".join(lines)


def _description(tool: ToolDefinition, parameter: str) -> str:
    schema = tool.parameters.get("properties", {}).get(parameter)
    text = schema.get("description", "") if isinstance(schema, Mapping) else ""
    return " ".join(text.split()) if isinstance(text, str) else ""


def _properties(tool: ToolDefinition) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = restrict(tool.parameters).get("properties", {})
    return properties
