"""Declarations of commands and their arguments, for the command line, help and completion."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from attrs import field
from nanocoder_schema import value

if TYPE_CHECKING:
    from argparse import Namespace

HostT = TypeVar("HostT")


def _texts(values: str | Iterable[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


@value
class Argument:
    """One argument of a command.

    *names* are the spellings of an option ("-c", "--continue"), or the one name of a positional
    argument. A "switch" also has a `--no-` form. *constant* is the value of an option that takes
    none, *target* the attribute for the value if it has another name. Arguments with the same
    *rival_group* exclude each other. *completes* selects the names that a shell completes:
    "sessions", "models", "plugins" or "tools".
    """

    names: tuple[str, ...] = field(converter=_texts)
    help: str = ""
    kind: Literal["text", "integer", "number", "flag", "switch"] = "text"
    count: Literal["", "?", "*", "+", "..."] = ""
    default: str | None = None
    metavar: str = ""
    choices: tuple[str, ...] = field(default=(), converter=_texts)
    constant: str = ""
    target: str = ""
    rival_group: str = ""
    completes: str = ""


@value
class Command(Generic[HostT]):
    """A command of the command line: `nanocoder NAME …`.

    A name of two words is an action of a group: "plugins new". *run* gets the values of
    *arguments*, and the host, which opens sessions; it returns the exit code. A command named like
    a group, without *run*, has the group's help. `nanocoder` alone starts the command "chat".
    *outside_calls* refuses the command in processes that a tool starts: a session must not loosen
    its own rules.
    """

    name: str
    help: str
    run: "Callable[[Namespace, HostT], int] | None" = None
    arguments: tuple[Argument, ...] = ()
    outside_calls: bool = False
