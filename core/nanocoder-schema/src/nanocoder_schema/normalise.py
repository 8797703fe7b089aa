"""The forms in which models send calls, brought into one."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from nanocoder_schema.errors import BadArguments
from nanocoder_schema.json_text import parse_json
from nanocoder_schema.misfit import shown

MAX_PARAMETERS = 1_000
WRAPPERS = ("params", "arguments")


def normalise(
    call: Any, parameters_of: Callable[[str], Collection[str]] | None = None
) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of a call, in whichever form a model sent it.

    The forms are `{"name": n, "params": {…}}`, the same with "arguments", and direct:
    `{"name": n, "path": …}`; each as a mapping or as JSON text, and the arguments as JSON text,
    too. *parameters_of* tells a tool's parameter names (none for an unknown tool): with it a tool
    whose own parameter is called "params" is told from a wrapper, and arguments that arrive
    wrapped once more are unwrapped.

    Raises: BadArguments when there is no name, the text is not JSON, or there are more than 1,000
    parameters.
    """
    call = parse_json(call) if isinstance(call, str) else call
    if not isinstance(call, Mapping):
        raise BadArguments(
            [f'expected a call like {{"name": …, "params": {{…}}}}, got {shown(call)}']
        )
    name = call.get("name")
    if not isinstance(name, str) or not name:
        raise BadArguments(["name: expected the name of a tool"])
    known = frozenset(parameters_of(name)) if parameters_of else frozenset()
    arguments = _opened({key: value for key, value in call.items() if key != "name"}, known)
    if known:
        arguments = _opened(arguments, known)
    if len(arguments) > MAX_PARAMETERS:
        raise BadArguments([f"{len(arguments):,} parameters; a call may have {MAX_PARAMETERS:,}"])
    return name, arguments


def _opened(arguments: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Take the arguments out of their wrapper, if that is what they are in."""
    if len(arguments) != 1 or next(iter(arguments)) not in WRAPPERS:
        return arguments
    ((wrapper, inside),) = arguments.items()
    if wrapper not in known:
        return _arguments(wrapper, inside)
    looks_wrapped = isinstance(inside, Mapping) and inside and known.issuperset(inside)
    return dict(inside) if looks_wrapped else arguments


def _arguments(wrapper: str, inside: Any) -> dict[str, Any]:
    inside = parse_json(inside) if isinstance(inside, str) else inside
    if inside is None:
        return {}
    if isinstance(inside, Mapping):
        return dict(inside)
    raise BadArguments([f"{wrapper}: expected an object of arguments, got {shown(inside)}"])
