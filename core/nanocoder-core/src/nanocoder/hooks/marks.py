"""Decorators that mark hook specifications and implementations, and the style of each hook."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeVar, overload

import pluggy

F = TypeVar("F", bound=Callable[..., Any])

PROJECT: Final = "nanocoder"
RANK: Final = 50  # of an implementation that states none


@overload
def hookimpl(function: F, /) -> F: ...


@overload
def hookimpl(*, rank: int = ..., events: Iterable[str] = ..., **more: Any) -> Callable[[F], F]: ...


def hookimpl(
    function: Any = None, /, *, rank: int = RANK, events: Iterable[str] = (), **options: Any
) -> Any:
    """Mark a function as a hook's implementation.

    *rank* orders the implementations of a hook whose first answer wins, the lowest first; the
    default is 50. *events* names the kinds of events that `nanocoder_event` is called for; the
    default is all. `call.returned:execute` selects calls whose tool has the effect "execute"; this
    works for each effect, and for each event of a call from `call.started` on.
    *specname* names the hook if the function has another name.
    """
    if function is None:
        return partial(hookimpl, rank=rank, events=frozenset(events), **options)
    marked = pluggy.HookimplMarker(PROJECT)(**options)(function)
    getattr(marked, f"{PROJECT}_impl").update(rank=rank, events=events)
    return marked


STYLES: Final[dict[str, str]] = {}  # of each hook, in firing order


def style(name: str) -> Callable[[F], F]:
    """Return a decorator that marks a hook specification and records its style *name*."""

    def mark(specification: F) -> F:
        STYLES[specification.__name__] = name
        return pluggy.HookspecMarker(PROJECT)(specification)

    return mark
