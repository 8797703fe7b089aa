"""Steps in words of no agent, put into the tools that an agent offers, and broken in set ways.

A step is a kind (read, write, edit, bash, grep, glob) and values. Where an agent has no tool of a
kind, the step is done by its shell, as a model would.
"""

import json
import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, field, frozen
from wire_server import Reply, ToolForm

TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("read_file", "read", "Read", "view"),
    "write": ("write_file", "write", "Write", "create_file"),
    "edit": ("edit_file", "edit", "Edit", "str_replace", "apply_patch"),
    "bash": ("bash", "Bash", "exec_command", "shell_command", "shell", "run_shell_command"),
    "grep": ("grep", "Grep", "search_files"),
    "glob": ("glob", "Glob", "find_files"),
}
"""Names of tools by kind: the first that an agent offers is its own, another one is foreign."""
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "path": ("path", "file_path", "filePath", "filename"),
    "content": ("content", "contents", "file_text"),
    "old": ("old_string", "oldString", "oldText", "old_str"),
    "new": ("new_string", "newString", "newText", "new_str"),
    "command": ("command", "cmd", "script"),
    "pattern": ("pattern", "query", "regex"),
    "offset": ("offset", "start_line"),
    "limit": ("limit", "line_count"),
    "background": ("background", "run_in_background"),
    "all": ("replace_all", "replaceAll"),
}
"""Names of parameters, in the same way."""
PATCH: Final = "*** Begin Patch\n*** Update File: {path}\n@@\n{old}{new}*** End Patch\n"


@frozen
class Step:
    """One call that the model means: its *kind*, its *values*, and how it is broken."""

    kind: str
    values: Mapping[str, Any] = field(factory=dict)
    broken: str = ""


def step(kind: str, broken: str = "", **values: Any) -> Step:
    """Return a step."""
    return Step(kind, values, broken)


@frozen
class Call:
    """A call of a tool that an agent offers, before it is written down."""

    tool: ToolForm
    arguments: Mapping[str, Any]
    own: Mapping[str, str] = field(factory=dict)
    """The tool's own names of the values that the step gave."""
    is_native: bool = True


def reply_of(wanted: Step, tools: Sequence[ToolForm]) -> Reply:
    """Return the reply that does *wanted* with one of *tools*; raises LookupError without one."""
    call = _call(wanted, tools)
    how, _, what = wanted.broken.partition(":")
    if how:
        return BREAKS[how](call, what, wanted, tools)
    return _written(call)


def own_names(wanted: Step, tools: Sequence[ToolForm]) -> list[str]:
    """Return the names of the tool and the parameters that an agent has for *wanted*."""
    call = _call(evolve(wanted, broken=""), tools)
    return [call.tool.name, *call.own.values()]


def _call(wanted: Step, tools: Sequence[ToolForm]) -> Call:
    tool = _find(wanted.kind, tools)
    if tool is not None and tool.name == "apply_patch":
        patch = _patch(wanted.values)
        return Call(tool, {next(iter(tool.schema.get("properties", ())), "input"): patch})
    if tool is not None:
        return _filled(tool, wanted.values)
    shell = _find("bash", tools)
    if shell is None:
        raise LookupError(f"no tool does {wanted.kind!r}: {[tool.name for tool in tools]}")
    return evolve(_filled(shell, {"command": _as_command(wanted)}), is_native=False)


def _find(kind: str, tools: Sequence[ToolForm]) -> ToolForm | None:
    offered = {tool.name: tool for tool in tools}
    return next((offered[name] for name in TOOLS[kind] if name in offered), None)


def _filled(tool: ToolForm, values: Mapping[str, Any]) -> Call:
    properties = tool.schema.get("properties", {})
    arguments: dict[str, Any] = {}
    own: dict[str, str] = {}
    items = properties.get("edits", {}).get("items", {}).get("properties", {})
    inner: dict[str, Any] = {}
    for meaning, value in values.items():
        for names, target in ((properties, arguments), (items, inner)):
            name = next((name for name in NAMES.get(meaning, (meaning,)) if name in names), None)
            if name is not None:
                is_list = names[name].get("type") == "array" and isinstance(value, str)
                target[name] = ["bash", "-lc", value] if is_list else value
                own[meaning] = name
                break
    if inner:
        arguments["edits"] = [inner]
    for name in tool.schema.get("required", ()):
        arguments.setdefault(name, "work" if properties[name].get("type") == "string" else False)
    return Call(tool, arguments, own)


def _as_command(wanted: Step) -> str:
    values = wanted.values
    path = shlex.quote(str(values.get("path", ".")))
    match wanted.kind:
        case "read":
            first, many = values.get("offset", 1), values.get("limit")
            return f"sed -n {first},{first + many - 1}p {path}" if many else f"cat {path}"
        case "write":
            folder = shlex.quote(posixpath.dirname(values["path"]) or ".")
            return f"mkdir -p {folder} && cat > {path} <<'END'\n{values['content']}\nEND"
        case "edit":
            return f"apply_patch <<'END'\n{_patch(values)}END"
        case "grep":
            return f"grep -rn {shlex.quote(values['pattern'])} {path}"
        case "glob":
            return f"find . -name {shlex.quote(posixpath.basename(values['pattern']))}"
        case kind:
            raise LookupError(f"no command does {kind!r}")


def _patch(values: Mapping[str, Any]) -> str:
    old = "".join(f"-{line}\n" for line in str(values["old"]).split("\n"))
    new = "".join(f"+{line}\n" for line in str(values["new"]).split("\n"))
    return PATCH.format(path=values["path"], old=old, new=new)


def _written(call: Call, arguments: str | None = None, name: str = "") -> Reply:
    if arguments is None:
        is_custom = call.tool.is_custom
        patch = next(iter(call.arguments.values()), "") if is_custom else ""
        arguments = str(patch) if is_custom else json.dumps(call.arguments)
    return Reply(
        name=name or call.tool.name, arguments=arguments, is_custom=call.tool.is_custom and not name
    )


def _foreign_tool(call: Call, what: str, wanted: Step, tools: Sequence[ToolForm]) -> Reply:
    offered = {tool.name for tool in tools}
    name = what or next(name for name in TOOLS[wanted.kind] if name not in offered)
    arguments = call.arguments if call.is_native and not call.tool.is_custom else wanted.values
    return Reply(name=name, arguments=json.dumps(dict(arguments)))


def _changed(change: Callable[[dict[str, Any], str, str], None]) -> Callable[..., Reply]:
    """Return a break that changes the arguments; a value that the tool lacks is its command."""

    def break_call(call: Call, what: str, _: Step, __: Sequence[ToolForm]) -> Reply:
        meaning = what if what in call.own else next(iter(call.own), "")
        arguments = json.loads(json.dumps(call.arguments))
        if "edits" in arguments and meaning in {"old", "new"}:
            change(arguments["edits"][0], call.own[meaning], meaning)
        else:
            change(arguments, call.own.get(meaning, meaning), meaning)
        return _written(call, json.dumps(arguments))

    return break_call


def _rename(arguments: dict[str, Any], name: str, meaning: str) -> None:
    if name in arguments:
        foreign = next(other for other in NAMES[meaning] if other not in arguments)
        arguments[foreign] = arguments.pop(name)


def _as_text(arguments: dict[str, Any], name: str, _: str) -> None:
    value = arguments.get(name)
    arguments[name] = value if isinstance(value, str) else json.dumps(value)


def _as_list(arguments: dict[str, Any], name: str, meaning: str) -> None:
    value = arguments[name]
    arguments[name] = value.split() if meaning == "command" else [value]


def _without(arguments: dict[str, Any], name: str, _: str) -> None:
    arguments.pop(name, None)


def _on_text(change: Callable[[str], str], *, is_cut: bool = False) -> Callable[..., Reply]:
    """Return a break that changes the text of the arguments."""

    def break_call(call: Call, _: str, __: Step, ___: Sequence[ToolForm]) -> Reply:
        written = _written(call)
        return evolve(written, arguments=change(written.arguments), is_cut=is_cut)

    return break_call


def _hermes(call: Call, _: str, __: Step, ___: Sequence[ToolForm]) -> Reply:
    body = json.dumps({"name": call.tool.name, "arguments": call.arguments})
    return Reply(text=f"I will do that.\n<tool_call>\n{body}\n</tool_call>")


def _xml(call: Call, _: str, __: Step, ___: Sequence[ToolForm]) -> Reply:
    values = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in call.arguments.items())
    return Reply(
        text=f"<tool_call>\n<function={call.tool.name}>\n{values}</function>\n</tool_call>"
    )


def _labelled(call: Call, what: str, _: Step, __: Sequence[ToolForm]) -> Reply:
    name, value = what.split("=")
    return _written(call, json.dumps({**call.arguments, name: json.loads(value)}))


BREAKS: Final[Mapping[str, Callable[..., Reply]]] = {
    "tool": _foreign_tool,
    "upper": lambda call, *_: _written(call, name=call.tool.name.upper()),
    "namespace": lambda call, *_: _written(call, name=f"functions.{call.tool.name}"),
    "name": _changed(_rename),
    "text": _changed(_as_text),
    "list": _changed(_as_list),
    "without": _changed(_without),
    "label": _labelled,
    "twice": _on_text(json.dumps),
    "nested": _on_text(lambda text: f'{{"arguments": {text}}}'),
    "comma": _on_text(lambda text: f"{text.rstrip('}')}, }}"),
    "newline": _on_text(lambda text: text.replace("\\n", "\n")),
    "fence": _on_text(lambda text: f"```json\n{text}\n```"),
    "cut": _on_text(lambda text: text[: len(text) * 2 // 3], is_cut=True),
    "open": _on_text(lambda text: text.rstrip("}")),
    "hermes": _hermes,
    "xml": _xml,
    "empty": lambda *_: Reply(),
}
"""The ways in which a call can be broken, by name; after a colon comes what is broken."""
