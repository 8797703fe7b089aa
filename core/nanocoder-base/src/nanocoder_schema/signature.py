"""Parameters defined by a function's signature or by an attrs class, inspected at first use."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from nanocoder_schema.errors import BadArguments

T = TypeVar("T")
Problems = Callable[[Any], Iterable[str]]


class Signature:
    """The parameters of one tool: their JSON Schema, and the validation of arguments."""

    def __init__(self, make_class: Callable[[], type]) -> None:
        self._make_class = make_class

    @classmethod
    def of_function(cls, function: Callable[..., Any]) -> "Signature":
        """Use the parameters of *function*, except for `ctx`, which no model sends."""

        def make() -> type:
            from nanocoder_schema.annotations import parameters_of

            return parameters_of(function)

        return cls(make)

    @classmethod
    def of_class(cls, attrs_class: type) -> "Signature":
        """Use the fields of an attrs class as parameters."""
        return cls(lambda: attrs_class)

    @cached_property
    def parameters(self) -> type:
        """The attrs class that holds the arguments."""
        return self._make_class()

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """The closed object schema of the arguments; treat it as read-only."""
        # attrs and inspect are slow to import, and a start with a cached manifest needs no schema.
        from nanocoder_schema.json_schema import describe

        return describe(self.parameters).schema

    def check(self, arguments: Any) -> dict[str, Any]:
        """Return the keyword arguments for the handler, defaults filled in.

        Raises: BadArguments with every problem at once, each naming its parameter.
        """
        values: Any = structure(self.parameters, arguments)
        return {alias: getattr(values, name) for name, alias in self._aliases.items()}

    @cached_property
    def _aliases(self) -> dict[str, str]:
        from attrs import fields  # it imports inspect, which a start can do without

        return {field.name: field.alias for field in fields(self.parameters) if field.init}


class SchemaSignature(Signature):
    """Parameters defined by an external JSON Schema; the handler gets one value, `arguments`.

    *problems* returns a line for each problem of an object.
    """

    def __init__(self, schema: Mapping[str, Any], problems: Problems = lambda _: ()) -> None:
        super().__init__(lambda: object)
        self.json_schema, self._problems = dict(schema), problems

    def check(self, arguments: Any) -> dict[str, Any]:
        """Return the arguments as one value; raises BadArguments."""
        checked: dict[str, Any] = structure(dict, arguments)
        if problems := list(self._problems(checked)):
            raise BadArguments(problems)
        return {"arguments": checked}


def structure(cls: type[T], data: Any, *, where: str = "") -> T:
    """Return a *cls*, an attrs class, built from JSON, validated like arguments.

    Raises: BadArguments with every problem at once; *where* is the prefix of each name.
    """
    # Importing cattrs takes 40 ms; the first request to a model does not need it.
    from nanocoder_schema.check import structured

    return structured(cls, data, where)
