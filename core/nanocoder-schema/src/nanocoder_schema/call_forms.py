"""The forms in which models send calls, brought into one."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from nanocoder_schema.errors import BadArguments, brief
from nanocoder_schema.json_text import parse_json

MAX_PARAMETERS = 1_000
WRAPPERS = ("params", "arguments")


def normalise(
    call: Any, parameters_of: Callable[[str], Collection[str]] | None = None
) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of a call, in whichever form a model sent it.

    The forms are `{"name": n, "params": {…}}`, the same with "arguments", and direct:
    `{"name": n, "path": …}`; each as a mapping or as JSON text, and the arguments as JSON text,
    too. *parameters_of* returns a tool's parameter names (none for an unknown tool): with it a tool
    that has a parameter called "params" still gets it, and arguments that are wrapped twice are
    unwrapped.

    Raises: BadArguments when there is no name, the text is not JSON, or there are more than 1,000
    parameters.
    """
    call = parse_json(call) if isinstance(call, str) else call
    if not isinstance(call, Mapping):
        expected = 'expected a call like {"name": …, "params": {…}}'
        raise BadArguments([f"{expected}, got {brief(call)}"])
    name = call.get("name")
    if not isinstance(name, str) or not name:
        raise BadArguments(["name: expected the name of a tool"])
    names = frozenset(parameters_of(name)) if parameters_of else frozenset()
    arguments = _without_wrapper({key: call[key] for key in call if key != "name"}, names)
    if names:
        arguments = _without_wrapper(arguments, names)
    if len(arguments) > MAX_PARAMETERS:
        raise BadArguments([f"{len(arguments):,} parameters; a call may have {MAX_PARAMETERS:,}"])
    return name, arguments


def _without_wrapper(arguments: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Take arguments out of a wrapper, which is no parameter of the tool itself."""
    if len(arguments) != 1 or next(iter(arguments)) not in WRAPPERS:
        return arguments
    ((wrapper, inside),) = arguments.items()
    if wrapper in names:
        is_wrapped_twice = isinstance(inside, Mapping) and inside and names.issuperset(inside)
        return dict(inside) if is_wrapped_twice else arguments
    inside = parse_json(inside) if isinstance(inside, str) else inside
    if inside is not None and not isinstance(inside, Mapping):
        raise BadArguments([f"{wrapper}: expected an object of arguments, got {brief(inside)}"])
    return dict(inside or {})
