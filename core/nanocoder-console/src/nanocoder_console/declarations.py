"""Commands and their arguments, as declared: a command line, a help, a completion use them."""

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

    *names* are the spellings of an option ("-c", "--continue"), or the one name of an argument
    that is found by its place. A "switch" also has a `--no-` form. *constant* is what an option
    without a value stands for, *target* the attribute that holds the value if another name is
    wanted. At most one of the arguments with the same *rival_group* may be given. *completes* says
    which names a shell offers: "sessions", "models", "plugins" or "tools".
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
    *arguments*, and the host, through which it opens sessions; it returns the exit code. A command
    named like a group, without *run*, gives the group its help. The command named "chat" is what
    `nanocoder` alone starts. *outside_calls* refuses the command in processes that a tool starts: a
    session must not loosen its own rules.
    """

    name: str
    help: str
    run: "Callable[[Namespace, HostT], int] | None" = None
    arguments: tuple[Argument, ...] = ()
    outside_calls: bool = False
