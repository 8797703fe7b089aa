"""Repair of names and values in calls that a tool does not accept, if they are unambiguous.

Models write calls for the tools that they were trained with. An ambiguous name or value stays as it
is: the validation rejects it and lists the valid names.
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from nanocoder import BadArguments, one_line, parse_json

Schema = Mapping[str, Any]

PARAMETERS: Final = (
    "path file_path filepath file filename file_name absolute_path target_file notebook_path",
    "path dir dir_path directory folder",
    "old_string old_str old_text old find",
    "new_string new_str new_text new replacement",
    "command cmd shell_command bash_command script",
    "content contents file_text file_content text body",
    "pattern regex regexp query search search_pattern",
    "query search_query search_term q",
    "glob include includes include_pattern file_pattern glob_pattern",
    "output output_mode",
    "context c context_lines",
    "ignore_case i case_insensitive",
    "limit head_limit max_results max_count max_lines line_count num_lines count",
    "offset start_line line_offset line_start start from_line",
    "workdir cwd working_directory dir_path directory",
    "background run_in_background is_background",
    "patch input diff patch_text",
    "edits changes replacements",
    "todos items tasks todo_list plan",
    "question prompt message text",
    "choices options answers",
    "name subagent_type agent_type agent skill skill_name",
    "url uri link",
    "source old_path from src source_path",
    "destination new_path to dest target destination_path",
)
"""Names that tools of different agents have for one parameter; "directory" may be one of two."""
TOOLS: Final = (
    "read_file read view view_file open_file cat",
    "write_file write create_file save_file write_to_file",
    "edit_file edit str_replace replace replace_in_file search_replace search_and_replace",
    "bash shell sh exec exec_command execute_command shell_command local_shell terminal",
    "bash run_command run_shell_command run_terminal_cmd run_terminal_command",
    "grep search search_files search_file_content grep_search rg ripgrep search_text",
    "glob find_files file_search glob_files find_file",
    "list_files ls list_dir list_directory list",
    "delete_file remove_file rm",
    "move_file rename_file mv",
    "todo_write write_todos update_todos update_plan todo",
    "task agent spawn_agent subagent sub_agent delegate",
    "ask_user ask_user_question ask_followup_question request_user_input",
    "web_fetch fetch fetch_url",
    "web_search search_web google_web_search",
)
"""Names that different agents have for one tool."""
LABELS: Final = frozenset(
    (
        *("active_form", "description", "explanation", "justification", "reason", "title"),
        *("n", "line_numbers"),
    )
)
"""Parameters of other agents that describe a call to people, or request the default."""
EMPTY: Final[tuple[Any, ...]] = ("", 0, [], {})
SHELLS: Final = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
MOST_NUMBER: Final = 10**19
COLUMNS: Final = 60
TYPED: Final = {"type", "description", "default"}
"""The keys of a schema that only gives a value's type."""
TRUTH: Final = {"true": True, "false": False}
KINDS: Final[Mapping[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def find_tool(name: str, offered: Collection[str]) -> str:
    """Return the only tool of those *offered* that *name* can mean, or ""."""
    # Some models add the namespace of their functions, or a marker of their own format:
    # "functions.bash", "bash<|channel|>commentary".
    return _find_name(re.split("[.:]", name.partition("<|")[0])[-1], offered, TOOLS)


def read_arguments(
    arguments: Mapping[str, Any],
    schema: Schema,
    check: Callable[[Mapping[str, Any]], object],
    commands: Collection[str] = (),
) -> tuple[dict[str, Any], list[str]]:
    """Return *arguments* repaired for *check* if they are unambiguous, and the repairs in words.

    Only arguments that *check* rejects with BadArguments are repaired. *schema* describes them, and
    *commands* names the arguments that are shell commands.
    """
    if _is_plain(arguments, schema) or not _refused(arguments, check):
        return dict(arguments), []
    reading = _Reading()
    result = reading.object(reading.commands(arguments, commands), schema, "")
    required = schema.get("required", ())
    for name in _refused(result, check):
        # Small models fill in every option of a definition; an empty one was not meant.
        if name in result and name not in required and result[name] in EMPTY:
            del result[name]
    return result, reading.remarks


def _is_plain(arguments: Mapping[str, Any], schema: Schema) -> bool:
    """Return True if nothing required is missing, and each value has the type of its schema."""
    properties = schema.get("properties", {})
    return arguments.keys() >= {*schema.get("required", ())} and all(
        value
        and (declared := properties.get(name))
        and declared.keys() <= TYPED
        and declared["type"] == KINDS.get(type(value))
        for name, value in arguments.items()
    )


def _refused(
    arguments: Mapping[str, Any], check: Callable[[Mapping[str, Any]], object]
) -> list[str]:
    """Return the names of the arguments that *check* refuses."""
    try:
        check(arguments)
    except BadArguments as error:
        return [line.partition(":")[0] for line in error.problems]
    return []


class _Reading:
    """The repair of one call, and its repairs in words."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def commands(self, arguments: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
        """Join the words of commands, which some agents send as a list."""
        result = dict(arguments)
        for name in names:
            match arguments.get(name):
                case [shell, "-c" | "-lc", str(text)] if shell in SHELLS:
                    result[name] = text
                case [str(), *others] as words if all(isinstance(word, str) for word in others):
                    result[name] = shlex.join(words)
                case _:
                    continue
            self.remarks.append(f"{name} as {_show(result[name])}")
        return result

    def object(self, value: Mapping[str, Any], schema: Schema, where: str) -> dict[str, Any]:
        """Read the names and the values of an object."""
        properties, required = schema.get("properties", {}), schema.get("required", ())
        result = {name: item for name, item in value.items() if name in properties}
        is_open = schema.get("additionalProperties") is not False
        for name in [name for name in value if name not in properties]:
            # If an object may have any names, unknown ones are matched with its required names.
            missing = [other for other in properties if other not in result]
            missing = [other for other in missing if other in required] if is_open else missing
            if other := _find_name(name, missing, PARAMETERS):
                result[other] = value[name]
                self.remarks.append(f"{where}{name} as {other}")
            elif is_open or not _is_label(name, value[name]):
                result[name] = value[name]
        for name in [name for name in result if name in properties]:
            if result[name] is None and name not in required and not _takes(None, properties[name]):
                del result[name]  # an option that is not given
            else:
                result[name] = self._value(result[name], properties[name], f"{where}{name}")
        return result

    def _value(self, value: Any, schema: Schema, where: str) -> Any:
        if not _takes(value, schema):
            for meaning in _meanings(value, schema):
                if _takes(meaning, schema):
                    self.remarks.append(f"{where} as {_show(meaning)}")
                    value = meaning
                    break
        if (seconds := _seconds(value, schema)) != value:
            self.remarks.append(f"{where} as {seconds:g} s")
            value = seconds
        member = next((each for each in _members(schema) if _takes(value, each)), schema)
        if isinstance(value, dict):
            return self.object(value, member, f"{where}.")
        items = member.get("items")
        if isinstance(value, list) and items:
            numbered = enumerate(value)
            return [self._value(item, items, f"{where}[{index}]") for index, item in numbered]
        return value


def _meanings(value: Any, schema: Schema) -> Iterator[Any]:
    """Yield the possible conversions of *value* to another type, the likeliest first."""
    if isinstance(value, str):
        if value.strip().lower() in TRUTH:
            yield TRUTH[value.strip().lower()]
        for member in schema.get("enum", ()):
            if isinstance(member, str) and f"{value}_".lower().startswith(f"{member}_".lower()):
                yield member
        with suppress(BadArguments):
            parsed = parse_json(value) if value.strip() else value
            yield parsed
            yield from _meanings(parsed, schema) if isinstance(parsed, dict) else ()
    if isinstance(value, list) and len(value) == 1:
        yield value[0]
    if type(value) is int and abs(value) < MOST_NUMBER:
        yield str(value)
    for member in _members(schema):
        if not isinstance(value, list) and _takes(value, member.get("items", {"type": "null"})):
            yield [value]


def _seconds(value: Any, schema: Schema) -> Any:
    """Return a time that is too long for *schema*, taken as milliseconds, in seconds."""
    is_time = str(schema.get("description", "")).startswith("Seconds")
    most = schema.get("maximum")
    if not is_time or most is None or not isinstance(value, int | float) or value <= most:
        return value
    return value / 1_000 if value / 1_000 <= most else value


def _show(value: Any) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else one_line(repr(value), COLUMNS)


def _members(schema: Schema) -> Iterable[Schema]:
    return schema.get("anyOf") or (schema,)


def _takes(value: Any, schema: Schema) -> bool:
    """Return True if *schema* names the type of *value*, or none."""
    for member in _members(schema):
        kinds, kind = member.get("type", ()), KINDS.get(type(value), "")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kind in {"integer", "number"}:
            is_whole = kind == "integer" or value.is_integer()
            fits = "number" in kinds or ("integer" in kinds and is_whole)
        else:
            fits = kind in kinds
        if (fits or not kinds) and ("enum" not in member or value in member["enum"]):
            return True
    return False


def _is_label(name: str, value: Any) -> bool:
    return _snake(name) in LABELS and isinstance(value, str | bool)


def _find_name(name: str, names: Collection[str], groups: Iterable[str]) -> str:
    """Return the only one of *names* that equals *name* in other case or by *groups*, or ""."""
    snake_name = _snake(name)
    for candidate in (snake_name, name.lower()):
        if candidate in names:
            return candidate
    alike = [other for other in names if other.replace("_", "") == snake_name.replace("_", "")]
    same = {other for group in map(str.split, groups) if snake_name in group for other in group}
    candidates = alike or [*same.intersection(names)]
    return candidates[0] if len(candidates) == 1 else ""


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-\s]+", "_", name).strip("_").lower()
