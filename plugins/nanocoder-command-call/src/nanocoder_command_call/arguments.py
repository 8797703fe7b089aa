"""The arguments of a call, as a person writes them."""

from typing import Any, Final

from nanocoder import BadArguments, UsageError, parse_json

AN_OBJECT: Final = """a JSON object, as in '{"path": "a.py"}'"""


def arguments_of(text: str) -> dict[str, Any]:
    """Read the JSON object of arguments; raises UsageError."""
    try:
        values = parse_json(text) if text.strip() else {}
    except BadArguments as error:
        problem = str(error).removeprefix("invalid JSON: ")
        raise UsageError(f"the arguments are not JSON: {problem}; write {AN_OBJECT}") from error
    if not isinstance(values, dict):
        raise UsageError(f"the arguments must be {AN_OBJECT}, not {text!r:.80}")
    return values
