"""Validation by the JSON Schemas of servers: offline, and in bounded time.

jsonschema-rs validates. Its retriever rejects every URL, and its regular expressions take linear
time; expressions that it does not support run with a limit.
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Final, NoReturn

from nanocoder import ToolError, for_terminal
from nanocoder_schema import SchemaSignature

from nanocoder_mcp.costs import is_cheap

MAX_PROBLEMS: Final = 8
MAX_PROBLEM_CHARS: Final = 300
TOO_MUCH: Final = "the schema of this tool takes too many steps to validate them; give fewer values"
BACKTRACKS: Final = 100_000
DIALECT: Final = "$schema"
"""The key that names the draft of JSON Schema, which defines the other keys."""


def signature_of(schema: Mapping[str, Any]) -> SchemaSignature:
    """Return the signature of a tool whose arguments a server's *schema* describes."""
    validator = cache(partial(validator_of, schema))  # made for the first call

    def problems(arguments: Mapping[str, Any]) -> list[str]:
        if not is_cheap(schema, arguments):
            return [TOO_MUCH]
        return _problems(validator(), dict(arguments))

    return SchemaSignature(schema, problems)


def without_dialect(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* as a model reads it, who need not know the draft that judges a call."""
    return {key: value for key, value in schema.items() if key != DIALECT}


def is_known_dialect(dialect: object) -> bool:
    """Return True if *dialect* names a draft of JSON Schema; others are read as the newest."""
    try:
        validator_of({DIALECT: dialect})
    except ToolError:
        return False
    return True


def refuse_unsafe(schema: Mapping[str, Any]) -> None:
    """Raise ToolError for a schema that cannot be judged here."""
    validator_of(schema)


def validator_of(schema: Mapping[str, Any]) -> Any:
    """Return a validator that never opens a connection; raises ToolError."""
    import jsonschema_rs  # a start judges nothing

    addresses: list[str] = []

    def refuse(address: str) -> NoReturn:
        addresses.append(address)
        raise ValueError(address)

    linear = jsonschema_rs.RegexOptions()
    limited = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS)
    problem = ""
    for patterns in (linear, limited):
        try:
            return jsonschema_rs.validator_for(
                dict(schema), retriever=refuse, pattern_options=patterns
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            problem = str(error).partition("\n")[0][:MAX_PROBLEM_CHARS]
    if addresses:
        problem = f"it refers to {addresses[0]:.80}; only references inside of it are followed"
    raise ToolError(f"its schema cannot be used: {for_terminal(problem)}")


def _problems(validator: Any, arguments: dict[str, Any]) -> list[str]:
    problems: list[str] = []
    try:
        for error in validator.iter_errors(arguments):
            path = ".".join(map(str, error.instance_path))
            text = " ".join(str(error.message).split())[:MAX_PROBLEM_CHARS]
            problems.append(f"{path}: {text}" if path else text)
            if len(problems) >= MAX_PROBLEMS:
                break
    except ValueError as error:  # an expression that reached its limit
        problems.append(f"cannot be checked: {error!s:.200}")
    return problems
